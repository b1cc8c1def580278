import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { clippedLoss } from '../clipped.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { rewardsOf, spread } from './baselines.js'
import { clipOptions } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf } from './token-loss.js'

// Lanczos's approximation with g = 7 and nine coefficients, exact to 15 digits for x > 0.
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** Natural logarithm of the gamma function, x at least 0.5. @example logGamma(5) // ln 24 */
export function logGamma(x: number): number {
  const z = x - 1
  const sum = LANCZOS.reduce((total, coefficient, i) => total + (i === 0 ? coefficient : coefficient / (z + i)), 0)
  const t = z + 7.5
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum)
}

/** Density of the beta distribution at p in [0, 1], alpha and beta at least 1. */
export function betaDensity(p: number, alpha: number, beta: number): number {
  const power = (base: number, exponent: number): number => (exponent === 0 ? 0 : exponent * Math.log(base))
  const logDensity =
    logGamma(alpha + beta) - logGamma(alpha) - logGamma(beta) + power(p, alpha - 1) + power(1 - p, beta - 1)
  return Math.exp(logDensity)
}

/**
 * Parameters of the beta distribution that normalizes advantages, from mean success rates of the prompts of a batch:
 * with mean mu and variance v (Bessel), a = (mu (1 - mu) / v - 1) mu, b likewise with 1 - mu; alpha = max(1, 1 + a / 3),
 * beta = max(1, 1 + b / 3). One prompt, or equal rates, have no variance: alpha = beta = 1.
 *
 * Source: BNPO, arXiv 2506.02864. Of equal rates nothing is published; 1 (no normalization) is decided here.
 */
export function betaParameters(rates: readonly number[]): { alpha: number; beta: number } {
  const mu = meanOf(rates)
  const variance = rates.length < 2 ? 0 : rates.reduce((sum, rate) => sum + (rate - mu) ** 2, 0) / (rates.length - 1)
  // Rounding leaves about 1e-17 of a variance of equal rates.
  if (variance < 1e-12) return { alpha: 1, beta: 1 }
  const total = (mu * (1 - mu)) / variance - 1
  return { alpha: Math.max(1, 1 + (total * mu) / 3), beta: Math.max(1, 1 + (total * (1 - mu)) / 3) }
}

/**
 * Beta normalization: A_i = (R_i - p) / Beta(p; alpha, beta), p the mean reward of the group and alpha, beta those of
 * `betaParameters` over the batch; 1 / density at most 1e6. Rewards are mapped from [low, high] to [0, 1] and clipped to it.
 * alpha = beta = 1 is REINFORCE with a group baseline; alpha = beta = 3/2 is GRPO but for a constant.
 *
 * @throws MyriadError 'usage' unless low is below high
 */
export function betaNormalized(options: { low: number; high: number }): AdvantageEstimator {
  const { low, high } = options
  if (!(low < high))
    throw new MyriadError(
      'usage',
      `low is ${low} and high ${high}: the reward of failure must be below that of success`,
    )
  return (groups) => {
    const rewards = groups.map((group) =>
      rewardsOf(group).map((reward) => Math.min(1, Math.max(0, (reward - low) / (high - low)))),
    )
    const rates = rewards.map(meanOf)
    const { alpha, beta } = betaParameters(rates.filter((_, g) => rewards[g].length > 0))
    return spread(
      groups,
      rewards.map((group, g) => {
        const factor = Math.min(1e6, 1 / betaDensity(rates[g], alpha, beta))
        return group.map((reward) => (reward - rates[g]) * factor)
      }),
    )
  }
}

const range = {
  /** The reward of failure. */
  low: z.number().default(0),
  /** The reward of success. */
  high: z.number().default(1),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'A_i = (R_i - p_G) / Beta(p_G; alpha, beta), alpha and beta from the spread of p over the batch',
  reference: 'BNPO, arXiv 2506.02864; not TRL loss_type "bnpo", which is `micro-batch-grpo`',
}

export const betaNormalizedPart = objective({
  ...about,
  kind: 'advantage',
  name: 'beta-normalized',
  summary: 'Rewards less their group mean over a beta density fitted to the success rates of the batch.',
  use: 'Binary rewards and many prompts a batch.',
  options: z.strictObject(range),
  make: betaNormalized,
})

export const bnpo = objective({
  ...about,
  kind: 'method',
  name: 'bnpo',
  summary: 'GRPO with a normalization that follows the difficulty of the batch.',
  use: 'Binary rewards. Several reward parts should each be normalized on their own.',
  options: z.strictObject({ ...range, ...clipOptions, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) =>
    method('bnpo', options, {
      advantage: betaNormalized(options),
      dynamicSampling: false,
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})
