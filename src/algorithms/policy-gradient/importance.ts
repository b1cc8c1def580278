import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { clampedExp, clippedLoss } from '../clipped.js'
import { objective, type Selection } from '../objective.js'
import { requireRange } from '../options.js'
import { clipOptions } from './clip.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'

/** What a ratio is of: each token, the product over a sequence, or the geometric mean of it. */
export const RATIO_LEVELS = ['token', 'sequence', 'geometric'] as const
export type RatioLevel = (typeof RATIO_LEVELS)[number]

/**
 * Ratios of the trainer's probabilities to the sampler's, exp(olp - blp), before the first update: what numbers and staleness
 * made of one policy. Log-ratios are clamped to [-20, 20]. [tokens], 1 where the mask is 0
 *
 * @throws MyriadError 'usage' where the sequence was not scored again
 */
export function mismatchRatios(sequence: TrainSequence, level: RatioLevel): Float64Array {
  const { mask, logprobs, oldLogprobs } = sequence
  if (!oldLogprobs)
    throw new MyriadError('usage', 'importance weights against the sampler need oldLogprobs (needs.old)')
  const ratios = new Float64Array(mask.length).fill(1)
  let [sum, count] = [0, 0]
  mask.forEach((trained, t) => {
    if (!trained) return
    sum += oldLogprobs[t] - logprobs[t]
    count++
    ratios[t] = clampedExp(oldLogprobs[t] - logprobs[t]).value
  })
  if (level === 'token') return ratios
  const whole = clampedExp(level === 'sequence' ? sum : sum / Math.max(1, count)).value
  return ratios.map((ratio, t) => (mask[t] ? whole : ratio))
}

/** A selection that makes a factor of each ratio. */
function byRatio(level: RatioLevel, factor: (ratio: number) => number): Selection {
  return (sequences) => sequences.map((sequence) => Float32Array.from(mismatchRatios(sequence, level), factor))
}

/**
 * Truncated importance sampling: the weight clip(ratio, low, high).
 *
 * Source: fengyao.notion.site/off-policy-rl; verl, SkyRL, TRL.
 *
 * @example compose({ ..., selections: [{ name: 'tis', run: truncatedImportance({ level: 'token', low: 0, high: 2 }) }] })
 */
export function truncatedImportance(options: { level: RatioLevel; low: number; high: number }): Selection {
  requireRange('low', options.low, 'high', options.high)
  return byRatio(options.level, (ratio) => Math.min(Math.max(ratio, options.low), options.high))
}

/**
 * Masked importance sampling: the ratio (or 1, unless `weighted`) within [low, high], else 0. Silenced tokens stay in the
 * denominator of the mean.
 */
export function maskedImportance(options: {
  level: RatioLevel
  low: number
  high: number
  weighted: boolean
}): Selection {
  requireRange('low', options.low, 'high', options.high)
  return byRatio(options.level, (ratio) => {
    if (ratio < options.low || ratio > options.high) return 0
    return options.weighted ? ratio : 1
  })
}

const bounds = (level: RatioLevel, low: number, high: number) => ({
  /** What the ratio is of. */
  level: z.enum(RATIO_LEVELS).default(level),
  /** Least ratio. */
  low: z.number().min(0).default(low),
  /** Largest ratio. */
  high: z.number().positive().default(high),
})

const weighted = {
  /** Keep the ratio as a weight inside the bounds. */
  weighted: z.boolean().default(true),
}

const tisOptions = bounds('token', 0, 2)
const misOptions = { ...bounds('sequence', 0, 3), ...weighted }
const icepopOptions = { ...bounds('token', 0.5, 5), ...weighted }

const common = { ...groupOptions, ...clipOptions, ...klOptions, ...aggregationOptions('token-mean') }

type Common = z.output<z.ZodObject<typeof common>>

function corrected(name: string, options: Common, part: string, run: Selection) {
  return method(name, options, {
    advantage: groupAdvantages(options),
    selections: [{ name: part, run }],
    loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    needs: { old: true },
  })
}

const selection = {
  kind: 'selection' as const,
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  needs: { old: true },
}

export const truncatedImportancePart = objective({
  ...selection,
  name: 'truncated-importance',
  summary: 'Weights every token by the truncated ratio of trainer to sampler.',
  formula: 'w = clip(exp(olp - blp), low, high)',
  reference: 'fengyao.notion.site/off-policy-rl; verl, SkyRL, TRL',
  use: 'A sampler in other precision, or a stale one. The divergence term of the loss is weighted too.',
  rows: ['B015'],
  options: z.strictObject(tisOptions),
  make: truncatedImportance,
})

export const maskedImportancePart = objective({
  ...selection,
  name: 'masked-importance',
  summary: 'Silences tokens, or whole sequences, whose ratio of trainer to sampler is out of bounds.',
  formula: 'w = ratio if low <= ratio <= high else 0',
  reference: 'TRL vllm_importance_sampling_mode "sequence_mask"; verl; SkyRL',
  use: 'Where outliers are broken samples. The product over long replies leaves any bounds: take "geometric" there.',
  rows: [],
  options: z.strictObject(misOptions),
  make: maskedImportance,
})

export const icepopPart = objective({
  ...selection,
  name: 'icepop-mask',
  summary: 'Silences tokens whose ratio of trainer to sampler is out of two bounds, and weights the others by it.',
  formula: 'w_t = k if 0.5 <= k <= 5 else 0, k = exp(olp_t - blp_t)',
  reference: 'IcePop, Ring-1T, arXiv 2510.18855',
  use: 'Mixture-of-experts models, whose sampler and trainer route tokens differently.',
  rows: [],
  options: z.strictObject(icepopOptions),
  make: maskedImportance,
})

export const tis = objective({
  ...truncatedImportancePart,
  kind: 'method',
  name: 'tis',
  summary: 'GRPO with truncated importance weights of trainer to sampler.',
  options: z.strictObject({ ...common, ...tisOptions }),
  make: (options) => corrected('tis', options, 'truncated-importance', truncatedImportance(options)),
})

export const mis = objective({
  ...maskedImportancePart,
  kind: 'method',
  name: 'mis',
  summary: 'GRPO without the sequences whose ratio of trainer to sampler is too large.',
  options: z.strictObject({ ...common, ...misOptions }),
  make: (options) => corrected('mis', options, 'masked-importance', maskedImportance(options)),
})

export const icepop = objective({
  ...icepopPart,
  kind: 'method',
  name: 'icepop',
  summary: 'GRPO without the tokens on which trainer and sampler disagree.',
  options: z.strictObject({ ...common, ...icepopOptions }),
  make: (options) => corrected('icepop', options, 'icepop-mask', maskedImportance(options)),
})
