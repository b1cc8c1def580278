/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Reductions, running sums and the largest elements. */
import { multiplyDimensions } from '../dimensions.js'
import { describe, operation, requireType, resolveAxis, shapeError, type Operation } from '../operation.js'
import type { Shape, Tensor } from '../types.js'
import { div, mul, sub } from './arithmetic.js'
import { length, zeros } from './constants.js'
import { scatterAdd } from './indexing.js'
import { equal, where } from './logic.js'
import { expand, reshape } from './shape.js'
import { exp } from './unary.js'

export interface ReduceOptions {
  /** The axes to reduce, negative from the end; all unless given. */
  axes?: readonly number[]
  /** Whether reduced axes stay, with length 1; false unless given. */
  keepDims?: boolean
}

type ReduceAttributes = { axes: readonly number[]; keepDims: boolean }

function keptShape(shape: Shape, axes: readonly number[]): Shape {
  return shape.map((dimension, axis) => (axes.includes(axis) ? 1 : dimension))
}

type ReduceGradient = (x: Tensor, y: Tensor, g: Tensor, axes: readonly number[]) => Tensor

/** In `gradient`, y and g keep the reduced axes with length 1. */
function reduction(name: string, onnx: string, gradient: ReduceGradient): Operation<ReduceAttributes> {
  return operation<ReduceAttributes>({
    name,
    infer: ([x], { axes, keepDims }) => {
      requireType(name, 'x', x, 'float32')
      const shape = keepDims ? keptShape(x.shape, axes) : x.shape.filter((_, axis) => !axes.includes(axis))
      return [{ shape, dtype: x.dtype }]
    },
    lower: (context, { names: [x], attributes: { axes, keepDims } }) =>
      context.emit(onnx, [x, context.integers(axes)], { keepdims: { int: keepDims ? 1 : 0 } }),
    gradient: ({ inputs: [x], outputs: [y], attributes: { axes }, cotangent }) => {
      const kept = keptShape(x.shape, axes)
      return [gradient(x, reshape(y, kept), reshape(cotangent, kept), axes)]
    },
  })
}

export const sumOperation = reduction('sum', 'ReduceSum', (x, _, g) => expand(g, x.shape))
export const meanOperation = reduction('mean', 'ReduceMean', (x, _, g, axes) => {
  const count = multiplyDimensions(...axes.map((axis) => x.shape[axis]))
  return expand(typeof count === 'number' ? mul(g, 1 / count) : div(g, length(x.graph, count)), x.shape)
})
const extremeGradient: ReduceGradient = (x, y, g, axes) => {
  const chosen = where(equal(x, y), 1, 0)
  return mul(chosen, div(g, sum(chosen, { axes, keepDims: true })))
}
export const maxOperation = reduction('max', 'ReduceMax', extremeGradient)
export const minOperation = reduction('min', 'ReduceMin', extremeGradient)
export const logSumExpOperation = reduction('logSumExp', 'ReduceLogSumExp', (x, y, g) => mul(g, exp(sub(x, y))))

function reduce(definition: Operation<ReduceAttributes>, x: Tensor, options: ReduceOptions): Tensor {
  const rank = x.shape.length
  const axes = (options.axes ?? x.shape.map((_, axis) => axis)).map((axis) => resolveAxis(definition.name, axis, rank))
  axes.sort((a, b) => a - b)
  if (axes.length === 0) return x
  const keepDims = options.keepDims ?? false
  return x.graph.apply(definition, [x], { axes, keepDims })[0]
}

