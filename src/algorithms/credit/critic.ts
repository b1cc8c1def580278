import { z } from 'zod'
import { clippedLoss } from '../clipped.js'
import { compose } from '../compose.js'
import { moments } from '../multi/statistics.js'
import { clippedValueLoss } from '../policy-gradient/value-loss.js'
import { sumLosses } from '../sum-losses.js'
import type { AdvantageEstimator, Algorithm } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { MyriadError } from '../../core/index.js'

export interface GaeOptions {
  gamma: number
  lambda: number
  /** Lengths of the blocks that the steps are cut into: their sum is the number of steps. One each unless given. */
  sizes?: readonly number[]
}

/**
 * Generalized advantage estimation over blocks of steps: the value and the reward of a block are the means of its steps',
 *
 *     delta_k = r_k + gamma V_(k+1) - V_k,   A_k = delta_k + gamma lambda A_(k+1),   target = A_k + V_k
 *
 * with 0 behind the end. Every step of a block has the block's advantage and target. With blocks of one it is GAE
 * (arXiv 1506.02438); with one block, a bandit. Blocks: MA-RLHF, arXiv 2410.02743.
 *
 * @param rewards,values of sampled tokens alone: [steps]
 * @example blockGae([0, 1], [0.5, 0.5], { gamma: 1, lambda: 1 }) // advantages [0.5, 0.5], targets [1, 1]
 */
export function blockGae(
  rewards: readonly number[],
  values: readonly number[],
  { gamma, lambda, sizes = rewards.map(() => 1) }: GaeOptions,
): { advantages: number[]; targets: number[] } {
  const starts: number[] = []
  let length = 0
  for (const size of sizes) {
    starts.push(length)
    length += size
  }
  if (length !== rewards.length) throw new MyriadError('usage', `blocks of ${length} steps for ${rewards.length} steps`)
  const meanOf = (of: readonly number[], k: number): number =>
    of.slice(starts[k], starts[k] + sizes[k]).reduce((sum, value) => sum + value / sizes[k], 0)
  const advantages = [...rewards]
  const targets = [...rewards]
  let [nextValue, nextAdvantage] = [0, 0]
  for (let k = sizes.length - 1; k >= 0; k--) {
    const value = meanOf(values, k)
    const advantage = meanOf(rewards, k) + gamma * nextValue - value + gamma * lambda * nextAdvantage
    advantages.fill(advantage, starts[k], starts[k] + sizes[k])
    targets.fill(advantage + value, starts[k], starts[k] + sizes[k])
    ;[nextValue, nextAdvantage] = [value, advantage]
  }
  return { advantages, targets }
}

export const criticOptions = {
  gamma: z.number().min(0).max(1).default(1),
  lambda: z.number().min(0).max(1).default(0.95),
  /** Weight of the value loss. */
  valueCoefficient: z.number().min(0).default(0.5),
  /** The value may move so far from what it was before it is clipped. */
  valueClip: z.number().positive().default(0.2),
  /** beta of the reward -beta (logprob - reference logprob) of every token. */
  klReward: z.number().min(0).default(0),
  /** Advantages to mean 0 and deviation 1 over the step's tokens. */
  whiten: z.boolean().default(true),
  clipLow: z.number().min(0).default(0.2),
  clipHigh: z.number().min(0).default(0.2),
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  fixedLength: z.number().positive().optional(),
}

export type CriticOptions = z.output<z.ZodObject<typeof criticOptions>>

export interface CriticParts {
  /** Rewards of tokens, which stand in for advantages until values are known. */
  rewards: AdvantageEstimator
  /** Lengths of the blocks of so many sampled tokens, turns given by their lengths; one each unless given. */
  sizes?: (turns: readonly number[]) => number[]
  /** In place of the clipped loss. */
  loss?: Loss
}

/** PPO with a value head: `learn` puts the rewards of tokens in the place of advantages, `refine` makes GAE of them. */
export function criticMethod(name: string, options: CriticOptions, parts: CriticParts): Algorithm {
  const method = compose({
    name,
    advantage: parts.rewards,
    dynamicSampling: false,
    loss: sumLosses([
      { loss: parts.loss ?? clippedLoss(options) },
      { loss: clippedValueLoss(options.valueClip), coefficient: options.valueCoefficient },
    ]),
    aggregation: options.aggregation,
    fixedLength: options.fixedLength,
    needs: { values: true, old: true, ...(options.klReward > 0 ? { reference: 'initial' as const } : {}) },
  })
  return { ...method, refine: (sequences) => estimate(sequences, options, parts) }
}

function estimate(sequences: readonly TrainSequence[], options: CriticOptions, parts: CriticParts): TrainSequence[] {
  const estimated = sequences.map((sequence) => {
    const { mask, advantages: rewards, values, referenceLogprobs } = sequence
    if (!values) throw new MyriadError('usage', 'this method needs the values of a value head; score them first')
    const logprobs = sequence.oldLogprobs ?? sequence.logprobs
    const places = [...mask.keys()].filter((t) => mask[t])
    const turns = places.reduce<number[]>((lengths, t, k) => {
      if (k > 0 && places[k - 1] === t - 1) lengths[lengths.length - 1]++
      else lengths.push(1)
      return lengths
    }, [])
    const shaped = places.map((t) =>
      options.klReward > 0 && referenceLogprobs
        ? rewards[t] - options.klReward * (logprobs[t] - referenceLogprobs[t])
        : rewards[t],
    )
    const { advantages, targets } = blockGae(
      shaped,
      places.map((t) => values[t]),
      { ...options, sizes: parts.sizes?.(turns) },
    )
    return { sequence, places, advantages, targets }
  })
  const { mean, deviation } = moments(estimated.flatMap(({ advantages }) => advantages))
  const whiten = (value: number): number => (options.whiten ? (value - mean) / (deviation + 1e-8) : value)
  return estimated.map(({ sequence, places, advantages, targets }) => {
    const [rows, returns] = [new Float32Array(sequence.mask.length), new Float32Array(sequence.mask.length)]
    places.forEach((t, k) => {
      rows[t] = whiten(advantages[k])
      returns[t] = targets[k]
    })
    return { ...sequence, advantages: rows, returns }
  })
}
