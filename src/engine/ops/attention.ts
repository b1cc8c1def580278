/** Rotary position embedding and additive attention masks. */
import { sameShape } from '../dimensions.js'
import { describe, operation, requireRank, requireType, shapeError } from '../operation.js'
import type { Graph } from '../graph.js'
import type { Dimension, Tensor } from '../types.js'
import { add, mul, neg, sub, unbroadcast } from './arithmetic.js'
import { range } from './constants.js'
import { equal, lessEqual, logicalAnd, where } from './logic.js'
import { split } from './joining.js'
import { sum } from './reduce.js'
import { reshape } from './shape.js'

export const rotaryOperation = operation<Record<never, never>>({
  name: 'rotary',
  infer: ([x, cosines, sines]) => {
    for (const [argument, tensor] of [
      ['x', x],
      ['cos', cosines],
      ['sin', sines],
    ] as const) {
      requireType('rotary', argument, tensor, 'float32')
    }
    requireRank('rotary', 'x', x, 4)
    requireRank('rotary', 'cos', cosines, 3)
    const [batch, , time, width] = x.shape
    const [tableBatch, tableTime, half] = cosines.shape
    const fits = (tableBatch === 1 || tableBatch === batch) && tableTime === time
    if (!fits || typeof width !== 'number' || half !== width / 2 || !sameShape(cosines.shape, sines.shape)) {
      throw shapeError(
        'rotary',
        `${describe('x', x)}, ${describe('cos', cosines)}, ${describe('sin', sines)}, but must be [batch, heads, time, width] and twice [batch or 1, time, width / 2]`,
      )
    }
    return [{ shape: x.shape, dtype: 'float32' }]
  },
  lower: (context, { names: [x, cosines, sines], inputs: [input, table] }) => {
    const [batch, , time, width] = input.shape
    const spread = (name: string): string =>
      table.shape[0] === batch
        ? name
        : context.emit('Expand', [name, context.shape([batch, time, (width as number) / 2])])[0]
    return context.emit('RotaryEmbedding', [x, spread(cosines), spread(sines)])
  },
  // A rotation is undone by the opposite one. Derivatives at cos and sin are wanted only in theory, but cheap to say.
  gradient: ({ inputs: [x, cosines, sines], cotangent: g }) => {
    const half = cosines.shape[2]
    const [x1, x2] = split(x, { axis: 3, sizes: [half, half] })
    const [g1, g2] = split(g, { axis: 3, sizes: [half, half] })
    return [
      rotary(g, cosines, neg(sines)),
      sumHeads(add(mul(g1, x1), mul(g2, x2)), cosines),
      sumHeads(sub(mul(g2, x1), mul(g1, x2)), sines),
    ]
  },
})

function sumHeads(product: Tensor, table: Tensor): Tensor {
  return unbroadcast(sum(product, { axes: [1] }), table)
}

/**
 * Rotates pairs (i, i + width / 2) of each head by the angle of its position (https://arxiv.org/abs/2104.09864, in the
 * half-split form of Llama): x [batch, heads, time, width], cos and sin [batch or 1, time, width / 2].
 */
export function rotary(x: Tensor, cosines: Tensor, sines: Tensor): Tensor {
  return x.graph.apply(rotaryOperation, [x, cosines, sines], {})[0]
}

/** What is added to a forbidden score: finite, so that a row with nothing allowed stays a number. */
const forbidden = -1e9

/** 0 where allowed, -1e9 elsewhere: added to attention scores. */
export function additiveMask(allowed: Tensor): Tensor {
  return where(allowed, 0, forbidden)
}

/** [time, time]: position i sees positions up to i. */
export function causalMask(graph: Graph, time: Dimension): Tensor {
  const positions = range(graph, time)
  return additiveMask(lessEqual(reshape(positions, [1, time]), reshape(positions, [time, 1])))
}

/** valid bool [batch, time] gives [batch, 1, 1, time]: every position sees the valid ones. */
export function paddingMask(valid: Tensor): Tensor {
  requireType('paddingMask', 'valid', valid, 'bool')
  requireRank('paddingMask', 'valid', valid, 2)
  const [batch, time] = valid.shape
  return additiveMask(reshape(valid, [batch, 1, 1, time]))
}

/**
 * segments int64 [batch, time] gives [batch, 1, time, time]: position i sees j of the same segment and, when causal
 * (true unless given), j ≤ i. Several sequences packed into a row do not see each other.
 */
export function segmentMask(segments: Tensor, options: { causal?: boolean } = {}): Tensor {
  requireType('segmentMask', 'segments', segments, 'int64', 'int32')
  requireRank('segmentMask', 'segments', segments, 2)
  const [batch, time] = segments.shape
  const same = equal(reshape(segments, [batch, 1, 1, time]), reshape(segments, [batch, 1, time, 1]))
  if (options.causal === false) return additiveMask(same)
  const positions = range(segments.graph, time)
  const before = lessEqual(reshape(positions, [1, time]), reshape(positions, [time, 1]))
  return additiveMask(logicalAnd(same, before))
}
