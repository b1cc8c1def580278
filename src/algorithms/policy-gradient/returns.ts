import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { turnRewards, turnSpans } from '../credit/turns.js'
import type { AdvantageEstimator } from '../types.js'
import { meanOf } from './token-loss.js'

/** Where rewards fall: at the end, at the end of each turn, or where a process reward put them. */
export const REWARD_SOURCES = ['outcome', 'turn', 'token'] as const
export type RewardSource = (typeof REWARD_SOURCES)[number]

/**
 * Rewards where they fall: [group][trajectory][token].
 *
 * - `outcome` the whole reward on the last sampled token
 * - `turn` what each turn earned on its last token, and the rest of the whole on the last of all
 * - `token` what a process reward gave each sampled token; the whole on the last one where there was none
 *
 * @throws MyriadError 'usage' from the estimator where a trajectory tells another number of turn rewards than it has turns
 * @example compose({ advantage: placedRewards('outcome'), ... }) // `refine` then makes advantages of them
 */
export function placedRewards(source: RewardSource): AdvantageEstimator {
  return (groups) =>
    groups.map(({ trajectories }) =>
      trajectories.map((trajectory) => {
        const { mask, reward, tokenRewards } = trajectory
        if (source === 'token' && tokenRewards) return tokenRewards.map((value, t) => (mask[t] ? value : 0))
        const rewards = new Float32Array(mask.length)
        if (source === 'turn') {
          const earned = turnRewards(trajectory)
          turnSpans(mask).forEach(({ end }, k) => (rewards[end - 1] = earned[k]))
          return rewards
        }
        const last = mask.lastIndexOf(1)
        if (last >= 0) rewards[last] = reward
        return rewards
      }),
    )
}

/**
 * Rewards less the divergence of each token from the reference: r_t - beta (olp_t - rlp_t) on trainable tokens.
 *
 * @throws MyriadError 'usage' without reference logprobs where beta is not 0
 */
export function rewardsLessKl(sequence: TrainSequence, coefficient: number): Float64Array {
  const { advantages, mask, referenceLogprobs } = sequence
  if (coefficient === 0) return Float64Array.from(advantages)
  if (!referenceLogprobs) throw new MyriadError('usage', 'a divergence in the reward needs reference logprobs')
  const old = sequence.oldLogprobs ?? sequence.logprobs
  return Float64Array.from(advantages, (reward, t) =>
    mask[t] ? reward - coefficient * (old[t] - referenceLogprobs[t]) : 0,
  )
}

/**
 * Sums of rewards from each trainable token on, G_t = r_t + gamma G_next. Other tokens, such as what an environment said, are
 * passed over and hold 0.
 *
 * @example returnsToGo([0, 0, 1], Uint8Array.of(1, 0, 1), 0.5) // [0.5, 0, 1]
 */
export function returnsToGo(rewards: ArrayLike<number>, mask: Uint8Array, gamma: number): Float64Array {
  const returns = new Float64Array(mask.length)
  for (let t = mask.length - 1, next = 0; t >= 0; t--) if (mask[t]) returns[t] = next = rewards[t] + gamma * next
  return returns
}

/**
 * Values of trainable tokens made to have mean 0 and variance 1 over the whole batch: (x - mean) / sqrt(var + 1e-8), with
 * Bessel's correction. Long sequences weigh more. One token alone, and equal values, answer 0.
 *
 * @param values [sequence][tokens]
 * @returns 0 where the mask is 0: [sequence][tokens]
 */
export function whitenTokens(values: readonly ArrayLike<number>[], masks: readonly Uint8Array[]): Float32Array[] {
  const kept = values.flatMap((row, i) => Array.from(row).filter((_, t) => masks[i][t]))
  const mean = meanOf(kept)
  const scale = kept.reduce((largest, value) => Math.max(largest, Math.abs(value - mean)), 0)
  // Scaled before squaring, so that huge values do not overflow.
  const squares = scale === 0 ? 0 : kept.reduce((sum, value) => sum + ((value - mean) / scale) ** 2, 0)
  const deviation = kept.length < 2 ? 0 : scale * Math.sqrt(squares / (kept.length - 1))
  const divisor = Math.hypot(deviation, 1e-4)
  return masks.map((mask, i) =>
    Float32Array.from(mask, (trainable, t) => (trainable ? (values[i][t] - mean) / divisor : 0)),
  )
}
