import { z } from 'zod'
import { MyriadError, type Json } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { FIRST_STEP } from '../compose.js'
import { objective } from '../objective.js'
import type { Algorithm } from '../types.js'
import { clipOptions } from './clip.js'
import { adaptKlCoefficient, KL_ESTIMATORS, klLoss } from './kl.js'
import { aggregationOptions, method } from './method-options.js'

/**
 * A loss whose weights are multiplied by a coefficient that each sequence brings with it (`info.coefficients`).
 *
 * @throws MyriadError 'usage' from `evaluate` where a sequence has none of that name
 * @example bySequence(klLoss('k3'), 'kl')
 */
export function bySequence(loss: Loss, name: string): Loss {
  return {
    ...loss,
    evaluate: (tokens) => {
      const weights = tokens.weights.map((weight, t) => {
        const coefficient = tokens.sequences?.[tokens.segments[t]]?.coefficients?.[name]
        if (coefficient === undefined)
          throw new MyriadError('usage', `"${loss.name}" needs the coefficient "${name}" of every sequence`)
        return weight * coefficient
      })
      return loss.evaluate({ ...tokens, weights })
    },
  }
}

/**
 * Mean of olp - rlp over the tokens of sequences: an estimate of the divergence before the update, which may be negative. 0
 * where there is no token.
 *
 * @throws MyriadError 'usage' where the reference was not scored
 * @example meanDivergence(sequences) // 0.03 nats a token
 */
export function meanDivergence(sequences: readonly TrainSequence[]): number {
  let [sum, count] = [0, 0]
  for (const { mask, oldLogprobs, logprobs, referenceLogprobs } of sequences) {
    if (!referenceLogprobs) throw new MyriadError('usage', 'the divergence needs reference logprobs; score them first')
    const own = oldLogprobs ?? logprobs
    mask.forEach((sampled, t) => {
      if (!sampled) return
      sum += own[t] - referenceLogprobs[t]
      count++
    })
  }
  return count === 0 ? 0 : sum / count
}

export const adaptiveKlGrpo = objective({
  kind: 'method',
  name: 'adaptive-kl-grpo',
  family: 'policy-gradient',
  summary: 'GRPO with a divergence from the initial model whose coefficient follows a target.',
  formula: 'L += beta sum c k3;  beta <- beta (1 + clip(kl / target - 1, -0.2, 0.2) n / horizon), kl = mean(olp - rlp)',
  reference:
    'arXiv 1909.08593; verl AdaptiveKLController. Ours: as a loss beside GRPO, once a step, n the sequences learnt from',
  standing: 'ours',
  use: 'Long runs that should stay near a divergence, in nats per token. Watch algorithm/klCoefficient.',
  rows: [],
  options: z.strictObject({
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    /** Added to the standard deviation. */
    epsilon: z.number().min(0).default(1e-6),
    ...clipOptions,
    /** In nats per token. */
    target: z.number().positive().default(0.1),
    horizon: z.number().positive().default(10000),
    /** Coefficient of the first step. */
    initial: z.number().positive().default(0.01),
    klEstimator: z.enum(KL_ESTIMATORS).default('k3'),
    ...aggregationOptions('token-mean'),
  }),
  make: (options): Algorithm => {
    const { aggregation, fixedLength, initial, klEstimator } = options
    const base = method(
      'adaptive-kl-grpo',
      { aggregation, fixedLength },
      {
        advantage: groupAdvantages(options),
        loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
        regularizers: [{ loss: bySequence(klLoss(klEstimator), 'kl'), coefficient: 1 }],
        needs: { reference: 'initial', old: true },
      },
    )
    const coefficientOf = (state: Json | undefined): number => (state as { kl: number } | null)?.kl ?? initial
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const kl = coefficientOf(context.state)
        const sequences = lesson.sequences.map((sequence) => ({
          ...sequence,
          info: { ...sequence.info!, coefficients: { ...sequence.info!.coefficients, kl } },
        }))
        return { ...lesson, sequences, state: { kl }, metrics: { ...lesson.metrics, klCoefficient: kl } }
      },
      remember: (state, sequences) => {
        const rate = { ...options, samples: sequences.length }
        return { kl: adaptKlCoefficient(coefficientOf(state), meanDivergence(sequences), rate) }
      },
    }
  },
})
