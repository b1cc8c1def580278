import { MyriadError } from '../../core/index.js'
import type { Group, Trajectory } from '../types.js'

/** Mean and standard deviation; the deviation of fewer than two values, and of equal ones, is exactly 0. */
export interface Moments {
  mean: number
  deviation: number
}

/**
 * Mean and standard deviation of numbers.
 *
 * @param values finite; none has mean 0
 * @param freedom 1 divides by n - 1 (Bessel's correction), 0 by n
 * @throws MyriadError 'numeric' on a value that is not finite
 * @example moments([1, 3], 0) // { mean: 2, deviation: 1 }
 */
export function moments(values: readonly number[], freedom: 0 | 1 = 1): Moments {
  const bad = values.find((value) => !Number.isFinite(value))
  if (bad !== undefined) throw new MyriadError('numeric', `statistics of ${bad}: every value must be finite`)
  const n = values.length
  if (n === 0) return { mean: 0, deviation: 0 }
  if (values.every((value) => value === values[0])) return { mean: values[0], deviation: 0 }
  const mean = values.reduce((sum, value) => sum + value / n, 0)
  // Scaled by the largest distance, so that squares of large rewards do not overflow.
  const scale = values.reduce((most, value) => Math.max(most, Math.abs(value - mean)), 0)
  const variance = values.reduce((sum, value) => sum + ((value - mean) / scale) ** 2, 0) / (n - freedom)
  return { mean, deviation: scale * Math.sqrt(variance) }
}

/** (value - mean) / (deviation + epsilon) of every value; all 0 where they are equal. */
export function standardize(values: readonly number[], epsilon: number, freedom: 0 | 1 = 1): number[] {
  const { mean, deviation } = moments(values, freedom)
  return values.map((value) => (deviation === 0 ? 0 : (value - mean) / (deviation + epsilon)))
}

/** One number per trajectory, on each of its sampled tokens and 0 elsewhere: [group][trajectory][tokens]. */
export function spread(groups: readonly Group[], values: readonly (readonly number[])[]): Float32Array[][] {
  return groups.map((group, g) => group.trajectories.map((trajectory, i) => onSampled(trajectory, values[g][i])))
}

export function onSampled({ mask }: Pick<Trajectory, 'mask'>, value: number): Float32Array {
  return Float32Array.from(mask, (sampled) => (sampled ? value : 0))
}

/** Groups with every reward replaced; `part` names the change in `rewardParts`. Its input is never changed. */
export function reward(
  groups: readonly Group[],
  part: string,
  change: (trajectory: Trajectory, group: number, index: number) => number,
): Group[] {
  return groups.map((group, g) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory, i) => {
      const changed = change(trajectory, g, i)
      if (!Number.isFinite(changed)) {
        throw new MyriadError('numeric', `${part}: the reward of trajectory ${i} of group ${g} became ${changed}`)
      }
      if (changed === trajectory.reward) return trajectory
      const rewardParts = { ...trajectory.rewardParts, [part]: changed - trajectory.reward }
      return { ...trajectory, reward: changed, rewardParts }
    }),
  }))
}
