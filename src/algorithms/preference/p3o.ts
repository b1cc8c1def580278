import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import type { Slope } from './logistic.js'
import type { Completion } from './completions.js'
import { lossAndMethod } from './method.js'
import { pairLoss } from './pair-loss.js'

/** -min(e^x A, clip(e^x, 1 - low, 1 + high) A) of a log-ratio x, clamped to +-20. arXiv 1707.06347. */
export function clippedRatio(x: number, advantage: number, low: number, high: number): Slope {
  const { value: ratio, slope } = clampedExp(x)
  const isClipped = (advantage > 0 && ratio > 1 + high) || (advantage < 0 && ratio < 1 - low)
  const bounded = Math.min(Math.max(ratio, 1 - low), 1 + high)
  return { value: -Math.min(ratio * advantage, bounded * advantage), slope: isClipped ? 0 : -slope * advantage }
}

/**
 * Pairwise PPO: a policy gradient whose baseline is the other reply of the pair, with ratios of whole replies. With
 * x = s - s_old and A = (R_1 - R_2) / 2,
 *
 *     separate: L = clipped(x_1, A) + clipped(x_2, -A)
 *     joint:    L = clipped(x_1 - x_2, A)
 *
 * so that a constant added to all rewards changes nothing. Source: P3O, arXiv 2310.00212, of which the forms of the clip are
 * from memory; 'separate' has its gradient when no clip is active.
 *
 * @param options.lengthNormalized divide x by the number of tokens (ours), as in GSPO, so that long replies are not all clipped
 * @example pairwisePpoLoss({ clip: 'joint' })
 */
export function pairwisePpoLoss(
  options: { clip?: 'separate' | 'joint'; clipLow?: number; clipHigh?: number; lengthNormalized?: boolean } = {},
): Loss {
  const { clip = 'separate', clipLow = 0.2, clipHigh = 0.2, lengthNormalized = false } = options
  const lengthOf = ({ length }: Completion): number => (lengthNormalized ? length : 1)
  return pairLoss({
    name: 'pairwise-ppo',
    reference: false,
    compare({ chosen, rejected }) {
      const advantage = chosen.info.reward / 2 - rejected.info.reward / 2
      const [n, m] = [lengthOf(chosen), lengthOf(rejected)]
      const [x, y] = [(chosen.logprob - chosen.old) / n, (rejected.logprob - rejected.old) / m]
      if (clip === 'joint') {
        const { value, slope } = clippedRatio(x - y, advantage, clipLow, clipHigh)
        return { value, chosen: slope / n, rejected: -slope / m }
      }
      const won = clippedRatio(x, advantage, clipLow, clipHigh)
      const lost = clippedRatio(y, -advantage, clipLow, clipHigh)
      return { value: won.value + lost.value, chosen: won.slope / n, rejected: lost.slope / m }
    },
  })
}

export const pairwisePpo = lossAndMethod({
  name: 'pairwise-ppo',
  summary: 'PPO on differences of reward within pairs, with ratios of whole replies (P3O).',
  formula: 'L = clipped(r_1, (R_1 - R_2) / 2) + clipped(r_2, (R_2 - R_1) / 2),  r = exp(s - s_old)',
  reference:
    'arXiv 2310.00212; the two ways to clip are reconstructed from memory, the gradient without clip is theirs',
  standing: 'ours',
  use: 'Rewards known up to a constant for each prompt. Ratios of long replies leave the clip range at once: lengthNormalized.',
  rows: ['B185'],
  shape: {
    clip: z.enum(['separate', 'joint']).default('separate'),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    lengthNormalized: z.boolean().default(false),
  },
  loss: pairwisePpoLoss,
  referenceNeeded: false,
  pairing: 'random',
})
