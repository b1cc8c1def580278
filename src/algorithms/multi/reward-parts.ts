import { MyriadError } from '../../core/index.js'
import type { Group, Trajectory } from '../types.js'

/** Weights of named reward parts; a part that is not named weighs 1. */
export type PartWeights = Readonly<Record<string, number>>

/**
 * Names of the reward parts that occur in the groups, sorted.
 *
 * @example partNames(groups) // ['format', 'task']
 */
export function partNames(groups: readonly Group[]): string[] {
  return [
    ...new Set(groups.flatMap(({ trajectories }) => trajectories.flatMap((t) => Object.keys(t.rewardParts)))),
  ].sort()
}

/** Parts to work on: those that are named, all where none is. Throws 'usage' where a named one occurs nowhere. */
export function chooseParts(groups: readonly Group[], named: readonly string[] | undefined): string[] {
  const present = partNames(groups)
  if (!named || named.length === 0) return present
  const absent = groups.length > 0 ? named.find((name) => !present.includes(name)) : undefined
  if (absent !== undefined) {
    throw new MyriadError(
      'usage',
      `no trajectory has a reward part "${absent}"; there are: ${present.join(', ') || 'none'}`,
    )
  }
  return [...named]
}

/** A trajectory's part; NaN where it has none. */
export function partOf(trajectory: Trajectory, name: string): number {
  return trajectory.rewardParts[name] ?? NaN
}
