import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { crossEntropy } from '../cross-entropy.js'
import type { Loss } from '../../policy/types.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { againstGreedy, batchMean, lengthWeighted, perGroup, plainRewards, runningBaseline } from './baselines.js'
import { sampledTokens } from '../overlong.js'
import { clipOptions } from './clip.js'
import { clippedLoss } from '../clipped.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf, ratiosTo, weightedLikelihood } from './token-loss.js'

/**
 * REINFORCE with a truncated importance weight against the sampler: -sg[min(exp(lp - blp), cap)] A lp.
 *
 * Sources: RAPID, arXiv 2510.03515 (cap 2); Williams 1992.
 *
 * @example const loss = importanceWeightedLoss(2)
 */
export function importanceWeightedLoss(cap: number): Loss {
  return weightedLikelihood('importance-weighted', (tokens) => {
    const ratios = ratiosTo(tokens, 'behaviour')
    return {
      factors: ratios.map((ratio) => Math.min(ratio, cap)),
      metrics: { ratio: meanOf(ratios), clipFraction: meanOf(ratios.map((ratio) => Number(ratio > cap))) },
    }
  })
}

const estimators: Record<'none' | 'running' | 'batch' | 'group', AdvantageEstimator> = {
  none: plainRewards,
  running: plainRewards,
  batch: batchMean,
  group: groupAdvantages({ normalization: 'mean' }),
}

export const importanceWeighted = objective({
  kind: 'loss',
  name: 'importance-weighted',
  family: 'policy-gradient',
  summary: 'REINFORCE with truncated importance weights against the sampler.',
  formula: 'l = -sg[min(exp(lp - blp), cap)] A lp',
  reference: 'RAPID, arXiv 2510.03515',
  standing: 'second-hand',
  use: 'Many updates on one large sampling batch. The value of the loss says little; watch reward and ratio.',
  rows: ['A092'],
  options: z.strictObject({ cap: z.number().positive().default(2) }),
  make: ({ cap }) => importanceWeightedLoss(cap),
})

export const reinforce = objective({
  kind: 'method',
  name: 'reinforce',
  family: 'policy-gradient',
  summary: 'REINFORCE: log-likelihood weighted by reward less a baseline (none, running, batch or group mean).',
  formula: 'l = -(R_i - b) lp',
  reference: 'Williams 1992; sum over tokens, mean over sequences as in verl',
  standing: 'source',
  use: 'One update a batch, so that samples are on-policy. Without a clip, more updates run away unless a cap is set.',
  rows: ['A070', 'A109', 'B055', 'B074'],
  options: z.strictObject({
    baseline: z.enum(['none', 'running', 'batch', 'group']).default('running'),
    /** How far the running mean moves a step. */
    rate: z.number().gt(0).max(1).default(0.1),
    /** Cap of the importance weight against the sampler; null: no weight. */
    weightCap: z.number().positive().nullable().default(null),
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-sum'),
  }),
  make: (options) =>
    method('reinforce', options, {
      advantage: estimators[options.baseline],
      adjustments:
        options.baseline === 'running' ? [{ name: 'running-baseline', run: runningBaseline(options.rate) }] : [],
      dynamicSampling: options.baseline === 'group',
      loss: options.weightCap === null ? crossEntropy() : importanceWeightedLoss(options.weightCap),
    }),
})

export const remax = objective({
  kind: 'method',
  name: 'remax',
  family: 'policy-gradient',
  summary:
    'REINFORCE against the reward of a greedy reply to the same problem, which the loop plays beside the samples.',
  formula: 'l = -(R_i - R_greedy) lp',
  reference: 'ReMax, arXiv 2310.10505; where the greedy reply was dropped the likeliest sample stands in for it',
  standing: 'source',
  use: 'Few samples a problem. With many, rloo or grpo have a baseline without the price of a greedy reply.',
  rows: [],
  options: z.strictObject({ ...klOptions, ...aggregationOptions('sequence-mean-token-sum') }),
  make: (options) =>
    method('remax', options, {
      advantage: againstGreedy,
      // Samples that are all alike may still be better or worse than the greedy reply.
      dynamicSampling: false,
      loss: crossEntropy(),
      needs: { greedy: true },
    }),
})

export const opo = objective({
  kind: 'method',
  name: 'opo',
  family: 'policy-gradient',
  summary: 'Policy gradient against the length-weighted mean reward of the group.',
  formula: 'A_i = R_i - sum_j T_j R_j / sum_j T_j;  clipped loss',
  reference: 'OPO, arXiv 2505.23585 (exactly on-policy there, so that the clip never acts)',
  standing: 'source',
  use: 'One update a batch, no KL term.',
  rows: [],
  options: z.strictObject({ ...clipOptions, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) =>
    method('opo', options, {
      advantage: perGroup((rewards, trajectories) => lengthWeighted(rewards, trajectories.map(sampledTokens))),
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})

export const rapid = objective({
  kind: 'method',
  name: 'rapid',
  family: 'policy-gradient',
  summary: 'Group advantages with truncated importance weights, for many small updates on one large sampling batch.',
  formula: 'l = -sg[min(exp(lp - blp), cap)] A lp, A = (R - mean_G) / (std_G + epsilon)',
  reference: 'RAPID, arXiv 2510.03515; decided here: weights by token, bounded above only, and a plain group mean',
  standing: 'ours',
  use: 'Where sampling is dear and batched: several minibatches a step.',
  rows: ['A092'],
  options: z.strictObject({
    /** Upper bound of the importance weight. */
    cap: z.number().positive().default(2),
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    epsilon: z.number().min(0).default(1e-6),
    ...klOptions,
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    method('rapid', options, { advantage: groupAdvantages(options), loss: importanceWeightedLoss(options.cap) }),
})
