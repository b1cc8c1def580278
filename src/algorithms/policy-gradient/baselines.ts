import { z } from 'zod'
import type { Json } from '../../core/index.js'
import { MyriadError } from '../../core/index.js'
import { groupAdvantages } from '../advantages.js'
import { objective, type Adjustment } from '../objective.js'
import { sampledTokens } from '../overlong.js'
import type { AdvantageEstimator, Group, Trajectory } from '../types.js'
import { meanOf } from './token-loss.js'

/** Rewards of a group. [samples] @throws MyriadError 'numeric' on one that is not finite */
export function rewardsOf(group: Group): number[] {
  return group.trajectories.map(({ reward }) => {
    if (!Number.isFinite(reward))
      throw new MyriadError('numeric', `a group holds the reward ${reward}; rewards must be finite`)
    return reward
  })
}

/** One number per trajectory on its sampled tokens, 0 elsewhere: [group][trajectory] to [group][trajectory][token]. */
export function spread(groups: readonly Group[], numbers: readonly (readonly number[])[]): Float32Array[][] {
  return groups.map(({ trajectories }, g) =>
    trajectories.map(({ mask }, i) => Float32Array.from(mask, (sampled) => (sampled ? numbers[g][i] : 0))),
  )
}

/** An estimator from the rewards of one group at a time. */
export function perGroup(
  estimate: (rewards: number[], trajectories: readonly Trajectory[]) => number[],
): AdvantageEstimator {
  return (groups) =>
    spread(
      groups,
      groups.map((group) => estimate(rewardsOf(group), group.trajectories)),
    )
}

/**
 * Leave-one-out advantages: A_i = R_i - mean of the siblings' rewards; 0 in a group of one.
 *
 * Source: RLOO, arXiv 2402.14740; Kool et al. 2019.
 *
 * @example leaveOneOut([1, 0, 0]) // [1, -0.5, -0.5]
 */
export function leaveOneOut(rewards: readonly number[]): number[] {
  const n = rewards.length
  if (n < 2) return rewards.map(() => 0)
  const mean = meanOf(rewards)
  return rewards.map((reward) => (n / (n - 1)) * (reward - mean))
}

/**
 * Advantages against the mean reward weighted by length, the baseline of least variance where a token's gradients are alike:
 * A_i = R_i - sum_j T_j R_j / sum_j T_j. A group of one, or of empty replies, answers 0.
 *
 * Source: OPO, arXiv 2505.23585.
 *
 * @example lengthWeighted([1, 0], [3, 1]) // [0.25, -0.75]
 */
export function lengthWeighted(rewards: readonly number[], lengths: readonly number[]): number[] {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  if (rewards.length < 2 || total === 0) return rewards.map(() => 0)
  const baseline = rewards.reduce((sum, reward, i) => sum + (lengths[i] / total) * reward, 0)
  return rewards.map((reward) => reward - baseline)
}

/** Rewards as they are. */
export const plainRewards: AdvantageEstimator = perGroup((rewards) => rewards)

/** Rewards less the mean of all rewards of the batch. */
export const batchMean: AdvantageEstimator = (groups) => {
  const rewards = groups.map(rewardsOf)
  const mean = meanOf(rewards.flat())
  return spread(
    groups,
    rewards.map((group) => group.map((reward) => reward - mean)),
  )
}

/**
 * Rewards less that of the group's most probable reply (largest mean logprob a token), which stands in for ReMax's greedy
 * one; that reply itself has advantage 0, as every reply of equal reward has.
 */
export const againstMostProbable: AdvantageEstimator = perGroup((rewards, trajectories) => {
  const confidence = trajectories.map(({ mask, logprobs }) => {
    const sampled = [...logprobs].filter((_, t) => mask[t])
    return sampled.length > 0 ? meanOf(sampled) : -Infinity
  })
  const baseline = rewards[confidence.indexOf(Math.max(...confidence))] ?? 0
  return rewards.map((reward) => reward - baseline)
})

/**
 * Rewards less that of a greedy reply to the same problem, which is not trained on: `greedyReward` of the group. A group that
 * lacks it, because it was dropped, is taken against its most probable reply.
 *
 * Source: ReMax, arXiv 2310.10505.
 *
 * @example againstGreedy([{ problem, trajectories, greedyReward: 0.5 }]) // rewards 1 and 0 become 0.5 and -0.5
 */
export const againstGreedy: AdvantageEstimator = (groups) =>
  groups.map((group) => {
    const { greedyReward } = group
    if (greedyReward === undefined) return againstMostProbable([group])[0]
    return spread([group], [rewardsOf(group).map((reward) => reward - greedyReward)])[0]
  })

/**
 * Subtracts a running mean of rewards from advantages that are rewards, then moves the mean towards the batch's:
 * b <- b + rate (mean - b). The first step uses its own mean. The state is `{ mean }`.
 *
 * @example compose({ advantage: plainRewards, adjustments: [{ name: 'running-baseline', run: runningBaseline(0.1) }], ... })
 */
