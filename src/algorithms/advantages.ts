import { MyriadError } from '../core/index.js'
import type { AdvantageEstimator, Group } from './types.js'

export interface GroupAdvantageOptions {
  /** `mean-std` divides by the group's standard deviation (GRPO); `mean` only subtracts the mean (Dr. GRPO). */
  normalization: 'mean' | 'mean-std'
  /** Added to the standard deviation. 1e-6 unless given. */
  epsilon?: number
}

/**
 * Advantages of rewards within one group: each reward against the mean of its siblings and itself.
 *
 *     A_i = (R_i - mean) / (std + epsilon)      'mean-std', std with Bessel's correction (n - 1)
 *     A_i =  R_i - mean                         'mean'
 *
 * A group of one and a group of equal rewards have advantage exactly 0.
 * Sources: GRPO, arXiv 2402.03300; without the standard deviation, Dr. GRPO, arXiv 2503.20783.
 *
 * @param rewards [samples], finite
 * @throws MyriadError 'numeric' on a reward that is not finite
 * @example normalizeGroup([0, 1], { normalization: 'mean' }) // [-0.5, 0.5]
 */
export function normalizeGroup(rewards: readonly number[], options: GroupAdvantageOptions): number[] {
  const bad = rewards.find((reward) => !Number.isFinite(reward))
  if (bad !== undefined) throw new MyriadError('numeric', `a group holds the reward ${bad}; rewards must be finite`)
  if (!varies(rewards)) return rewards.map(() => 0)
  const n = rewards.length
  // Divided before summing, so that rewards near the largest double do not overflow.
  const mean = rewards.reduce((sum, reward) => sum + reward / n, 0)
  if (options.normalization === 'mean') return rewards.map((reward) => reward - mean)
  const scale = Math.max(...rewards.map((reward) => Math.abs(reward - mean)))
  const variance = rewards.reduce((sum, reward) => sum + ((reward - mean) / scale) ** 2, 0) / (n - 1)
  const deviation = scale * Math.sqrt(variance)
  return rewards.map((reward) => (reward - mean) / (deviation + (options.epsilon ?? 1e-6)))
}

/**
 * Group-relative advantages, the same number on every sampled token of a trajectory and 0 elsewhere.
 *
 * @example const estimate = groupAdvantages({ normalization: 'mean-std' })
 */
export function groupAdvantages(options: GroupAdvantageOptions): AdvantageEstimator {
  return (groups) =>
    groups.map((group) => {
      const advantages = normalizeGroup(rewardsOf(group), options)
      return group.trajectories.map((trajectory, i) =>
        Float32Array.from(trajectory.mask, (trainable) => (trainable ? advantages[i] : 0)),
      )
    })
}

/** Whether a group can teach anything: at least two of its rewards differ. */
export function hasVariance(group: Group): boolean {
  return varies(rewardsOf(group))
}

function rewardsOf(group: Group): number[] {
  return group.trajectories.map((trajectory) => trajectory.reward)
}

function varies(rewards: readonly number[]): boolean {
  return rewards.some((reward) => reward !== rewards[0])
}
