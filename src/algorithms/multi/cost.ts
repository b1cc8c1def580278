import { MyriadError } from '../../core/index.js'
import { sampledTokens } from '../overlong.js'
import type { Trajectory } from '../types.js'

/**
 * What a trajectory cost: 'tokens' it sampled, 'turns' it took, or a metric of its outcome or part of its reward by name.
 *
 * @throws MyriadError 'usage' where it has none of that name
 * @example costOf(trajectory, 'tokens')
 */
export function costOf(trajectory: Trajectory, cost: string): number {
  if (cost === 'tokens') return sampledTokens(trajectory)
  if (cost === 'turns') return trajectory.turns
  const value = trajectory.outcome.metrics?.[cost] ?? trajectory.rewardParts[cost]
  if (value === undefined) {
    throw new MyriadError(
      'usage',
      `cost "${cost}": a trajectory of task "${trajectory.problem.task}" has no such metric or reward part; use "tokens", "turns" or one of its metrics`,
    )
  }
  return value
}
