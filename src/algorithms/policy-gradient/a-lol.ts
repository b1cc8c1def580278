import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { objective } from '../objective.js'
import type { Algorithm } from '../types.js'
import { perGroup, plainRewards } from './baselines.js'
import { klLoss } from './kl.js'
import { method } from './method-options.js'
import { meanOf, spansOf, weightedLikelihood } from './token-loss.js'
import { clippedValueLoss } from './value-loss.js'

export interface LolOptions {
  /** Importance weight against the reference: of the whole reply, of each token, or none. */
  ratio: 'sequence' | 'token' | 'none'
  /** Weights are held within [1 - clip, 1 + clip]. */
  clip: number
}

/**
 * Advantage-leftover-lunch: the likelihood of whole replies weighted by their advantage and by a clipped importance weight
 * against the reference, which is not differentiated:
 *
 *     l_it = -sg[clip(rho, 1 - clip, 1 + clip)] A_i lp_it;   rho = exp(sum_t (lp - rlp)), exp(lp_t - rlp_t), or 1
 *
 * Source: A-LoL, arXiv 2305.14718, with aggregation 'sequence-mean-token-sum' (clip 0.9).
 *
 * @throws MyriadError 'usage' from `evaluate` where a ratio lacks reference logprobs
 */
export function lolLoss({ ratio, clip }: LolOptions): Loss {
  return weightedLikelihood('a-lol', (tokens) => {
    const { logprobs, referenceLogprobs } = tokens
    if (ratio === 'none' || logprobs.length === 0) return { factors: new Float64Array(logprobs.length).fill(1) }
    if (!referenceLogprobs) throw new MyriadError('usage', 'A-LoL with a ratio needs reference logprobs')
    const logRatios = logprobs.map((logprob, t) => logprob - referenceLogprobs[t])
    if (ratio === 'sequence')
      for (const { start, end } of spansOf(tokens)) {
        const sum = logRatios.subarray(start, end).reduce((total, d) => total + d, 0)
        logRatios.fill(sum, start, end)
      }
    const factors = logRatios.map((d) => Math.min(Math.max(clampedExp(d).value, 1 - clip), 1 + clip))
    return { factors, metrics: { ratio: meanOf(factors) } }
  })
}

/**
 * Advantages of scored sequences by the value head's word on the prompt: A_i = max(0, R_i - V(x)), V read at the first
 * trainable token. The head learns R at every token.
 *
 * @throws MyriadError 'usage' where a sequence holds no values or no info
 */
export function positiveAdvantages(sequences: readonly TrainSequence[]): TrainSequence[] {
  return sequences.map((sequence) => {
    const { info, values, mask } = sequence
    if (!info || !values) throw new MyriadError('usage', 'A-LoL with a value baseline needs values and info')
    const advantage = Math.max(0, info.reward - values[Math.max(0, mask.indexOf(1))])
    const filled = (value: number): Float32Array => Float32Array.from(mask, (trained) => (trained ? value : 0))
    return { ...sequence, advantages: filled(advantage), returns: filled(info.reward) }
  })
}

const clip = {
  /** Importance weights are held within [1 - clip, 1 + clip]. */
  clip: z.number().min(0).max(1).default(0.9),
}

const baseline = {
  /** V(x): the value head at the end of the prompt, or the mean reward of the group. */
  baseline: z.enum(['value', 'group-mean']).default('value'),
  /** Weight of the value loss. */
  valueCoefficient: z.number().min(0).default(0.1),
}

interface Baseline {
  baseline: 'value' | 'group-mean'
  valueCoefficient: number
}

const groupMean = perGroup((rewards) => {
  const mean = meanOf(rewards)
  return rewards.map((reward) => Math.max(0, reward - mean))
})

