import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { objective } from '../objective.js'
import { clipOptions, clippedTerm, type ClipRange } from './clip.js'
import { aggregationOptions } from './method-options.js'
import { refined, rewardOptions, whitenedReturns } from './reinforce-plus-plus.js'
import { tokenLoss } from './token-loss.js'

/**
 * The clipped loss with ratios held within [1 / limit, limit] before `exp`, gradient 0 outside.
 *
 * Source: StableReinforce, arXiv 2505.02835 (limit 1e3).
 *
 * @throws MyriadError 'usage' on a limit that is not above 1
 */
export function preClippedLoss(range: ClipRange & { limit: number }): Loss {
  if (!(range.limit > 1)) throw new MyriadError('usage', `the limit of a ratio must be above 1, not ${range.limit}`)
  const bound = Math.log(range.limit)
  return tokenLoss('pre-clipped', ({ logprobs, oldLogprobs, advantages }, t) => {
    const d = logprobs[t] - oldLogprobs[t]
    const held = Math.min(Math.max(d, -bound), bound)
    const term = clippedTerm(held, advantages[t], range)
    return held === d ? term : { ...term, slope: 0, clipped: true }
  })
}

/** Whitened advantages beyond +-sigma deviations made 0. Sequences are not changed but copied. */
export function dropOutliers(sequences: readonly TrainSequence[], sigma: number): TrainSequence[] {
  return sequences.map((sequence) => ({
    ...sequence,
    advantages: sequence.advantages.map((advantage) => (Math.abs(advantage) > sigma ? 0 : advantage)),
  }))
}

const limit = {
  /** Ratios are held within [1 / limit, limit]. */
  limit: z.number().gt(1).default(1000),
}

export const preClipped = objective({
  kind: 'loss',
  name: 'pre-clipped',
  family: 'policy-gradient',
  summary: 'The clipped loss, with log-ratios bounded before the exponential.',
  formula: 'r = exp(clip(lp - olp, -ln limit, ln limit));  l = -min(r A, clip(r) A)',
  reference: 'StableReinforce, arXiv 2505.02835',
  standing: 'source',
  use: 'Where ratios overflow. Negative advantages at a ratio above the limit teach nothing, unlike in `clipped`.',
  rows: ['B097'],
  options: z.strictObject({ ...clipOptions, ...limit }),
  make: preClippedLoss,
})

export const stableReinforce = objective({
  kind: 'method',
  name: 'stable-reinforce',
  family: 'policy-gradient',
  summary: 'REINFORCE++ with bounded log-ratios and without outlying advantages.',
  formula: 'A = whiten_B(G), 0 where |A| > sigma;  r = exp(clip(lp - olp, -ln 1e3, ln 1e3));  clipped loss',
  reference: 'StableReinforce, arXiv 2505.02835 (the release compares A with its raw mean; here with 0, as the paper)',
  standing: 'source',
  use: 'One sample a problem, noisy rewards such as those of reward-model training.',
  rows: ['B097'],
  options: z.strictObject({
    ...rewardOptions,
    klInReward: rewardOptions.klInReward.default(1e-3),
    /** Advantages beyond so many deviations are 0. */
    sigma: z.number().positive().default(3),
    ...clipOptions,
    ...limit,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) =>
    refined('stable-reinforce', options, { loss: preClippedLoss(options) }, (sequences) =>
      dropOutliers(whitenedReturns(sequences, options), options.sigma),
    ),
})
