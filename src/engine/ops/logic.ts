/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Comparisons, logic and selection. */
import { broadcastShapes } from '../dimensions.js'
import { describe, operation, requireType, shapeError, type Operation } from '../operation.js'
import type { Operand, Tensor } from '../types.js'
import { operands, unbroadcast } from './arithmetic.js'
import { asTensor } from './constants.js'

type NoAttributes = Record<never, never>
const none: NoAttributes = {}

function comparison(name: string, onnx: string): Operation<NoAttributes> {
  return operation<NoAttributes>({
    name,
    infer: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape)!, dtype: 'bool' }],
    lower: (context, { names }) => context.emit(onnx, names),
  })
}

export const equalOperation = comparison('equal', 'Equal')
export const lessOperation = comparison('less', 'Less')
export const lessEqualOperation = comparison('lessEqual', 'LessOrEqual')
export const greaterOperation = comparison('greater', 'Greater')
export const greaterEqualOperation = comparison('greaterEqual', 'GreaterOrEqual')
export const logicalAndOperation = comparison('logicalAnd', 'And')
export const logicalOrOperation = comparison('logicalOr', 'Or')
export const logicalNotOperation = operation<NoAttributes>({
  name: 'logicalNot',
  infer: ([x]) => {
    requireType('logicalNot', 'x', x, 'bool')
    return [{ shape: x.shape, dtype: 'bool' }]
  },
  lower: (context, { names }) => context.emit('Not', names),
})

function compare(definition: Operation<NoAttributes>, a: Operand, b: Operand): Tensor {
  const [x, y] = operands(definition.name, a, b)
  return x.graph.apply(definition, [x, y], none)[0]
}

/** a = b, element by element. */
export function equal(a: Operand, b: Operand): Tensor {
  return compare(equalOperation, a, b)
}
/** a < b. */
export function less(a: Operand, b: Operand): Tensor {
  return compare(lessOperation, a, b)
}
/** a ≤ b. */
export function lessEqual(a: Operand, b: Operand): Tensor {
  return compare(lessEqualOperation, a, b)
}
/** a > b. */
export function greater(a: Operand, b: Operand): Tensor {
  return compare(greaterOperation, a, b)
}
/** a ≥ b. */
export function greaterEqual(a: Operand, b: Operand): Tensor {
  return compare(greaterEqualOperation, a, b)
}
/** Of two bool tensors. */
export function logicalAnd(a: Tensor, b: Tensor): Tensor {
  requireType('logicalAnd', 'a', a, 'bool')
  return compare(logicalAndOperation, a, b)
}
/** Of two bool tensors. */
export function logicalOr(a: Tensor, b: Tensor): Tensor {
  requireType('logicalOr', 'a', a, 'bool')
  return compare(logicalOrOperation, a, b)
}
export function logicalNot(x: Tensor): Tensor {
  return x.graph.apply(logicalNotOperation, [x], none)[0]
}

export const whereOperation = operation<NoAttributes>({
  name: 'where',
  infer: ([condition, a, b]) => {
    requireType('where', 'condition', condition, 'bool')
    const values = broadcastShapes(a.shape, b.shape)
    const shape = values && broadcastShapes(condition.shape, values)
    const listed = `${describe('condition', condition)}, ${describe('a', a)} and ${describe('b', b)}`
    if (!shape) throw shapeError('where', `${listed} do not broadcast`)
    if (a.dtype !== b.dtype) throw shapeError('where', `${listed}: a and b differ in type; use cast`)
    return [{ shape, dtype: a.dtype }]
  },
  lower: (context, { names }) => context.emit('Where', names),
  gradient: ({ inputs: [condition, a, b], cotangent }) => [
    undefined,
    unbroadcast(where(condition, cotangent, 0), a),
    unbroadcast(where(condition, 0, cotangent), b),
  ],
})

/** a where the bool condition holds, else b. All three broadcast. Numbers take the type of the other, or float32. */
export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  const dtype = typeof a !== 'number' ? a.dtype : typeof b !== 'number' ? b.dtype : 'float32'
  const { graph } = condition
  return graph.apply(whereOperation, [condition, asTensor(graph, a, dtype), asTensor(graph, b, dtype)], none)[0]
}