function lol(name: string, loss: LolOptions, options: Baseline | null, klCoefficient = 0): Algorithm {
  const byValue = options?.baseline === 'value'
  const algorithm = method(
    name,
    { aggregation: 'sequence-mean-token-sum' },
    {
      advantage: options?.baseline === 'group-mean' ? groupMean : plainRewards,
      dynamicSampling: options?.baseline === 'group-mean',
      loss: lolLoss(loss),
      regularizers: [
        ...(klCoefficient > 0 ? [{ loss: klLoss('k1'), coefficient: klCoefficient }] : []),
        ...(byValue ? [{ loss: clippedValueLoss(null), coefficient: options.valueCoefficient }] : []),
      ],
      needs: {
        ...(loss.ratio !== 'none' || klCoefficient > 0 ? { reference: 'initial' as const } : {}),
        ...(byValue ? { values: true } : {}),
      },
    },
  )
  return byValue ? { ...algorithm, refine: positiveAdvantages } : algorithm
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: ['B099'],
  reference:
    'A-LoL, arXiv 2305.14718; there the head is trained first and replies are a data set, here it learns beside on samples',
}

export const lolPart = objective({
  ...about,
  kind: 'loss',
  name: 'a-lol-loss',
  summary: 'Likelihood of whole replies with clipped importance weights against the reference.',
  formula: 'l = -sg[clip(rho, 1 - clip, 1 + clip)] A lp',
  use: 'Advantages that are not negative.',
  needs: { reference: 'initial' },
  options: z.strictObject({ ratio: z.enum(['sequence', 'token', 'none']).default('sequence'), ...clip }),
  make: lolLoss,
})

export const rLol = objective({
  ...about,
  kind: 'method',
  name: 'r-lol',
  summary: 'Likelihood of replies weighted by reward and importance.',
  formula: 'L = mean_i R_i clip(rho_i) NLL_i',
  use: 'Rewards that are never negative. a-lol is better where a baseline is to be had.',
  options: z.strictObject(clip),
  make: (options) => lol('r-lol', { ratio: 'sequence', ...options }, null),
})

export const aLol = objective({
  ...about,
  kind: 'method',
  name: 'a-lol',
  summary: 'Likelihood of better-than-expected replies weighted by advantage and importance.',
  formula: 'L = mean_i max(0, R_i - V(x)) clip(rho_i) NLL_i, rho_i = exp(S - Sref)',
  use: 'Noisy data: what is worse than expected is not learnt from, nor pushed down.',
  options: z.strictObject({ ...clip, ...baseline }),
  make: (options) => lol('a-lol', { ratio: 'sequence', clip: options.clip }, options),
})

export const aLolRefFree = objective({
  ...about,
  kind: 'method',
  name: 'a-lol-ref-free',
  summary: 'A-LoL without importance weights.',
  formula: 'L = mean_i max(0, R_i - V(x)) NLL_i',
  use: 'As a-lol without a reference to score.',
  options: z.strictObject(baseline),
  make: (options) => lol('a-lol-ref-free', { ratio: 'none', clip: 0 }, options),
})

export const aLolSeq = objective({
  ...about,
  kind: 'method',
  name: 'a-lol-seq',
  summary: 'A-LoL with an importance weight for each token.',
  formula: 'L = mean_i max(0, R_i - V(x)) sum_t clip(exp(lp_t - rlp_t)) (-lp_t)',
  use: 'Long replies, whose product of ratios is always at a bound.',
  options: z.strictObject({ ...clip, ...baseline }),
  make: (options) => lol('a-lol-seq', { ratio: 'token', clip: options.clip }, options),
})

export const aLolKl = objective({
  ...about,
  kind: 'method',
  name: 'a-lol-kl',
  summary: 'A-LoL with a divergence in place of importance weights.',
  formula: 'L = mean_i max(0, R_i - V(x)) NLL_i + klCoefficient mean_i (S_i - Sref_i)',
  use: 'To stay near the reference. Replies with an advantage below klCoefficient are pushed down.',
  options: z.strictObject({ ...baseline, klCoefficient: z.number().positive().default(0.1) }),
  make: (options) => lol('a-lol-kl', { ratio: 'none', clip: 0 }, options, options.klCoefficient),
})
