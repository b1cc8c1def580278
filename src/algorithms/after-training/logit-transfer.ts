import { z } from 'zod'
import { objective } from '../objective.js'

/**
 * Logits of a large model moved by what training changed in a small one: z = z_large + alpha (z_tuned - z_base), that is
 * p ~ p_large (p_tuned / p_base)^alpha. Temperature and filters come after it. Rows of different lengths (padded
 * vocabularies) are cut to the shortest.
 *
 * Sources: proxy tuning, arXiv 2401.08565; RAST, arXiv 2506.15710, with a small model tuned by RL.
 *
 * @param large,tuned,base one row each at the same place of the same text: [vocabulary]
 * @example transferLogits([0, 1], [2, 0], [1, 0], 1) // [1, 1]
 */
export function transferLogits(
  large: ArrayLike<number>,
  tuned: ArrayLike<number>,
  base: ArrayLike<number>,
  alpha = 1,
): Float32Array {
  return Float32Array.from(
    { length: Math.min(large.length, tuned.length, base.length) },
    // A token the large model excludes stays excluded, and what neither small model allows is no change.
    (_, v) => large[v] + (tuned[v] === base[v] || alpha === 0 ? 0 : alpha * (tuned[v] - base[v])),
  )
}

export const logitTransfer = objective({
  kind: 'function',
  name: 'logit-transfer',
  family: 'after-training',
  summary: 'A large model speaks as if it had been trained like a small one: the change of logits is lent to it.',
  formula: 'z = z_L + alpha (z_S_tuned - z_S_base)',
  reference: 'Proxy tuning, arXiv 2401.08565; RAST, arXiv 2506.15710',
  standing: 'source',
  use: 'A large model that cannot be trained here. Three models read the same text; one tokenizer and prompt format.',
  rows: ['B128'],
  options: z.strictObject({
    /** 0.3 to 1. */
    alpha: z.number().default(1),
  }),
  make:
    ({ alpha }) =>
    (large: ArrayLike<number>, tuned: ArrayLike<number>, base: ArrayLike<number>): Float32Array =>
      transferLogits(large, tuned, base, alpha),
})
