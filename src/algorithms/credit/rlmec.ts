import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { objective } from '../objective.js'

/**
 * Token rewards from a generative reward model that was trained to make the fewest edits: its probability p of each token
 * less a half, within [0, 0.5] in right answers and [-0.1, 0] in wrong ones.
 *
 * @example rlmecRewards([0.9, 0.1], false) // [0, -0.1]
 */
export function rlmecRewards(probabilities: readonly number[], right: boolean): number[] {
  const [low, high] = right ? [0, 0.5] : [-0.1, 0]
  return probabilities.map((p) => Math.min(high, Math.max(low, p - 0.5)))
}

export interface RlmecOptions {
  clipLow?: number
  clipHigh?: number
  /** Weight of the imitation of corrected answers. */
  imitation?: number
}

/**
 * RLMEC's loss on offline samples and corrected answers, rho = exp(old lp - reference lp) a constant:
 *
 *     W_t = min(rho R_t, clip(rho, 1 - clipLow, 1 + clipHigh) R_t)
 *     L = -sum of W_t lp_t over samples / #(R_t != 0)  -  imitation * sum of w_t lp_t over demonstrations / #(w_t != 0)
 *
 * R_t and w_t are read from the advantages (w is 1 on edited tokens, 0.5 on others); aggregation weights are not read.
 * Unlike PPO's, a clipped token keeps its gradient. A term without tokens is 0. Source: arXiv 2401.06081.
 */
export function rlmecLoss({ clipLow = 0.3, clipHigh = 0.3, imitation = 1 }: RlmecOptions = {}): Loss {
  return {
    name: 'rlmec',
    evaluate: ({ logprobs, oldLogprobs, referenceLogprobs, advantages, segments, sequences }) => {
      const count = logprobs.length
      const gradient = new Float64Array(count)
      if (count > 0 && !referenceLogprobs) throw new MyriadError('usage', 'rlmec needs reference logprobs')
      const isShown = (t: number): boolean => sequences?.[segments[t]]?.role === 'demonstration'
      let [samples, shown] = [0, 0]
      for (let t = 0; t < count; t++) {
        if (advantages[t] === 0) continue
        if (isShown(t)) shown++
        else samples++
      }
      let value = 0
      for (let t = 0; t < count; t++) {
        if (advantages[t] === 0) continue
        if (isShown(t)) gradient[t] = (-imitation * advantages[t]) / shown
        else {
          const rho = clampedExp(oldLogprobs[t] - referenceLogprobs![t]).value
          const bounded = Math.min(Math.max(rho, 1 - clipLow), 1 + clipHigh)
          gradient[t] = -Math.min(rho * advantages[t], bounded * advantages[t]) / samples
        }
        value += gradient[t] * logprobs[t]
      }
      return { value, gradient, metrics: { rewardedTokens: samples, imitatedTokens: shown } }
    },
  }
}

export const rlmec = objective({
  kind: 'loss',
  name: 'rlmec',
  family: 'credit',
  summary: 'Token rewards of a model of minimal edits, on samples, beside imitation of the corrected answers.',
  formula: 'L = -sum W_t lp_t / n_R - imitation sum w_t lp_t / n_w,  W = min(rho R, clip(rho, 0.7, 1.3) R)',
  reference:
    'RLMEC, arXiv 2401.06081, and its code. Decided here: rho is of the policy before the update, so W is a constant',
  standing: 'source',
  use: 'Offline samples with a reward model that rewrites. Token rewards (rlmecRewards) and imitation weights are the advantages.',
  rows: ['B116'],
  options: z.strictObject({
    clipLow: z.number().min(0).default(0.3),
    clipHigh: z.number().min(0).default(0.3),
    imitation: z.number().min(0).default(1),
  }),
  needs: { reference: 'initial', old: true },
  make: rlmecLoss,
})
