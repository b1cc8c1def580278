import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { objective } from '../objective.js'
import { rewardsLessKl, whitenTokens } from './returns.js'

/**
 * Generalized advantage estimation over the trainable tokens of one sequence. Tokens between them, such as what an
 * environment said, are passed over: the value after a token is that at the next trainable one, 0 after the last (also where
 * a limit cut the reply off).
 *
 *     delta_t = r_t + gamma V_next - V_t;   A_t = delta_t + gamma lambda A_next;   Ret_t = A_t + V_t
 *
 * Sources: arXiv 1506.02438; skipping as in verl.
 *
 * @param rewards [tokens] @param values of the state before each token [tokens]
 * @returns 0 where the mask is 0: [tokens]
 * @example gae([0, 1], [0.5, 0.5], Uint8Array.of(1, 1), { gamma: 1, lambda: 1 }).returns // [1, 1]
 */
export function gae(
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  mask: Uint8Array,
  { gamma, lambda }: { gamma: number; lambda: number },
): { advantages: Float64Array; returns: Float64Array } {
  const advantages = new Float64Array(mask.length)
  const returns = new Float64Array(mask.length)
  let [nextValue, nextAdvantage] = [0, 0]
  for (let t = mask.length - 1; t >= 0; t--) {
    if (!mask[t]) continue
    nextAdvantage = rewards[t] + gamma * nextValue - values[t] + gamma * lambda * nextAdvantage
    nextValue = values[t]
    advantages[t] = nextAdvantage
    returns[t] = nextAdvantage + values[t]
  }
  return { advantages, returns }
}

export interface ValueAdvantageOptions {
  gamma: number
  /** Of the policy's advantages; of a sequence's trainable tokens. */
  lambda: number | ((length: number) => number)
  /** Of the head's targets; as `lambda` unless given. */
  criticLambda?: number
  klInReward: number
  /** Make advantages have mean 0 and variance 1 over all trainable tokens. */
  whiten: boolean
}

/**
 * From scored sequences whose `advantages` are rewards to sequences with advantages and returns by the value head.
 *
 * @throws MyriadError 'usage' where a sequence holds no values
 */
export function valueAdvantages(sequences: readonly TrainSequence[], options: ValueAdvantageOptions): TrainSequence[] {
  const { gamma, lambda, klInReward, whiten, criticLambda } = options
  const estimates = sequences.map((sequence) => {
    const { mask, values } = sequence
    if (!values) throw new MyriadError('usage', 'advantages by a value head need values (needs.values)')
    const rewards = rewardsLessKl(sequence, klInReward)
    const length = mask.reduce((sum, trained) => sum + trained, 0)
    const own = typeof lambda === 'number' ? lambda : lambda(length)
    const { advantages, returns } = gae(rewards, values, mask, { gamma, lambda: own })
    if (criticLambda === undefined || criticLambda === own) return { advantages, returns }
    return { advantages, returns: gae(rewards, values, mask, { gamma, lambda: criticLambda }).returns }
  })
  const masks = sequences.map(({ mask }) => mask)
  const white = whiten
    ? whitenTokens(
        estimates.map(({ advantages }) => advantages),
        masks,
      )
    : estimates.map(({ advantages }) => Float32Array.from(advantages))
  return sequences.map((sequence, i) => ({
    ...sequence,
    advantages: white[i],
    returns: Float32Array.from(estimates[i].returns),
  }))
}

/**
 * VAPO's lambda for a reply of so many tokens, 1 - 1 / (alpha length), held within [0, 1].
 *
 * Source: VAPO, arXiv 2504.05118.
 *
 * @example lengthAdaptiveLambda(0.05, 1000) // 0.98
 */
export function lengthAdaptiveLambda(alpha: number, length: number): number {
  return length <= 0 ? 0 : Math.min(1, Math.max(0, 1 - 1 / (alpha * length)))
}

export const gaePart = objective({
  kind: 'function',
  name: 'generalized-advantage-estimation',
  family: 'policy-gradient',
  summary: 'Advantages and returns of the trainable tokens of a sequence from rewards and values.',
  formula: 'delta_t = r_t + gamma V_next - V_t;  A_t = delta_t + gamma lambda A_next;  Ret_t = A_t + V_t',
  reference: 'GAE, arXiv 1506.02438; observation tokens skipped as in verl',
  standing: 'source',
  use: 'In a method of your own, after scoring. `ppo` and `vapo` do it in refine.',
  rows: [],
  options: z.strictObject({
    gamma: z.number().min(0).max(1).default(1),
    lambda: z.number().min(0).max(1).default(0.95),
  }),
  make: (options) => (rewards: ArrayLike<number>, values: ArrayLike<number>, mask: Uint8Array) =>
    gae(rewards, values, mask, options),
})
