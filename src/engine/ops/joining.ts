/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Concatenation and its opposites: split, slice, pad. */
import { addDimensions, canonical, negateDimension, sameShape } from '../dimensions.js'
import { describe, operation, resolveAxis, shapeError } from '../operation.js'
import type { Dimension, Tensor } from '../types.js'
import { constant, zeros } from './constants.js'
import { scatterAlong } from './indexing.js'
import { replaceAxis } from './shape.js'

export const concatOperation = operation<{ axis: number }>({
  name: 'concat',
  infer: (inputs, { axis }) => {
    const [first] = inputs
    inputs.forEach((input, index) => {
      const comparable = input.shape.length === first.shape.length && input.dtype === first.dtype
      if (!comparable || !sameShape(replaceAxis(input.shape, axis, 1), replaceAxis(first.shape, axis, 1))) {
        throw shapeError(
          'concat',
          `${describe(`tensor ${index}`, input)}, but ${describe('tensor 0', first)}; axis ${axis}`,
        )
      }
    })
    const total = addDimensions(...inputs.map((input) => input.shape[axis]))
    return [{ shape: replaceAxis(first.shape, axis, total), dtype: first.dtype }]
  },
  lower: (context, { names, attributes: { axis } }) => context.emit('Concat', names, { axis: { int: axis } }),
  gradient: ({ inputs, attributes: { axis }, cotangent }) =>
    split(cotangent, { axis, sizes: inputs.map((input) => input.shape[axis]) }),
})

/** Tensors one after the other along an axis (the last unless given). */
export function concat(tensors: readonly Tensor[], options: { axis?: number } = {}): Tensor {
  if (tensors.length === 0) throw shapeError('concat', 'the list of tensors is empty')
  if (tensors.length === 1) return tensors[0]
  const axis = resolveAxis('concat', options.axis ?? -1, tensors[0].shape.length)
  return tensors[0].graph.apply(concatOperation, [...tensors], { axis })[0]
}

export const splitOperation = operation<{ axis: number; sizes: readonly Dimension[] }>({
  name: 'split',
  infer: ([x], { axis, sizes }) => {
    if (addDimensions(...sizes) !== x.shape[axis]) {
      throw shapeError('split', `sizes [${sizes.join(', ')}] do not add up to axis ${axis} of x: ${describe('x', x)}`)
    }
    return sizes.map((size) => ({ shape: replaceAxis(x.shape, axis, size), dtype: x.dtype }))
  },
  lower: (context, { names: [x], attributes: { axis, sizes } }) =>
    context.emit('Split', [x, context.shape(sizes)], { axis: { int: axis } }, { outputs: sizes.length }),
  gradient: ({ inputs: [x], outputs, attributes: { axis }, cotangents }) => [
    concat(
      outputs.map((output, index) => cotangents[index] ?? zeros(x.graph, output.shape)),
      { axis },
    ),
  ],
})

/** Consecutive pieces along an axis (the last unless given), of the given sizes. */
export function split(x: Tensor, options: { axis?: number; sizes: readonly Dimension[] }): Tensor[] {
  const axis = resolveAxis('split', options.axis ?? -1, x.shape.length)
  if (options.sizes.length === 1) return [x]
  return [...x.graph.apply(splitOperation, [x], { axis, sizes: options.sizes.map(canonical) })]
}

export const sliceOperation = operation<{ axis: number; start: Dimension; end: Dimension; step: number }>({
  name: 'slice',
  infer: ([x], { axis, start, end, step }) => {
    const span = addDimensions(end, negateDimension(start))
    const available = x.shape[axis]
    const outside =
      (typeof start === 'number' && start < 0) ||
      (typeof span === 'number' && span < 0) ||
      (typeof end === 'number' && typeof available === 'number' && end > available)
    if (outside) throw shapeError('slice', `[${start}, ${end}) is outside of axis ${axis}: ${describe('x', x)}`)
    if (step !== 1 && (typeof span !== 'number' || typeof start !== 'number' || !(step >= 1))) {
      throw shapeError(
        'slice',
        `step ${step} must be positive, and needs a length known at build time: ${describe('x', x)}`,
      )
    }
    const length = step === 1 ? span : Math.ceil((span as number) / step)
    return [{ shape: replaceAxis(x.shape, axis, length), dtype: x.dtype }]
  },
  lower: (context, { names: [x], attributes: { axis, start, end, step } }) =>
    context.emit('Slice', [
      x,
      context.dimension(start),
      context.dimension(end),
      context.integers([axis]),
      context.integers([step]),
    ]),
  gradient: ({ inputs: [x], outputs: [y], attributes: { axis, start, end, step }, cotangent }) => {
    if (step === 1) {
      const after = addDimensions(x.shape[axis], negateDimension(end))
      return [pad(cotangent, { axis, before: start, after })]
    }
    const picked = Array.from({ length: y.shape[axis] as number }, (_, i) => (start as number) + i * step)
    return [scatterAlong(x, constant(x.graph, picked, undefined, 'int64'), cotangent, axis)]
  },
})

export interface SliceOptions {
  axis: number
  /** First index, negative from the end; 0 unless given. */
  start?: Dimension
  /** One past the last index, negative from the end; the length unless given. */
  end?: Dimension
  /** 1 unless given; positive. */
  step?: number
}

/**
 * Part of an axis. Bounds may be dimensions.
 *
 * @example slice(x, { axis: 1, start: 'cache' }) // x [batch, cache+time] becomes [batch, time]
 */
export function slice(x: Tensor, options: SliceOptions): Tensor {
  const axis = resolveAxis('slice', options.axis, x.shape.length)
  const length = x.shape[axis]
  const bound = (value: Dimension): Dimension =>
    typeof value === 'number' && value < 0 ? addDimensions(length, value) : canonical(value)
  const start = bound(options.start ?? 0)
  const end = bound(options.end ?? length)
  const step = options.step ?? 1
  if (start === 0 && end === length && step === 1) return x
  return x.graph.apply(sliceOperation, [x], { axis, start, end, step })[0]
}

export const padOperation = operation<{ axis: number; before: Dimension; after: Dimension; value: number }>({
  name: 'pad',
  infer: ([x], { axis, before, after }) => {
    if ((typeof before === 'number' && before < 0) || (typeof after === 'number' && after < 0)) {
      throw shapeError('pad', `before ${before} and after ${after} must not be negative: ${describe('x', x)}`)
    }
    return [{ shape: replaceAxis(x.shape, axis, addDimensions(x.shape[axis], before, after)), dtype: x.dtype }]
  },
  lower: (context, { names: [x], attributes: { axis, before, after, value } }) =>
    context.emit('Pad', [x, context.shape([before, after]), context.scalar(value), context.integers([axis])]),
  gradient: ({ inputs: [x], attributes: { axis, before }, cotangent }) => [
    slice(cotangent, { axis, start: before, end: addDimensions(before, x.shape[axis]) }),
  ],
})

/** Adds `before` and `after` elements of a value (0 unless given) around an axis. float32. */
export function pad(
  x: Tensor,
  options: { axis: number; before?: Dimension; after?: Dimension; value?: number },
): Tensor {
  const axis = resolveAxis('pad', options.axis, x.shape.length)
  const before = canonical(options.before ?? 0)
  const after = canonical(options.after ?? 0)
  if (before === 0 && after === 0) return x
  return x.graph.apply(padOperation, [x], { axis, before, after, value: options.value ?? 0 })[0]
}
