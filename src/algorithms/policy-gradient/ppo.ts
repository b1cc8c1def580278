import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { objective } from '../objective.js'
import { clipOptions, dualClipLoss } from './clip.js'
import { lengthAdaptiveLambda, valueAdvantages } from './gae.js'
import { klOptions } from './kl.js'
import { aggregationOptions } from './method-options.js'
import { refined, rewardOptions } from './reinforce-plus-plus.js'
import { spansOf } from './token-loss.js'
import { clippedValueLoss, weightedEntropy } from './value-loss.js'

/**
 * Likelihood of correct replies: mean over the tokens of sequences whose reward is above `threshold` of -lp. Token weights only
 * silence: tokens of weight 0 are not counted, nor sequences whose advantages are all 0 (as while the head warms up). No
 * correct reply: 0.
 *
 * Source: VAPO, arXiv 2504.05118, positive-example LM loss.
 */
export function positiveLikelihood(threshold: number): Loss {
  return {
    name: 'positive-likelihood',
    evaluate: (tokens) => {
      const { logprobs, weights, advantages, sequences } = tokens
      const gradient = new Float64Array(logprobs.length)
      const chosen: number[] = []
      for (const { start, end, segment } of spansOf(tokens)) {
        if (!((sequences?.[segment].reward ?? -Infinity) > threshold)) continue
        if (advantages.subarray(start, end).every((advantage) => advantage === 0)) continue
        for (let t = start; t < end; t++) if (weights[t] !== 0) chosen.push(t)
      }
      let value = 0
      for (const t of chosen) {
        gradient[t] = -1 / chosen.length
        value -= logprobs[t] / chosen.length
      }
      return { value, gradient, metrics: {} }
    },
  }
}

const valueOptions = {
  /** Clip of the value head about its last prediction; null: none. */
  valueClip: z.number().min(0).nullable().default(0.2),
  /** Weight of the value loss. */
  valueCoefficient: z.number().min(0).default(0.1),
  /** Steps at the start in which only the value head learns. */
  valueWarmup: z.int().min(0).default(0),
}

const silent = <S extends { advantages: Float32Array }>(sequences: readonly S[]): S[] =>
  sequences.map((sequence) => ({ ...sequence, advantages: new Float32Array(sequence.advantages.length) }))

export const ppo = objective({
  kind: 'method',
  name: 'ppo',
  family: 'policy-gradient',
  summary: 'Proximal policy optimization with a value head: GAE by token, clipped policy and value losses.',
  formula:
    'A = whiten(GAE(gamma, lambda));  l = -min(r A, clip(r) A) + valueCoefficient lv - entropyCoefficient H;  r_t -= klInReward (olp - rlp)',
  reference:
    'PPO, arXiv 1707.06347; GAE, arXiv 1506.02438; defaults of TRL 0.x PPO, observation tokens skipped as in verl',
  standing: 'source',
  use: 'Rewards along the way, or one sample a problem. Costs a value head; grpo is simpler where groups can be sampled.',
  rows: ['A017', 'A060', 'B091', 'B058', 'B046', 'B126', 'B140', 'B172', 'B103'],
  options: z.strictObject({
    ...rewardOptions,
    klInReward: rewardOptions.klInReward.default(0.05),
    lambda: z.number().min(0).max(1).default(0.95),
    whiten: z.boolean().default(true),
    ...clipOptions,
    /** Bound of the ratio for negative advantages; null: none. */
    dualClip: z.number().gt(1).nullable().default(null),
    ...valueOptions,
    entropyCoefficient: z.number().min(0).default(0),
    ...klOptions,
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    refined(
      'ppo',
      options,
      {
        loss: dualClipLoss(options),
        regularizers: [
          { loss: clippedValueLoss(options.valueClip), coefficient: options.valueCoefficient },
          ...(options.entropyCoefficient > 0
            ? [{ loss: weightedEntropy(), coefficient: -options.entropyCoefficient }]
            : []),
        ],
        needs: { values: true, old: true },
      },
      (sequences, step) => {
        const estimated = valueAdvantages(sequences, options)
        return step <= options.valueWarmup ? silent(estimated) : estimated
      },
    ),
})

export const positiveLikelihoodPart = objective({
  kind: 'loss',
  name: 'positive-likelihood',
  family: 'policy-gradient',
  summary: 'Likelihood of the replies that were correct.',
  formula: 'l = mean over tokens of replies with R > threshold of -lp',
  reference: 'VAPO, arXiv 2504.05118',
  standing: 'second-hand',
  use: 'As a regularizer of about 0.1 where correct replies are few.',
  rows: [],
  options: z.strictObject({ threshold: z.number().default(0) }),
  make: ({ threshold }) => positiveLikelihood(threshold),
})

export const vapo = objective({
  kind: 'method',
  name: 'vapo',
  family: 'policy-gradient',
  summary: 'PPO for long reasoning: decoupled and length-adaptive GAE, clip-higher, and likelihood of correct replies.',
  formula:
    'lambda = 1 - 1/(alpha T), head lambda 1;  l = -min(r A, clip(r, 0.8, 1.28) A) + mu mean_correct(-lp) + valueCoefficient lv',
  reference:
    'VAPO, arXiv 2504.05118; VC-PPO, arXiv 2503.01491. Its value pretraining is valueWarmup here, on the samples of the run',
  standing: 'second-hand',
  use: 'Long replies with verifiable answers. Below 1 / alpha tokens lambda is 0.',
  rows: [],
  options: z.strictObject({
    ...rewardOptions,
    /** Of the length-adaptive lambda. */
    alpha: z.number().positive().default(0.05),
    /** lambda of the value head's targets. */
    criticLambda: z.number().min(0).max(1).default(1),
    whiten: z.boolean().default(true),
    ...clipOptions,
    clipHigh: clipOptions.clipHigh.default(0.28),
    /** Weight of the likelihood of correct replies. */
    positiveCoefficient: z.number().min(0).default(0.1),
    /** A reply is correct if its reward is above this. */
    threshold: z.number().default(0),
    ...valueOptions,
    valueWarmup: valueOptions.valueWarmup.default(50),
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    refined(
      'vapo',
      options,
      {
        loss: dualClipLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
        regularizers: [
          { loss: clippedValueLoss(options.valueClip), coefficient: options.valueCoefficient },
          { loss: positiveLikelihood(options.threshold), coefficient: options.positiveCoefficient },
        ],
        needs: { values: true, old: true },
      },
      (sequences, step) => {
        const lambda = (length: number): number => lengthAdaptiveLambda(options.alpha, length)
        const estimated = valueAdvantages(sequences, { ...options, lambda })
        return step <= options.valueWarmup ? silent(estimated) : estimated
      },
    ),
})
