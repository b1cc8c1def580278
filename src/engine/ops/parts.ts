/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** An axis in a given number of nearly equal parts, whatever its length turns out to be. */
import { sameShape } from '../dimensions.js'
import { describe, operation, shapeError } from '../operation.js'
import type { Dimension, Tensor } from '../types.js'
import { zeros } from './constants.js'
import { replaceAxis } from './shape.js'

/** Part i of n begins at floor(n i / count). */
function partOf(length: Dimension, index: number, count: number): Dimension {
  const start = (i: number): number => Math.floor(((length as number) * i) / count)
  if (typeof length === 'number') return start(index + 1) - start(index)
  const words = length.replaceAll('*', '_by_').replaceAll('+', '_plus_').replaceAll('-', '_minus_')
  return `part_${index}_of_${count}_of_${words}`
}

export const partOperation = operation<{ index: number; count: number }>({
  name: 'part',
  infer: ([x], { index, count }) => {
    if (!(Number.isInteger(count) && index >= 0 && index < count) || x.shape.length === 0) {
      throw shapeError('part', `part ${index} of ${count}: ${describe('x', x)}`)
    }
    return [{ shape: replaceAxis(x.shape, 0, partOf(x.shape[0], index, count)), dtype: x.dtype }]
  },
  lower: (context, { names: [x], attributes: { index, count } }) => {
    const [length] = context.emit('Shape', [x], { start: { int: 0 }, end: { int: 1 } })
    const bound = (i: number): string => {
      const [scaled] = context.emit('Mul', [length, context.integers([i])])
      return context.emit('Div', [scaled, context.integers([count])])[0]
    }
    return context.emit('Slice', [x, bound(index), bound(index + 1), context.integers([0])])
  },
  gradient: ({ inputs: [x], attributes: { index, count }, cotangent }) => {
    const nothing = zeros(x.graph, x.shape)
    const parts = Array.from({ length: count }, (_, i) => (i === index ? cotangent : part(nothing, i, count)))
    return [joinParts(parts, x)]
  },
})

/** Part `index` of `count` of the first axis; parts differ by at most one in length, and some are empty where it is short. */
export function part(x: Tensor, index: number, count: number): Tensor {
  return count === 1 ? x : x.graph.apply(partOperation, [x], { index, count })[0]
}

export const joinPartsOperation = operation<{ length: Dimension }>({
  name: 'joinParts',
  infer: (inputs, { length }) => {
    const [first] = inputs
    const count = inputs.length
    inputs.forEach((input, index) => {
      if (!sameShape(input.shape, replaceAxis(first.shape, 0, partOf(length, index, count)))) {
        throw shapeError('joinParts', `${describe(`tensor ${index}`, input)} is not part ${index} of ${count}`)
      }
    })
    return [{ shape: replaceAxis(first.shape, 0, length), dtype: first.dtype }]
  },
  lower: (context, { names }) => context.emit('Concat', names, { axis: { int: 0 } }),
  gradient: ({ inputs, cotangent }) => inputs.map((_, index) => part(cotangent, index, inputs.length)),
})

/** The opposite of `part`: all parts, in order, of an axis as long as the first of `like`. */
export function joinParts(parts: readonly Tensor[], like: Tensor): Tensor {
  return parts.length === 1
    ? parts[0]
    : parts[0].graph.apply(joinPartsOperation, [...parts], { length: like.shape[0] })[0]
}
