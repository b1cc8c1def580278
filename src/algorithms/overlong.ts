import { MyriadError } from '../core/index.js'
import type { Group, Trajectory } from './types.js'

/**
 * What to do with trajectories that were cut off by a token or context limit.
 *
 * - `keep`: they are ordinary
 * - `mask`: their tokens are not trained on; their reward still counts in the group's mean (overlong filtering, DAPO)
 * - a penalty on the number of sampled tokens L, added to the reward: 0 up to maxTokens - marginTokens, falling linearly
 *   to -weight at maxTokens and beyond (soft punishment, DAPO equation 13)
 */
export type OverlongHandling = 'keep' | 'mask' | { maxTokens: number; marginTokens: number; weight?: number }

/** Whether the last reply ended at a limit instead of by the policy's own stop. */
export function isTruncated(trajectory: Trajectory): boolean {
  return trajectory.stopReason !== 'stop'
}

/**
 * DAPO's soft punishment, in [-1, 0]. Source: arXiv 2503.14476, equation 13.
 *
 * @example overlongPenalty(90, 100, 20) // -0.5
 */
export function overlongPenalty(tokens: number, maxTokens: number, marginTokens: number): number {
  if (tokens <= maxTokens - marginTokens) return 0
  return tokens >= maxTokens ? -1 : (maxTokens - marginTokens - tokens) / marginTokens
}

/** Groups with the handling applied; what it does not touch is shared with the input, which is never changed. */
export function handleOverlong(groups: readonly Group[], handling: OverlongHandling): readonly Group[] {
  if (handling === 'keep') return groups
  const change = handling === 'mask' ? maskTruncated : penalize(handling)
  return groups.map((group) => ({ ...group, trajectories: group.trajectories.map(change) }))
}

function maskTruncated(trajectory: Trajectory): Trajectory {
  return isTruncated(trajectory) ? { ...trajectory, mask: new Uint8Array(trajectory.mask.length) } : trajectory
}

function penalize(handling: Exclude<OverlongHandling, string>): (trajectory: Trajectory) => Trajectory {
  const { maxTokens, marginTokens, weight = 1 } = handling
  if (!(maxTokens > 0 && marginTokens >= 0 && marginTokens <= maxTokens)) {
    throw new MyriadError('usage', 'overlong: 0 <= marginTokens <= maxTokens and maxTokens > 0 must hold')
  }
  return (trajectory) => {
    const penalty = weight * overlongPenalty(sampledTokens(trajectory), maxTokens, marginTokens)
    if (penalty === 0) return trajectory
    const rewardParts = { ...trajectory.rewardParts, overlong: penalty }
    return { ...trajectory, reward: trajectory.reward + penalty, rewardParts }
  }
}

/** Number of tokens the policy sampled in an episode. */
export function sampledTokens(trajectory: Trajectory): number {
  return trajectory.mask.reduce((sum, sampled) => sum + sampled, 0)
}
