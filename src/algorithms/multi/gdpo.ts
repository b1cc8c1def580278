import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Group } from '../types.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { chooseParts, partOf, type PartWeights } from './reward-parts.js'
import { moments, spread, standardize } from './statistics.js'

/**
 * Weighted sum of the parts of a reward; parts that are NaN (not scored) add nothing. Null where none was scored.
 *
 * @example sumParts([1, NaN, 2], [1, 1, 0.5]) // 2
 */
export function sumParts(parts: readonly number[], weights: readonly number[]): number | null {
  if (parts.every(Number.isNaN)) return null
  return parts.reduce((sum, part, n) => (Number.isNaN(part) ? sum : sum + weights[n] * part), 0)
}

/**
 * Each part of the reward normalized within its group, then summed: S_i = sum_n w_n (r_n,i - mean) / (std + epsilon), with
 * Bessel's correction. A part with equal values, or NaN, adds 0; a sample with no part at all answers null.
 *
 * @param rewards of one group: [samples][parts]
 * @example normalizeParts([[0, 5], [1, 5]], [1, 1], 1e-4) // [-0.7070, 0.7070]
 */
export function normalizeParts(
  rewards: readonly (readonly number[])[],
  weights: readonly number[],
  epsilon: number,
): (number | null)[] {
  const sums: (number | null)[] = rewards.map((row) => (row.every(Number.isNaN) ? null : 0))
  weights.forEach((weight, n) => {
    const scored = rewards.flatMap((row, i) => (Number.isNaN(row[n]) ? [] : [i]))
    const normal = standardize(
      scored.map((i) => rewards[i][n]),
      epsilon,
    )
    scored.forEach((i, k) => (sums[i] = sums[i]! + weight * normal[k]))
  })
  return sums
}

const partOptions = {
  /** Reward parts to use; all unless given. */
  parts: z.array(z.string()).optional(),
  /** Weight of each part by name (1 unless given), on top of the weight it already has in the reward. */
  weights: z.record(z.string(), z.number()).default({}),
}

interface PartOptions {
  parts?: readonly string[]
  weights: PartWeights
  epsilon: number
}

function rowsOf(groups: readonly Group[], options: PartOptions): { rows: number[][][]; weights: number[] } {
  const names = chooseParts(groups, options.parts)
  return {
    rows: groups.map(({ trajectories }) => trajectories.map((t) => names.map((name) => partOf(t, name)))),
    weights: names.map((name) => options.weights[name] ?? 1),
  }
}

/** Parts summed with weights, then normalized by the group: what GRPO does with several rewards. */
export function sumThenNormalize(options: PartOptions & { normalization: 'mean' | 'mean-std' }): AdvantageEstimator {
  return (groups) => {
    const { rows, weights } = rowsOf(groups, options)
    return groups.map((group, g) => {
      const sums = rows[g].map((row) => sumParts(row, weights))
      const scored = group.trajectories.filter((_, i) => sums[i] !== null)
      const rewarded = {
        ...group,
        trajectories: scored.map((t, k) => ({ ...t, reward: sums.filter((s) => s !== null)[k] })),
      }
      const [advantages] = groupAdvantages(options)([rewarded])
      return group.trajectories.map((t, i) =>
        sums[i] === null ? new Float32Array(t.tokens.length) : advantages[scored.indexOf(t)],
      )
    })
  }
}

/**
 * GDPO: parts normalized, summed, and the sums normalized once more over the batch.
 *
 * `whitening` says over what: 'sequences' (TRL: (S - mean) / (std + epsilon)), 'tokens' (the authors' verl: every sequence
 * counts as often as it has sampled tokens, and the divisor is sqrt(var + 1e-8)), 'none'.
 */
export function normalizeThenSum(
  options: PartOptions & { whitening?: 'sequences' | 'tokens' | 'none' },
): AdvantageEstimator {
  const { whitening = 'sequences', epsilon } = options
  return (groups) => {
    const { rows, weights } = rowsOf(groups, options)
    const sums = rows.map((group) => normalizeParts(group, weights, epsilon))
    if (whitening === 'none')
      return spread(
        groups,
        sums.map((group) => group.map((sum) => sum ?? 0)),
      )
    const counted = groups.flatMap(({ trajectories }, g) =>
      trajectories.flatMap(({ mask }, i) => {
        const sum = sums[g][i]
        if (sum === null) return []
        return whitening === 'sequences' ? [sum] : [...mask].filter(Boolean).map(() => sum)
      }),
    )
    const { mean, deviation } = moments(counted)
    const divisor = whitening === 'sequences' ? deviation + epsilon : Math.sqrt(deviation ** 2 + 1e-8)
    const whiten = (sum: number | null): number => (sum === null || deviation === 0 ? 0 : (sum - mean) / divisor)
    return spread(
      groups,
      sums.map((group) => group.map(whiten)),
    )
  }
}

const epsilon = z.number().positive().default(1e-4)

export const sumThenNormalizePart = objective({
  kind: 'advantage',
  name: 'sum-then-normalize',
  family: 'multi-reward',
  summary: 'Reward parts summed with weights, then normalized by their group.',
  formula: 'R_i = sum_n w_n r_n,i;  A_i = (R_i - mean_G) / (std_G + eps)',
  reference: 'TRL, multi_objective_aggregation "sum_then_normalize"; GRPO, arXiv 2402.03300',
  standing: 'source',
  use: 'The default for several rewards. A part with a large spread drowns the others.',
  rows: [],
  options: z.strictObject({ ...partOptions, epsilon, normalization: groupMethodOptions.normalization }),
  make: sumThenNormalize,
})

export const gdpoPart = objective({
  kind: 'advantage',
  name: 'normalize-then-sum',
  family: 'multi-reward',
  summary: 'Each reward part normalized by its group, summed, and the sums normalized over the batch (GDPO).',
  formula: 'S_i = sum_n w_n (r_n,i - mean_G) / (std_G + eps);  A_i = (S_i - mean_B) / (std_B + eps)',
  reference: 'GDPO, arXiv 2601.05242; TRL "normalize_then_sum" (over sequences), verl gdpo (over tokens)',
  standing: 'source',
  use: 'Parts of unlike scale or spread. Not where a rare part should weigh little: here its every difference counts in full.',
  rows: [],
  options: z.strictObject({
    ...partOptions,
    epsilon,
    /** Over what the sums are normalized. */
    whitening: z.enum(['sequences', 'tokens', 'none']).default('sequences'),
  }),
  make: normalizeThenSum,
})

export const rewardSum = objective({
  ...sumThenNormalizePart,
  kind: 'method',
  name: 'reward-sum',
  options: z.strictObject({ ...groupMethodOptions, ...partOptions, epsilon }),
  make: (options) =>
    groupMethod('reward-sum', options, { advantage: sumThenNormalize(options), dynamicSampling: false }),
})

export const gdpo = objective({
  ...gdpoPart,
  kind: 'method',
  name: 'gdpo',
  options: z.strictObject({ ...groupMethodOptions, ...gdpoPart.options.shape }),
  make: (options) => groupMethod('gdpo', options, { advantage: normalizeThenSum(options), dynamicSampling: false }),
})
