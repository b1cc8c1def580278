/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Element-wise arithmetic with NumPy broadcasting. */
import { broadcastShapes, sameShape } from '../dimensions.js'
import { describe, operation, shapeError, type GradientCall, type Operation } from '../operation.js'
import type { Operand, Tensor } from '../types.js'
import { asTensor, constantValue } from './constants.js'
import { where, equal, greater, less } from './logic.js'
import { sum } from './reduce.js'
import { expandSource, reshape } from './shape.js'

type NoAttributes = Record<never, never>
const none: NoAttributes = {}

/** Sums a cotangent over the axes along which an operand of `shape` was broadcast. */
export function unbroadcast(cotangent: Tensor, like: Tensor): Tensor {
  if (sameShape(cotangent.shape, like.shape)) return cotangent
  const extra = cotangent.shape.length - like.shape.length
  const axes = cotangent.shape.flatMap((length, axis) =>
    axis < extra || (like.shape[axis - extra] === 1 && length !== 1) ? [axis] : [],
  )
  const reduced = axes.length > 0 ? sum(cotangent, { axes }) : cotangent
  return reshape(reduced, like.shape)
}

/** Both operands as tensors of one data type, expands that broadcasting makes needless removed. */
export function operands(op: string, a: Operand, b: Operand): [Tensor, Tensor] {
  const tensor = typeof a === 'number' ? b : a
  if (typeof tensor === 'number') throw shapeError(op, `both operands are numbers; make one a constant of a graph`)
  const x = asTensor(tensor.graph, a, tensor.dtype)
  const y = asTensor(tensor.graph, b, tensor.dtype)
  const shape = broadcastShapes(x.shape, y.shape)
  if (!shape) throw shapeError(op, `${describe('a', x)} and ${describe('b', y)} do not broadcast`)
  if (x.dtype !== y.dtype) throw shapeError(op, `${describe('a', x)}, but ${describe('b', y)}; use cast`)
  const bare = expandSource(x)
  const plain = expandSource(y)
  if (bare && sameShape(broadcastShapes(bare.shape, y.shape) ?? [], shape)) return [bare, y]
  if (plain && sameShape(broadcastShapes(x.shape, plain.shape) ?? [], shape)) return [x, plain]
  return [x, y]
}

type BinaryGradient = (a: Tensor, b: Tensor, y: Tensor, g: Tensor) => [Tensor | undefined, Tensor | undefined]

function binary(name: string, onnx: string, gradient: BinaryGradient): Operation<NoAttributes> {
  return operation<NoAttributes>({
    name,
    infer: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape)!, dtype: a.dtype }],
    lower: (context, { names }) => context.emit(onnx, names),
    gradient: ({ inputs: [a, b], outputs: [y], cotangent }: GradientCall<NoAttributes>) => {
      const [da, db] = gradient(a, b, y, cotangent)
      return [da && unbroadcast(da, a), db && unbroadcast(db, b)]
    },
  })
}

export const addOperation = binary('add', 'Add', (_a, _b, _y, g) => [g, g])
export const subOperation = binary('sub', 'Sub', (_a, _b, _y, g) => [g, neg(g)])
export const mulOperation = binary('mul', 'Mul', (a, b, _y, g) => [mul(g, b), mul(g, a)])
export const divOperation = binary('div', 'Div', (_a, b, y, g) => {
  const da = div(g, b)
  return [da, neg(mul(da, y))]
})
export const powOperation = binary('pow', 'Pow', (a, b, y, g) => [
  mul(g, mul(b, pow(a, sub(b, 1)))),
  constantValue(b) === undefined ? mul(g, mul(y, log(a))) : undefined,
])
export const minimumOperation = binary('minimum', 'Min', (a, b, _y, g) => {
  const tie = mul(g, where(equal(a, b), 0.5, 0))
  return [add(where(less(a, b), g, 0), tie), add(where(less(b, a), g, 0), tie)]
})
export const maximumOperation = binary('maximum', 'Max', (a, b, _y, g) => {
  const tie = mul(g, where(equal(a, b), 0.5, 0))
  return [add(where(greater(a, b), g, 0), tie), add(where(greater(b, a), g, 0), tie)]
})

/** `operand` when the other is the neutral element and does not broadcast it. */
function unchanged(operand: Tensor, other: Tensor, neutral: number): boolean {
  return constantValue(other) === neutral && other.shape.length <= operand.shape.length
}

export function add(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('add', a, b)
  if (unchanged(x, y, 0)) return x
  if (unchanged(y, x, 0)) return y
  if (x.op === 'fill' && x.node.attributes.value === 0 && sameShape(x.shape, y.shape)) return y
  if (y.op === 'fill' && y.node.attributes.value === 0 && sameShape(x.shape, y.shape)) return x
  return x.graph.apply(addOperation, [x, y], none)[0]
}

export function sub(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('sub', a, b)
  return unchanged(x, y, 0) ? x : x.graph.apply(subOperation, [x, y], none)[0]
}

export function mul(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('mul', a, b)
  if (unchanged(x, y, 1)) return x
  if (unchanged(y, x, 1)) return y
  return x.graph.apply(mulOperation, [x, y], none)[0]
}

export function div(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('div', a, b)
  return unchanged(x, y, 1) ? x : x.graph.apply(divOperation, [x, y], none)[0]
}

/** a to the power b; the derivative with respect to b needs a > 0. */
export function pow(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('pow', a, b)
  return unchanged(x, y, 1) ? x : x.graph.apply(powOperation, [x, y], none)[0]
}

/** The smaller of two, element by element; a tie shares the derivative. */
export function minimum(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('minimum', a, b)
  return x.graph.apply(minimumOperation, [x, y], none)[0]
}

/** The larger of two, element by element; a tie shares the derivative. */
export function maximum(a: Operand, b: Operand): Tensor {
  const [x, y] = operands('maximum', a, b)
  return x.graph.apply(maximumOperation, [x, y], none)[0]
}

export const negOperation = operation<NoAttributes>({
  name: 'neg',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (context, { names }) => context.emit('Neg', names),
  gradient: ({ cotangent }) => [neg(cotangent)],
})

export function neg(x: Tensor): Tensor {
  return x.graph.apply(negOperation, [x], none)[0]
}

export const logOperation = operation<NoAttributes>({
  name: 'log',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (context, { names }) => context.emit('Log', names),
  gradient: ({ inputs: [x], cotangent }) => [div(cotangent, x)],
})

/** Natural logarithm. */
export function log(x: Tensor): Tensor {
  return x.graph.apply(logOperation, [x], none)[0]
}
