/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Operations that move elements and change none. */
import { broadcastShapes, canonical, describeShape, divideDimension, productOf, sameShape } from '../dimensions.js'
import { describe, operation, resolveAxis, shapeError } from '../operation.js'
import type { Dimension, Shape, Tensor } from '../types.js'
import { unbroadcast } from './arithmetic.js'

export const reshapeOperation = operation<{ shape: Shape }>({
  name: 'reshape',
  infer: ([x], { shape }) => {
    if (productOf(x.shape) !== productOf(shape)) {
      throw shapeError(
        'reshape',
        `${describe('x', x)} with ${productOf(x.shape)} elements cannot become ${describeShape(shape)} with ${productOf(shape)}`,
      )
    }
    return [{ shape, dtype: x.dtype }]
  },
  lower: (context, { names: [x], inputs: [{ shape: from }], attributes: { shape } }) => {
    // 0 copies the length at the same place and one -1 is inferred; only what is left needs arithmetic at run time.
    const target = shape.map((dimension, axis) =>
      typeof dimension === 'number' ? dimension : dimension === from[axis] ? 0 : undefined,
    )
    const open = target.filter((length) => length === undefined).length
    if (open <= 1) return context.emit('Reshape', [x, context.integers(target.map((length) => length ?? -1))])
    return context.emit('Reshape', [x, context.shape(shape)])
  },
  gradient: ({ inputs: [x], cotangent }) => [reshape(cotangent, x.shape)],
})

/**
 * The same elements in another shape. One entry may be -1: it is worked out, symbolically if need be.
 *
 * @example reshape(x, [-1, 64]) // x [batch, time, 64] becomes [batch*time, 64]
 */
export function reshape(x: Tensor, shape: Shape): Tensor {
  const open = shape.indexOf(-1)
  let target = shape.map(canonical)
  if (open >= 0) {
    const rest = productOf(shape.filter((_, axis) => axis !== open))
    const inferred = divideDimension(productOf(x.shape), rest)
    if (inferred === undefined) {
      throw shapeError(
        'reshape',
        `${describe('x', x)} cannot become ${describeShape(shape)}: ${rest} does not divide it`,
      )
    }
    target = target.map((dimension, axis) => (axis === open ? inferred : dimension))
  }
  if (sameShape(x.shape, target)) return x
  if (x.op === 'reshape') return reshape(x.node.inputs[0], target)
  return x.graph.apply(reshapeOperation, [x], { shape: target })[0]
}

/** Removes axes of length 1; all of them unless given. */
export function squeeze(x: Tensor, options: { axes?: readonly number[] } = {}): Tensor {
  const axes =
    options.axes?.map((axis) => resolveAxis('squeeze', axis, x.shape.length)) ??
    x.shape.flatMap((length, axis) => (length === 1 ? [axis] : []))
  for (const axis of axes) {
    if (x.shape[axis] !== 1) throw shapeError('squeeze', `${describe('x', x)}: axis ${axis} has not length 1`)
  }
  return reshape(
    x,
    x.shape.filter((_, axis) => !axes.includes(axis)),
  )
}

/** Inserts axes of length 1; `axes` are places in the result. */
export function unsqueeze(x: Tensor, options: { axes: readonly number[] }): Tensor {
  const rank = x.shape.length + options.axes.length
  const axes = options.axes.map((axis) => resolveAxis('unsqueeze', axis, rank))
  const rest = [...x.shape]
  return reshape(
    x,
    Array.from({ length: rank }, (_, axis) => (axes.includes(axis) ? 1 : rest.shift()!)),
  )
}

export const transposeOperation = operation<{ perm: readonly number[] }>({
  name: 'transpose',
  infer: ([x], { perm }) => {
    if (perm.length !== x.shape.length || !x.shape.every((_, axis) => perm.includes(axis))) {
      throw shapeError(
        'transpose',
        `[${perm.join(', ')}] does not permute the axes of x, which is ${describeShape(x.shape)}`,
      )
    }
    return [{ shape: perm.map((axis) => x.shape[axis]), dtype: x.dtype }]
  },
  lower: (context, { names, attributes: { perm } }) => context.emit('Transpose', names, { perm: { ints: perm } }),
  gradient: ({ attributes: { perm }, cotangent }) => [
    transpose(
      cotangent,
      perm.map((_, axis) => perm.indexOf(axis)),
    ),
  ],
})

/** Axis i of the result is axis perm[i] of x; reversed unless given. */
export function transpose(
  x: Tensor,
  perm: readonly number[] = x.shape.map((_, axis) => x.shape.length - 1 - axis),
): Tensor {
  if (perm.length === x.shape.length && perm.every((axis, index) => axis === index)) return x
  if (x.op === 'transpose') {
    const { perm: inner } = x.node.attributes as { perm: readonly number[] }
    if (perm.length === inner.length) {
      return transpose(
        x.node.inputs[0],
        perm.map((axis) => inner[axis]),
      )
    }
  }
  return x.graph.apply(transposeOperation, [x], { perm: [...perm] })[0]
}

export const expandOperation = operation<{ shape: Shape }>({
  name: 'expand',
  infer: ([x], { shape }) => {
    const result = broadcastShapes(x.shape, shape)
    if (!result || !sameShape(result, shape)) {
      throw shapeError('expand', `${describe('x', x)} does not broadcast to ${describeShape(shape)}`)
    }
    return [{ shape, dtype: x.dtype }]
  },
  lower: (context, { names: [x], attributes: { shape } }) => context.emit('Expand', [x, context.shape(shape)]),
  gradient: ({ inputs: [x], cotangent }) => [unbroadcast(cotangent, x)],
})

/** Repeats along axes of length 1, and in front, to a shape. */
export function expand(x: Tensor, shape: Shape): Tensor {
  const target = shape.map(canonical)
  return sameShape(x.shape, target) ? x : x.graph.apply(expandOperation, [x], { shape: target })[0]
}

/** What an expanded tensor was before; undefined for any other. Element-wise operations broadcast by themselves. */
export function expandSource(x: Tensor): Tensor | undefined {
  return x.op === 'expand' ? x.node.inputs[0] : undefined
}

/** `axis` of the shape replaced. */
export function replaceAxis(shape: Shape, axis: number, dimension: Dimension): Shape {
  return shape.map((length, other) => (other === axis ? dimension : length))
}
