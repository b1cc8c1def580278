/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Reading and adding at indices. Indices are int64 and must lie inside; negative ones count from the end. */
import { describeShape, sameShape } from '../dimensions.js'
import { describe, operation, requireType, resolveAxis, shapeError } from '../operation.js'
import type { Tensor } from '../types.js'
import { zeros } from './constants.js'
import { replaceAxis, transpose } from './shape.js'

export const gatherOperation = operation<{ axis: number }>({
  name: 'gather',
  infer: ([x, indices], { axis }) => {
    requireType('gather', 'indices', indices, 'int64', 'int32')
    return [{ shape: [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)], dtype: x.dtype }]
  },
  lower: (context, { names, attributes: { axis } }) => context.emit('Gather', names, { axis: { int: axis } }),
  gradient: ({ inputs: [x, indices], attributes: { axis }, cotangent }) => [scatterAlong(x, indices, cotangent, axis)],
})

/** Whole slices of an axis (0 unless given) at the indices: x [a, n, b], indices [i, j], axis 1 give [a, i, j, b]. */
export function gather(x: Tensor, indices: Tensor, options: { axis?: number } = {}): Tensor {
  const axis = resolveAxis('gather', options.axis ?? 0, x.shape.length)
  return x.graph.apply(gatherOperation, [x, indices], { axis })[0]
}

/**
 * Rows of a table: table [vocabulary, width], ids [batch, time] give [batch, time, width]. The derivative with respect
 * to the table is a dense array; for a large one ask for the derivative at the result and add it up outside.
 */
export function embedding(table: Tensor, ids: Tensor): Tensor {
  if (table.shape.length !== 2)
    throw shapeError('embedding', `${describe('table', table)}, but must be [vocabulary, width]`)
  requireType('embedding', 'ids', ids, 'int64', 'int32')
  return gather(table, ids, { axis: 0 })
}

export const scatterRowsOperation = operation<Record<never, never>>({
  name: 'scatterRows',
  infer: ([base, indices, updates]) => {
    requireType('scatterRows', 'indices', indices, 'int64', 'int32')
    const expected = [...indices.shape, ...base.shape.slice(1)]
    if (!sameShape(updates.shape, expected)) {
      throw shapeError('scatterRows', `${describe('updates', updates)}, but must be ${describeShape(expected)}`)
    }
    return [{ shape: base.shape, dtype: base.dtype }]
  },
  lower: (context, { names: [base, indices, updates], inputs }) => {
    // ScatterND reads int64 only.
    const wide = inputs[1].dtype === 'int64' ? indices : context.emit('Cast', [indices], { to: { int: 7 } })[0]
    const [column] = context.emit('Unsqueeze', [wide, context.integers([-1])])
    return context.emit('ScatterND', [base, column, updates], { reduction: { text: 'add' } })
  },
  gradient: ({ inputs: [, indices], cotangent }) => [cotangent, undefined, gather(cotangent, indices, { axis: 0 })],
})

/** base [n, ...rest] with updates [...indices, ...rest] added at the rows that indices name. */
export function scatterRows(base: Tensor, indices: Tensor, updates: Tensor): Tensor {
  return base.graph.apply(scatterRowsOperation, [base, indices, updates], {})[0]
}

/** The derivative of gather: zeros like x with updates added at the indices of an axis. */
export function scatterAlong(like: Tensor, indices: Tensor, updates: Tensor, axis: number): Tensor {
  const inner = indices.shape.length
  const axes = like.shape.map((_, other) => other)
  const first = [axis, ...axes.filter((other) => other !== axis)]
  const updateAxes = updates.shape.map((_, other) => other)
  const indexed = updateAxes.slice(axis, axis + inner)
  const base = zeros(
    like.graph,
    first.map((other) => like.shape[other]),
  )
  const moved = transpose(updates, [...indexed, ...updateAxes.filter((other) => !indexed.includes(other))])
  return transpose(
    scatterRows(base, indices, moved),
    axes.map((other) => first.indexOf(other)),
  )
}

export const gatherElementsOperation = operation<{ axis: number }>({
  name: 'gatherElements',
  infer: ([x, indices], { axis }) => {
    requireType('gatherElements', 'indices', indices, 'int64', 'int32')
    const fits = indices.shape.length === x.shape.length
    if (!fits || !sameShape(replaceAxis(indices.shape, axis, 1), replaceAxis(x.shape, axis, 1))) {
      throw shapeError(
        'gatherElements',
        `${describe('indices', indices)} and ${describe('x', x)} differ outside of axis ${axis}`,
      )
    }
    return [{ shape: indices.shape, dtype: x.dtype }]
  },
  lower: (context, { names, attributes: { axis } }) => context.emit('GatherElements', names, { axis: { int: axis } }),
  gradient: ({ inputs: [x, indices], attributes: { axis }, cotangent }) => [
    scatterAdd(zeros(x.graph, x.shape), indices, cotangent, { axis }),
  ],
})

/** One element per index along an axis (the last unless given): x [n, v], indices [n, k] give [n, k]. */
export function gatherElements(x: Tensor, indices: Tensor, options: { axis?: number } = {}): Tensor {
  const axis = resolveAxis('gatherElements', options.axis ?? -1, x.shape.length)
  return x.graph.apply(gatherElementsOperation, [x, indices], { axis })[0]
}

/** NumPy's name for gatherElements. */
export const takeAlongAxis = gatherElements

export const scatterAddOperation = operation<{ axis: number }>({
  name: 'scatterAdd',
  infer: ([base, indices, updates], { axis }) => {
    requireType('scatterAdd', 'indices', indices, 'int64', 'int32')
    const listed = `${describe('base', base)}, ${describe('indices', indices)}, ${describe('updates', updates)}`
    if (!sameShape(indices.shape, updates.shape))
      throw shapeError('scatterAdd', `${listed}: indices and updates differ`)
    const fits = indices.shape.length === base.shape.length
    if (!fits || !sameShape(replaceAxis(indices.shape, axis, 1), replaceAxis(base.shape, axis, 1))) {
      throw shapeError('scatterAdd', `${listed}: base differs outside of axis ${axis}`)
    }
    return [{ shape: base.shape, dtype: base.dtype }]
  },
  lower: (context, { names, attributes: { axis } }) =>
    context.emit('ScatterElements', names, { axis: { int: axis }, reduction: { text: 'add' } }),
  gradient: ({ inputs: [, indices], attributes: { axis }, cotangent }) => [
    cotangent,
    undefined,
    gatherElements(cotangent, indices, { axis }),
  ],
})

/** base with updates added, one element per index along an axis (the last unless given): the opposite of gatherElements. */
export function scatterAdd(base: Tensor, indices: Tensor, updates: Tensor, options: { axis?: number } = {}): Tensor {
  const axis = resolveAxis('scatterAdd', options.axis ?? -1, base.shape.length)
  return base.graph.apply(scatterAddOperation, [base, indices, updates], { axis })[0]
}
