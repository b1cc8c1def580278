import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { objective, type Adjustment } from '../objective.js'
import type { Trajectory } from '../types.js'
import { clipOptions } from './clip.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf } from './token-loss.js'

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/**
 * Factors by how hard the data is: alpha_i = s(1 - w_i) / s(1 - mean w), w_i in [0, 1] the likeness of sample i to its
 * demonstration. What is unlike it gets a factor above 1; the range is 0.68 to 1.46.
 *
 * @example dataHardness([1, 0]) // [0.803, 1.174]
 */
export function dataHardness(likeness: readonly number[]): number[] {
  const middle = sigmoid(1 - meanOf(likeness))
  return likeness.map((w) => sigmoid(1 - w) / middle)
}

/**
 * Factor by how far the reward still tells samples from demonstrations: s(mean of kept gaps) / s(mean gap), a gap kept where
 * (gap - mean)^2 <= tolerance. 1 where none is kept.
 *
 * @param gaps reward of the demonstration less that of the sample
 */
export function responsiveness(gaps: readonly number[], tolerance: number): number {
  const mean = meanOf(gaps)
  const kept = gaps.filter((gap) => (gap - mean) ** 2 <= tolerance)
  return kept.length === 0 ? 1 : sigmoid(meanOf(kept)) / sigmoid(mean)
}

export interface DynamicScalingOptions {
  /** Reward part that tells the likeness to the demonstration, from 0 to 1. */
  likenessPart: string
  /** Reward part that tells the demonstration's reward. */
  demonstrationPart: string
  /** Largest squared distance of a gap from the mean gap. */
  tolerance: number
}

/**
 * Multiplies advantages by alpha_D alpha_M, both within a group, after normalization so that nothing cancels.
 *
 * @throws MyriadError 'usage' where a trajectory has no such reward part
 */
export function dynamicScaling(options: DynamicScalingOptions): Adjustment {
  const part = ({ rewardParts }: Trajectory, name: string): number => {
    const value = rewardParts[name]
    if (value === undefined || !Number.isFinite(value))
      throw new MyriadError('usage', `dynamic scaling needs the reward part "${name}" on every trajectory`)
    return value
  }
  return (advantages, groups) => ({
    advantages: groups.map(({ trajectories }, g) => {
      const hardness = dataHardness(trajectories.map((t) => part(t, options.likenessPart)))
      const gaps = trajectories.map((t) => part(t, options.demonstrationPart) - t.reward)
      const alpha = responsiveness(gaps, options.tolerance)
      return advantages[g].map((tokens, i) => tokens.map((advantage) => advantage * hardness[i] * alpha))
    }),
  })
}

const scaling = {
  /** Reward part that tells the likeness to the demonstration, from 0 to 1. */
  likenessPart: z.string().default('demonstration-likeness'),
  /** Reward part that tells the demonstration's reward. */
  demonstrationPart: z.string().default('demonstration-reward'),
  /** Largest squared distance of a gap from the mean gap. */
  tolerance: z.number().min(0).default(1),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'second-hand' as const,
  rows: ['B215'],
  formula:
    'A_i <- alpha_D,i alpha_M A_i;  alpha_D = s(1 - w_i) / s(1 - mean w);  alpha_M = s(mean kept gap) / s(mean gap)',
  reference:
    'DR-IRL, arXiv 2503.18991; decided here: gap = demonstration less sample, means by group, tolerance 1. GTPO has another GRPO-S.',
}

export const dynamicScalingPart = objective({
  ...about,
  kind: 'adjustment',
  name: 'dynamic-scaling',
  summary: 'Scales advantages by how unlike the demonstration a sample is and how far the reward tells them apart.',
  use: 'Demonstrations with a reward model. The two parts come from rewards of weight 0.',
  options: z.strictObject(scaling),
  make: dynamicScaling,
})

export const grpoS = objective({
  ...about,
  kind: 'method',
  name: 'grpo-s',
  summary: 'GRPO with advantages scaled by data hardness and model responsiveness.',
  use: 'Safety alignment with demonstrations. Give the two reward parts weight 0.',
  options: z.strictObject({
    ...groupOptions,
    ...scaling,
    ...clipOptions,
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) =>
    method('grpo-s', options, {
      advantage: groupAdvantages(options),
      adjustments: [{ name: 'dynamic-scaling', run: dynamicScaling(options) }],
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})
