import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { logSoftmax, requireFinite, type Row, type ValueLoss } from './rows.js'

/** Evenly spaced values from low to high, both inclusive: [count]. */
export function supportOf(low: number, high: number, count: number): Float64Array {
  if (!(high > low && Number.isInteger(count) && count >= 2))
    throw new MyriadError('usage', `a support of ${count} values from ${low} to ${high} is none`)
  return Float64Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1))
}

/** Mean of a distribution over a support. */
export function expectationOf(probabilities: Row, support: Row): number {
  return Array.from(probabilities).reduce((sum, probability, i) => sum + probability * support[i], 0)
}

/**
 * The distribution on a rising support with the mean `value`: its two neighbours share it. Values beyond the ends go to them.
 *
 * @example twoHot(0.25, [0, 1]) // [0.75, 0.25]
 */
export function twoHot(value: number, support: Row): Float64Array {
  requireFinite('a value to project', value)
  const last = support.length - 1
  const target = new Float64Array(support.length)
  const clipped = Math.min(Math.max(value, support[0]), support[last])
  let k = 0
  while (k < last - 1 && support[k + 1] <= clipped) k++
  const share = (clipped - support[k]) / (support[k + 1] - support[k])
  target[k] = 1 - share
  target[k + 1] = share
  return target
}

/**
 * The distribution of r + discount z, z distributed on the support, projected back onto it: every atom is moved, clipped to
 * the ends and shared by its two neighbours.
 *
 * Source: C51, arXiv 1707.06887.
 *
 * @param probabilities of the next state's action: [atoms]
 * @param support rising: [atoms]
 * @example categoricalTarget([0.5, 0.5], [0, 1], 0.5, 0.5) // [0.25, 0.75]
 */
export function categoricalTarget(probabilities: Row, support: Row, reward: number, discount: number): Float64Array {
  const target = new Float64Array(support.length)
  for (let j = 0; j < support.length; j++) {
    const moved = twoHot(reward + discount * support[j], support)
    for (let k = 0; k < support.length; k++) target[k] += probabilities[j] * moved[k]
  }
  return target
}

/**
 * HL-Gauss: a Gaussian about `value`, cut into the bins between edges and normalized over them:
 * p_i = [Phi((e_{i+1} - y) / sigma) - Phi((e_i - y) / sigma)] / Z. Values beyond the ends are clipped first.
 *
 * Source: arXiv 2403.03950.
 *
 * @param edges rising: [bins + 1]
 * @param sigma usually 0.75 of the width of a bin
 * @returns [bins]; the value they stand for is the mean of the bins' centres
 */
export function gaussianHistogram(value: number, edges: Row, sigma: number): Float64Array {
  if (!(sigma > 0)) throw new MyriadError('usage', `sigma is ${sigma}; it must be positive`)
  requireFinite('a value to project', value)
  const clipped = Math.min(Math.max(value, edges[0]), edges[edges.length - 1])
  const cumulative = Array.from(edges, (edge) => erf((edge - clipped) / (Math.SQRT2 * sigma)))
  const total = cumulative.at(-1)! - cumulative[0]
  return Float64Array.from({ length: edges.length - 1 }, (_, i) => (cumulative[i + 1] - cumulative[i]) / total)
}

/** The error function, to about 1e-15: a series of positive terms near 0, a continued fraction beyond 3. */
export function erf(x: number): number {
  const z = Math.abs(x)
  if (z > 6) return Math.sign(x)
  const scale = Math.exp(-z * z) / Math.sqrt(Math.PI)
  if (z > 3) {
    let fraction = z
    for (let k = 60; k >= 1; k--) fraction = z + k / 2 / fraction
    return Math.sign(x) * (1 - scale / fraction)
  }
  let [term, sum] = [z, z]
  for (let n = 1; term > 1e-17 * sum; n++) {
    term *= (2 * z * z) / (2 * n + 1)
    sum += term
  }
  return Math.sign(x) * 2 * scale * sum
}

/**
 * Cross-entropy of logits against a constant distribution, -sum_k p_k log softmax_k; d / d logit = softmax - p.
 *
 * @param target sums to 1: [bins]
 */
export function distributionLoss(logits: Row, target: Row): ValueLoss {
  const logprobs = logSoftmax(logits)
  const value = logprobs.reduce((sum, logprob, k) => sum - (target[k] === 0 ? 0 : target[k] * logprob), 0)
  requireFinite('the loss of a distribution', value)
  return { value, gradient: logprobs.map((logprob, k) => Math.exp(logprob) - target[k]) }
}

export interface ValueDistributionOptions {
  target: 'c51' | 'two-hot' | 'hl-gauss'
  low: number
  high: number
  /** Atoms of the support; bins of 'hl-gauss'. */
  bins: number
  /** Sigma of 'hl-gauss' in widths of a bin. */
  width: number
}

/** How values are told as distributions: the support, the value of one, the target of a step, and the loss. */
export interface ValueDistribution {
  support: Float64Array
  value(probabilities: Row): number
  /** Of a reward and the distribution at the next state; its mean is what two-hot and HL-Gauss project. */
  target(reward: number, discount: number, next: Row): Float64Array
  loss(logits: Row, target: Row): ValueLoss
}

/**
 * Values as distributions, by one of three targets.
 *
 * @example valueDistribution({ target: 'hl-gauss', low: 0, high: 1, bins: 51, width: 0.75 }).target(0.5, 0, [])
 */
export function valueDistribution({ target, low, high, bins, width }: ValueDistributionOptions): ValueDistribution {
  const step = (high - low) / bins
  const edges = supportOf(low, high, bins + 1)
  const support = target === 'hl-gauss' ? edges.slice(0, -1).map((edge) => edge + step / 2) : supportOf(low, high, bins)
  return {
    support,
    value: (probabilities) => expectationOf(probabilities, support),
    target: (reward, discount, next) => {
      if (target === 'c51') return categoricalTarget(next, support, reward, discount)
      const value = reward + (discount === 0 ? 0 : discount * expectationOf(next, support))
      return target === 'two-hot' ? twoHot(value, support) : gaussianHistogram(value, edges, width * step)
    },
    loss: distributionLoss,
  }
}

export const distributional = objective({
  kind: 'function',
  name: 'distributional-value',
  family: 'value-based',
  summary: 'Values as distributions over bins, learnt by cross-entropy: C51, two-hot or HL-Gauss targets.',
  formula:
    'C51: p_k = sum_j clip(1 - |clip(r + gamma d z_j) - z_k| / dz, 0, 1) p_j;  two-hot;  HL-Gauss: Phi differences;  dlogit = softmax - p',
  reference: 'C51, arXiv 1707.06887; HL-Gauss and two-hot, arXiv 2403.03950; ours: sigma 0.75 of a bin',
  standing: 'source',
  use: 'In place of squared errors for large networks and noisy returns. The range must hold the returns.',
  rows: ['B008'],
  options: z.strictObject({
    target: z.enum(['c51', 'two-hot', 'hl-gauss']).default('hl-gauss'),
    low: z.number().default(0),
    high: z.number().default(1),
    /** Atoms of the support; bins of 'hl-gauss'. */
    bins: z.number().int().min(2).default(51),
    /** Sigma of 'hl-gauss' in widths of a bin. */
    width: z.number().positive().default(0.75),
  }),
  make: valueDistribution,
})