export function runningBaseline(rate: number): Adjustment {
  return (advantages, groups, { state }) => {
    const rewards = groups.flatMap(rewardsOf)
    const batch = meanOf(rewards)
    const remembered = (state as { mean?: number } | null)?.mean ?? batch
    const mean = rewards.length === 0 ? remembered : remembered + rate * (batch - remembered)
    const next: Json = rewards.length === 0 && state === null ? null : { mean }
    return {
      advantages: advantages.map((group, g) =>
        group.map((tokens, i) =>
          tokens.map((advantage, t) => (groups[g].trajectories[i].mask[t] ? advantage - remembered : 0)),
        ),
      ),
      state: next,
      metrics: { baseline: remembered },
    }
  }
}

const about = { kind: 'advantage' as const, family: 'policy-gradient' as const, standing: 'source' as const, rows: [] }

export const plainRewardPart = objective({
  ...about,
  name: 'plain-reward',
  summary: 'The reward itself as the advantage: REINFORCE without a baseline.',
  formula: 'A_i = R_i',
  reference: 'Williams 1992',
  use: 'Rewards that are centred already, or as the start of a baseline of your own. High variance otherwise.',
  options: z.strictObject({}),
  make: () => plainRewards,
})

export const batchMeanPart = objective({
  ...about,
  name: 'batch-mean',
  summary: 'Rewards less the mean reward of the batch.',
  formula: 'A_i = R_i - mean_B',
  reference: 'Williams 1992',
  use: 'One sample a problem. With several, a group baseline removes the difficulty of the problem too.',
  options: z.strictObject({}),
  make: () => batchMean,
})

export const groupRelativePart = objective({
  ...about,
  name: 'group-relative',
  summary: 'Rewards against the mean of their group, divided by its standard deviation unless told otherwise.',
  formula: 'A_i = (R_i - mean_G) / (std_G + epsilon)',
  reference: 'GRPO, arXiv 2402.03300; without std_G Dr. GRPO, arXiv 2503.20783',
  use: 'Several samples a problem.',
  options: z.strictObject({
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    /** Added to the standard deviation. */
    epsilon: z.number().min(0).default(1e-6),
  }),
  make: groupAdvantages,
})

export const leaveOneOutPart = objective({
  ...about,
  name: 'leave-one-out',
  summary: "Rewards less the mean of their siblings'.",
  formula: 'A_i = R_i - (1/(G-1)) sum_{j != i} R_j',
  reference: 'RLOO, arXiv 2402.14740',
  use: 'An unbiased group baseline. G/(G-1) times the plain group mean.',
  options: z.strictObject({}),
  make: () => perGroup((rewards) => leaveOneOut(rewards)),
})

export const lengthWeightedPart = objective({
  ...about,
  name: 'length-weighted-baseline',
  summary: 'Rewards less the mean of their group weighted by length.',
  formula: 'A_i = R_i - sum_j T_j R_j / sum_j T_j',
  reference: 'OPO, arXiv 2505.23585; verl compute_opo_outcome_advantage',
  use: 'On-policy training where lengths differ much.',
  options: z.strictObject({}),
  make: () => perGroup((rewards, trajectories) => lengthWeighted(rewards, trajectories.map(sampledTokens))),
})

export const mostProbablePart = objective({
  ...about,
  standing: 'ours',
  name: 'most-probable-baseline',
  summary: "Rewards less that of the group's most probable reply, in place of ReMax's greedy one.",
  formula: 'A_i = R_i - R_m, m = argmax_j mean_t blp_jt',
  reference: 'ReMax, arXiv 2310.10505, takes a greedy reply that is not trained on; ours takes the likeliest sample',
  use: 'Close to ReMax at low temperature. At high temperature the likeliest of few samples is a poor greedy reply.',
  options: z.strictObject({}),
  make: () => againstMostProbable,
})

export const greedyPart = objective({
  ...about,
  name: 'greedy-baseline',
  summary: 'Rewards less that of a greedy reply to the same problem, which is not trained on.',
  formula: 'A_i = R_i - R_greedy',
  reference: 'ReMax, arXiv 2310.10505',
  use: 'One sample a problem, or few. Leave dynamic sampling off: samples that are equally good may be better than the greedy reply.',
  options: z.strictObject({}),
  needs: { greedy: true },
  make: () => againstGreedy,
})

export const runningBaselinePart = objective({
  kind: 'adjustment',
  family: 'policy-gradient',
  standing: 'source',
  rows: [],
  name: 'running-baseline',
  summary: 'Subtracts a moving average of past rewards from advantages that are rewards.',
  formula: 'A_i = R_i - b;  b <- b + rate (mean_B - b)',
  reference: 'Williams 1992',
  use: 'After `plain-reward`, with few samples a step.',
  options: z.strictObject({ rate: z.number().gt(0).max(1).default(0.1) }),
  make: ({ rate }) => runningBaseline(rate),
})
