import { z } from 'zod'
import { clippedLoss } from '../clipped.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { rewardsOf, spread } from './baselines.js'
import { clipOptions } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf } from './token-loss.js'

/**
 * Rewards less their group mean, divided by the standard deviation (Bessel) of all raw rewards of the batch. All rewards
 * equal, or one reward: 0.
 *
 * Source: "Tricks or Traps", arXiv 2508.08221; TRL scale_rewards "batch".
 */
export function groupMeanBatchDeviation(epsilon: number): AdvantageEstimator {
  return (groups) => {
    const rewards = groups.map(rewardsOf)
    const all = rewards.flat()
    const mean = meanOf(all)
    const scale = all.reduce((largest, reward) => Math.max(largest, Math.abs(reward - mean)), 0)
    const squares = scale === 0 ? 0 : all.reduce((sum, reward) => sum + ((reward - mean) / scale) ** 2, 0)
    const deviation = all.length < 2 ? 0 : scale * Math.sqrt(squares / (all.length - 1))
    return spread(
      groups,
      rewards.map((group) => {
        const centre = meanOf(group)
        return group.map((reward) => (deviation === 0 ? 0 : (reward - centre) / (deviation + epsilon)))
      }),
    )
  }
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: ['A100', 'B147'],
  reference: 'Lite PPO, arXiv 2508.08221; TRL scale_rewards "batch"',
}

const epsilon = {
  /** Added to the standard deviation. */
  epsilon: z.number().min(0).default(1e-4),
}

export const groupMeanBatchDeviationPart = objective({
  ...about,
  kind: 'advantage',
  name: 'group-mean-batch-deviation',
  summary: 'Rewards less their group mean, over the standard deviation of all raw rewards of the batch.',
  formula: 'A_i = (R_i - mean_G) / (std_B(R) + epsilon)',
  use: 'Groups of nearly equal rewards stay quiet, unlike with a deviation by group.',
  options: z.strictObject(epsilon),
  make: ({ epsilon }) => groupMeanBatchDeviation(epsilon),
})

export const litePpo = objective({
  ...about,
  kind: 'method',
  name: 'lite-ppo',
  summary: 'Two tricks on a plain clipped loss without a critic: deviation of the batch, mean over tokens.',
  formula: 'A_i = (R_i - mean_G) / (std_B(R) + epsilon);  l = -min(r A, clip(r) A), c = 1 / Ntok',
  use: 'Base models. Batches of uneven difficulty change the size of the step.',
  options: z.strictObject({ ...epsilon, ...clipOptions, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) =>
    method('lite-ppo', options, {
      advantage: groupMeanBatchDeviation(options.epsilon),
      dynamicSampling: false,
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})
