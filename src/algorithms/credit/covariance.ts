import { z } from 'zod'
import { createRandom, deriveSeed } from '../../core/index.js'
import type { Loss, LossTokens } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective } from '../objective.js'
import { requireRange } from '../options.js'

/**
 * How each token's advantage and logprob go together: (A_t - mean A) (lp_t - mean lp), means over all tokens. Tokens where
 * it is large are those whose update lowers entropy most. Source: arXiv 2505.22617.
 */
export function covariances({ advantages, logprobs }: Pick<LossTokens, 'advantages' | 'logprobs'>): Float64Array {
  // Equal values have exactly no covariance.
  const meanOf = (values: Float64Array): number =>
    values.every((value) => value === values[0])
      ? values[0]
      : values.reduce((sum, value) => sum + value / values.length, 0)
  const [advantage, logprob] = [meanOf(advantages), meanOf(logprobs)]
  return advantages.map((value, t) => (value - advantage) * (logprobs[t] - logprob))
}

export interface ClipCovOptions {
  /** Share of the tokens that are dropped, at least one (2e-4). */
  ratio?: number
  /** Only those whose covariance lies between (1 and 5). */
  lower?: number
  upper?: number
  clipLow?: number
  clipHigh?: number
  /** Of the choice among candidates; the batch's own old logprobs go into it too. */
  seed?: number
}

/**
 * The clipped loss without some tokens of high covariance: of those that the clip leaves and whose covariance lies in
 * (lower, upper), max(1, floor(ratio N)) chosen at random have loss and gradient 0. Source: Clip-Cov, arXiv 2505.22617.
 */
export function clipCovLoss(options: ClipCovOptions = {}): Loss {
  const { ratio: share = 2e-4, lower = 1, upper = 5, clipLow = 0.2, clipHigh = 0.2, seed = 0 } = options
  requireRange('lower', lower, 'upper', upper)
  return {
    name: 'clip-cov',
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, advantages, weights } = tokens
      const count = logprobs.length
      const gradient = new Float64Array(count)
      if (count === 0) return { value: 0, gradient, metrics: { clipFraction: 0, dropped: 0 } }
      const covariance = covariances(tokens)
      const ratios = logprobs.map((logprob, t) => clampedExp(logprob - oldLogprobs[t]).value)
      const isClipped = (t: number): boolean =>
        (advantages[t] > 0 && ratios[t] > 1 + clipHigh) || (advantages[t] < 0 && ratios[t] < 1 - clipLow)
      const candidates = [...covariance.keys()].filter(
        (t) => covariance[t] > lower && covariance[t] < upper && !isClipped(t),
      )
      const random = createRandom(deriveSeed(seed, 'clip-cov', count, ...oldLogprobs.slice(0, 16)))
      const dropped = new Set(random.shuffle(candidates).slice(0, Math.max(1, Math.floor(share * count))))
      let [value, clipped] = [0, 0]
      for (let t = 0; t < count; t++) {
        if (dropped.has(t)) continue
        const bounded = Math.min(Math.max(ratios[t], 1 - clipLow), 1 + clipHigh)
        value -= weights[t] * Math.min(ratios[t] * advantages[t], bounded * advantages[t])
        if (isClipped(t)) clipped++
        else gradient[t] = -weights[t] * clampedExp(logprobs[t] - oldLogprobs[t]).slope * advantages[t]
      }
      return { value, gradient, metrics: { clipFraction: clipped / count, dropped: dropped.size / count } }
    },
  }
}

/**
 * The ratio loss without clipping, with a penalty on |lp - olp| for the max(1, floor(ratio N)) tokens of highest covariance:
 *
 *     l = -r A + k |lp - olp| on those, -r A on the others;   d/dlp = -r A + k sign(lp - olp)
 *
 * At the first update of a batch, where lp = olp, the penalty has no gradient. Source: KL-Cov, arXiv 2505.22617.
 */
export function klCovLoss({
  ratio: share = 2e-4,
  coefficient = 1,
}: { ratio?: number; coefficient?: number } = {}): Loss {
  return {
    name: 'kl-cov',
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, advantages, weights } = tokens
      const count = logprobs.length
      const gradient = new Float64Array(count)
      const covariance = covariances(tokens)
      const chosen = new Set(
        [...covariance.keys()]
          .sort((a, b) => covariance[b] - covariance[a])
          .slice(0, Math.max(1, Math.floor(share * count))),
      )
      let [value, distance] = [0, 0]
      for (let t = 0; t < count; t++) {
        const difference = logprobs[t] - oldLogprobs[t]
        const ratio = clampedExp(difference)
        const k = chosen.has(t) ? coefficient : 0
        value += weights[t] * (k * Math.abs(difference) - ratio.value * advantages[t])
        gradient[t] = weights[t] * (k * Math.sign(difference) - ratio.slope * advantages[t])
        distance += Math.abs(difference) / count
      }
      return { value, gradient, metrics: { absoluteKl: distance } }
    },
  }
}

const clipCovOptions = {
  ratio: z.number().positive().max(1).default(2e-4),
  lower: z.number().default(1),
  upper: z.number().default(5),
  clipLow: z.number().min(0).default(1),
  clipHigh: z.number().min(0).default(1),
  seed: z.number().int().default(0),
}

const klCovOptions = {
  ratio: z.number().positive().max(1).default(2e-3),
  coefficient: z.number().min(0).default(1),
}

const about = {
  family: 'credit',
  reference: 'arXiv 2505.22617, verl',
  standing: 'source',
  rows: [],
} as const

export const clipCovPart = objective({
  ...about,
  kind: 'loss',
  name: 'clip-cov',
  summary: 'The clipped loss, a few random tokens of high covariance between advantage and logprob left out.',
  formula: 'Cov_t = (A_t - mean A)(lp_t - mean lp);  l_t = 0 for random t with lower < Cov_t < upper, else clipped',
  reference: `${about.reference}. The choice is by a hash of the batch in place of a global generator`,
  use: 'Entropy that falls too fast. At 32B the paper sets both clip ranges to 1 (the default here).',
  options: z.strictObject(clipCovOptions),
  make: clipCovLoss,
})

export const klCovPart = objective({
  ...about,
  kind: 'loss',
  name: 'kl-cov',
  summary: 'No clip; tokens of highest covariance between advantage and logprob are held near the old policy.',
  formula: 'l_t = -r A + k |lp - olp| for the top share by Cov_t, else -r A',
  use: 'Entropy that falls too fast. It acts from the second optimizer step of a batch on.',
  options: z.strictObject(klCovOptions),
  make: klCovLoss,
})

const { klCoefficient: _divergence, clipLow: _low, clipHigh: _high, ...plainOptions } = groupMethodOptions

export const clipCov = objective({
  ...clipCovPart,
  kind: 'method',
  name: 'clip-cov-grpo',
  options: z.strictObject({ ...plainOptions, ...clipCovOptions }),
  make: (options) => groupMethod('clip-cov-grpo', { ...options, klCoefficient: 0 }, { loss: clipCovLoss(options) }),
})

export const klCov = objective({
  ...klCovPart,
  kind: 'method',
  name: 'kl-cov-grpo',
  options: z.strictObject({ ...plainOptions, ...klCovOptions }),
  make: (options) =>
    groupMethod('kl-cov-grpo', { ...options, klCoefficient: 0, clipLow: 0, clipHigh: 0 }, { loss: klCovLoss(options) }),
})
