import { z } from 'zod'
import { normalizeGroup } from '../advantages.js'
import { objective } from '../objective.js'

/** One rollout that was summarized on its way: its reward and the lengths of what it trains on. */
export interface SummarizedRollout {
  reward: number
  /** Training sequences: one more than summaries. */
  segments: number
  /** It ended without an answer, at the limit of steps or summaries. */
  overlong: boolean
}

/**
 * SUPO: an advantage for each rollout, (R - mean) / (std + epsilon) over rollouts (not over their segments, which would let
 * long ones weigh more), the same for all its segments; 0 for overlong rollouts, which count in mean and deviation.
 *
 * @returns [rollouts][segments]
 * @example supoAdvantages([{ reward: 1, segments: 2, overlong: false }, { reward: 0, segments: 1, overlong: true }])
 * // [[0.71, 0.71], [0]]
 */
export function supoAdvantages(rollouts: readonly SummarizedRollout[], epsilon = 1e-6): number[][] {
  const advantages = normalizeGroup(
    rollouts.map(({ reward }) => reward),
    { normalization: 'mean-std', epsilon },
  )
  return rollouts.map(({ segments, overlong }, i) => Array<number>(segments).fill(overlong ? 0 : advantages[i]))
}

export const supo = objective({
  kind: 'function',
  name: 'supo-advantages',
  family: 'credit',
  summary: 'Rollouts cut by their own summaries: one advantage a rollout, shared by all its segments (SUPO).',
  formula: 'A_is = (R_i - mean_G) / (std_G + eps) for every segment s; 0 if overlong',
  reference: 'SUPO, arXiv 2510.06727, from two ports of it',
  standing: 'second-hand',
  use: 'Long tool use with summaries in place of history. The loop has no summaries yet.',
  rows: ['B193'],
  options: z.strictObject({ epsilon: z.number().positive().default(1e-6) }),
  make:
    ({ epsilon }) =>
    (rollouts: readonly SummarizedRollout[]) =>
      supoAdvantages(rollouts, epsilon),
})
