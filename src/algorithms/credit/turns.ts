import { MyriadError } from '../../core/index.js'
import type { Trajectory } from '../types.js'

/** A turn: a run of sampled tokens. Ends are exclusive. */
export interface TurnSpan {
  start: number
  end: number
  /** Where the next turn starts, or the tokens end. */
  next: number
}

/**
 * Turns of an episode: runs of 1 in its mask.
 *
 * @example turnSpans(Uint8Array.of(0, 1, 1, 0, 1)) // [{ start: 1, end: 3, next: 4 }, { start: 4, end: 5, next: 5 }]
 */
export function turnSpans(mask: Uint8Array): TurnSpan[] {
  const spans: TurnSpan[] = []
  for (let t = 0; t < mask.length; t++) {
    if (!mask[t]) continue
    const start = t
    while (t < mask.length && mask[t]) t++
    if (spans.length > 0) spans[spans.length - 1].next = start
    spans.push({ start, end: t, next: mask.length })
  }
  return spans
}

/**
 * Rewards of turns, whose sum is the trajectory's reward: what turns earned on their way, and the rest at the last one.
 *
 * @returns [turns], empty where no token is trained on
 * @throws MyriadError 'usage' where the trajectory tells another number of turn rewards than it has turns
 * @example turnRewards(trajectory) // [0, 0, 1] where only the outcome pays
 */
export function turnRewards(trajectory: Trajectory): number[] {
  const turns = turnSpans(trajectory.mask).length
  if (turns === 0) return []
  const told = trajectory.turnRewards
  if (told && told.length !== turns) {
    throw new MyriadError('usage', `a trajectory of ${turns} turns tells ${told.length} turn rewards`)
  }
  const rewards = told ? [...told] : Array<number>(turns).fill(0)
  rewards[turns - 1] += trajectory.reward - rewards.reduce((sum, reward) => sum + reward, 0)
  return rewards
}

/** One number per turn, on each of its tokens: [tokens]. */
export function onTurns({ mask }: Pick<Trajectory, 'mask'>, values: readonly number[]): Float32Array {
  const row = new Float32Array(mask.length)
  turnSpans(mask).forEach(({ start, end }, k) => row.fill(values[k], start, end))
  return row
}

/**
 * Return of every step: G_k = r_k + gamma G_(k+1).
 *
 * @example discountedReturns([0, 0, 1], 0.5) // [0.25, 0.5, 1]
 */
export function discountedReturns(rewards: readonly number[], gamma: number): number[] {
  const returns = [...rewards]
  for (let k = returns.length - 2; k >= 0; k--) returns[k] += gamma * returns[k + 1]
  return returns
}