export function sum(x: Tensor, options: ReduceOptions = {}): Tensor {
  return reduce(sumOperation, x, options)
}
export function mean(x: Tensor, options: ReduceOptions = {}): Tensor {
  return reduce(meanOperation, x, options)
}
/** The largest element; equal ones share the derivative. */
export function max(x: Tensor, options: ReduceOptions = {}): Tensor {
  return reduce(maxOperation, x, options)
}
/** The smallest element; equal ones share the derivative. */
export function min(x: Tensor, options: ReduceOptions = {}): Tensor {
  return reduce(minOperation, x, options)
}
/** log(sum(exp(x))) without overflow. The axis (or axes) go; all unless given. */
export function logSumExp(x: Tensor, options: ReduceOptions & { axis?: number } = {}): Tensor {
  const axes = options.axes ?? (options.axis === undefined ? undefined : [options.axis])
  return reduce(logSumExpOperation, x, { axes, keepDims: options.keepDims })
}

export const argmaxOperation = operation<{ axis: number; keepDims: boolean }>({
  name: 'argmax',
  infer: ([x], { axis, keepDims }) => [
    {
      shape: keepDims ? keptShape(x.shape, [axis]) : x.shape.filter((_, other) => other !== axis),
      dtype: 'int64',
    },
  ],
  lower: (context, { names, attributes: { axis, keepDims } }) =>
    context.emit('ArgMax', names, { axis: { int: axis }, keepdims: { int: keepDims ? 1 : 0 } }),
})

/** The int64 index of the largest element along an axis (the last unless given), the first of equal ones. */
export function argmax(x: Tensor, options: { axis?: number; keepDims?: boolean } = {}): Tensor {
  const axis = resolveAxis('argmax', options.axis ?? -1, x.shape.length)
  return x.graph.apply(argmaxOperation, [x], { axis, keepDims: options.keepDims ?? false })[0]
}

export const cumsumOperation = operation<{ axis: number; exclusive: boolean; reverse: boolean }>({
  name: 'cumsum',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (context, { names: [x], attributes: { axis, exclusive, reverse } }) =>
    context.emit('CumSum', [x, context.constant(BigInt64Array.of(BigInt(axis)), [])], {
      exclusive: { int: exclusive ? 1 : 0 },
      reverse: { int: reverse ? 1 : 0 },
    }),
  gradient: ({ attributes: { axis, exclusive, reverse }, cotangent }) => [
    cumsum(cotangent, { axis, exclusive, reverse: !reverse }),
  ],
})

/** Running sum along an axis: of the elements up to and with (or, exclusive, before) each; `reverse` from the end. */
export function cumsum(x: Tensor, options: { axis?: number; exclusive?: boolean; reverse?: boolean } = {}): Tensor {
  const axis = resolveAxis('cumsum', options.axis ?? -1, x.shape.length)
  const { exclusive = false, reverse = false } = options
  return x.graph.apply(cumsumOperation, [x], { axis, exclusive, reverse })[0]
}

export const topKOperation = operation<{ k: number; axis: number }>({
  name: 'topK',
  infer: ([x], { k, axis }) => {
    const available = x.shape[axis]
    if (!Number.isInteger(k) || k < 1 || (typeof available === 'number' && k > available)) {
      throw shapeError('topK', `k is ${k}, but ${describe('x', x)} with axis ${axis}`)
    }
    const shape = x.shape.map((dimension, other) => (other === axis ? k : dimension))
    return [
      { shape, dtype: x.dtype },
      { shape, dtype: 'int64' },
    ]
  },
  lower: (context, { names: [x], attributes: { k, axis } }) =>
    context.emit('TopK', [x, context.integers([k])], { axis: { int: axis } }, { outputs: 2 }),
  gradient: ({ inputs: [x], outputs: [, indices], attributes: { axis }, cotangents: [g] }) => [
    g && scatterAdd(zeros(x.graph, x.shape), indices, g, { axis }),
  ],
})

/** The k largest along an axis (the last unless given), in descending order, with their int64 indices. */
export function topK(x: Tensor, options: { k: number; axis?: number }): { values: Tensor; indices: Tensor } {
  const axis = resolveAxis('topK', options.axis ?? -1, x.shape.length)
  const [values, indices] = x.graph.apply(topKOperation, [x], { k: options.k, axis })
  return { values, indices }
}
