import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { reward, spread } from '../multi/statistics.js'
import { objective, type Shaping } from '../objective.js'
import type { AdvantageEstimator, Algorithm, Trajectory } from '../types.js'
import { entropyBonus } from './entropy-bonus.js'

/**
 * Each value against the mean of the others: n / (n - 1) (R_i - mean). One alone has 0.
 *
 * @example leaveOneOut([0, 1]) // [-1, 1]
 */
export function leaveOneOut(values: readonly number[]): number[] {
  const n = values.length
  if (n < 2) return values.map(() => 0)
  const mean = values.reduce((sum, value) => sum + value / n, 0)
  return values.map((value) => (n / (n - 1)) * (value - mean))
}

/**
 * Divergence from a reference put on advantages, centred within the group: A_t - beta (kl_i - mean_G kl),
 * kl_i = sum_t (old logprob - reference logprob) over the trained tokens of sequence i. It never lifts or lowers a group as
 * a whole.
 *
 * @throws MyriadError 'usage' where a sequence has no reference logprobs
 */
export function centredKl(sequences: readonly TrainSequence[], beta: number): TrainSequence[] {
  const divergences = sequences.map(({ mask, logprobs, oldLogprobs, referenceLogprobs }) => {
    if (!referenceLogprobs) throw new MyriadError('usage', 'a centred divergence needs reference logprobs')
    return mask.reduce(
      (sum, trained, t) => sum + (trained ? (oldLogprobs ?? logprobs)[t] - referenceLogprobs[t] : 0),
      0,
    )
  })
  const groupOf = ({ info }: TrainSequence, i: number): number => info?.group ?? -1 - i
  const members = new Map<number, number[]>()
  sequences.forEach((sequence, i) => {
    const group = groupOf(sequence, i)
    members.set(group, [...(members.get(group) ?? []), i])
  })
  return sequences.map((sequence, i) => {
    const siblings = members.get(groupOf(sequence, i))!
    const mean = siblings.reduce((sum, j) => sum + divergences[j] / siblings.length, 0)
    const change = beta * (divergences[i] - mean)
    return { ...sequence, advantages: sequence.advantages.map((a, t) => (sequence.mask[t] ? a - change : a)) }
  })
}

/**
 * Whether sampled tokens go round in circles: of at least 20 runs of four tokens, less than `share` are different.
 *
 * @example isRepetitive(trajectory, 0.3)
 */
export function isRepetitive({ tokens, mask }: Pick<Trajectory, 'tokens' | 'mask'>, share: number): boolean {
  const sampled = tokens.filter((_, t) => mask[t])
  const runs = sampled.slice(3).map((_, t) => sampled.slice(t, t + 4).join())
  return runs.length >= 20 && new Set(runs).size < share * runs.length
}

function punish(share: number): Shaping {
  return (groups) => ({
    groups: reward(groups, 'degenerate', (trajectory) =>
      trajectory.stopReason !== 'stop' || isRepetitive(trajectory, share) ? -1 : trajectory.reward,
    ),
  })
}

const estimate: AdvantageEstimator = (groups) =>
  spread(
    groups,
    groups.map(({ trajectories }) => leaveOneOut(trajectories.map((trajectory) => trajectory.reward))),
  )

export const t1 = objective({
  kind: 'method',
  name: 't1',
  family: 'exploration',
  summary:
    'Leave-one-out advantages, -1 for degenerate replies, an entropy bonus, and a centred divergence from an anchor that follows the policy.',
  formula:
    'g = -c (A_i - beta (kl_i - mean_G kl)) - alpha c dH;  A leave-one-out;  anchor <- (1 - rate) anchor + rate policy',
  reference:
    'T1, arXiv 2501.11651; beta 2e-4, leave-one-out and the moving anchor are its; ours: alpha, the rate, the mean taken over the group, what counts as repetition',
  standing: 'ours',
  use: 'Many samples (64) of each problem at a temperature of 1 to 1.2. Needs the reference to follow after each update.',
  rows: ['B181'],
  options: z.strictObject({
    clipLow: groupMethodOptions.clipLow,
    clipHigh: groupMethodOptions.clipHigh,
    aggregation: groupMethodOptions.aggregation,
    fixedLength: groupMethodOptions.fixedLength,
    /** beta. */
    klCoefficient: z.number().min(0).default(2e-4),
    /** How far the anchor moves to the policy after each step: 1 makes the divergence 0. */
    anchorRate: z.number().min(0).max(1).default(0.05),
    /** alpha. */
    entropyCoefficient: z.number().default(0.001),
    /** Replies with a smaller share of different runs of four tokens are repetitive. */
    repetition: z.number().min(0).max(1).default(0.3),
  }),
  make: (options): Algorithm => ({
    ...groupMethod(
      't1',
      // The divergence is in the advantages, not in the loss.
      { ...options, klCoefficient: 0, normalization: 'mean', epsilon: 1e-6 },
      {
        dynamicSampling: false,
        shaping: [{ name: 'degenerate', run: punish(options.repetition) }],
        advantage: estimate,
        regularizers: [{ loss: entropyBonus(options.entropyCoefficient), coefficient: 1 }],
        needs: options.klCoefficient === 0 ? {} : { reference: { rate: options.anchorRate } },
      },
    ),
    ...(options.klCoefficient === 0
      ? {}
      : { refine: (sequences: readonly TrainSequence[]) => centredKl(sequences, options.klCoefficient) }),
  }),
})
