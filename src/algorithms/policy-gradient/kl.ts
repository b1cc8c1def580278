import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss } from '../../policy/types.js'
import { clampedExp, LOG_RATIO_LIMIT } from '../clipped.js'
import type { ComposeOptions } from '../compose.js'
import { objective } from '../objective.js'
import { tokenLoss } from './token-loss.js'

/** Estimators of KL(policy || reference) from one sample. */
export const KL_ESTIMATORS = ['k1', 'k2', 'k3', 'unbiased', 'straight-through'] as const
export type KlEstimator = (typeof KL_ESTIMATORS)[number]

/**
 * An estimate of the divergence at one token, and its derivative with respect to lp. With d = lp - rlp, r = exp(lp - olp):
 *
 *     k1 = d (slope 1)    k2 = d^2 / 2 (slope d)    k3 = exp(-d) + d - 1 (slope 1 - exp(-d))
 *     unbiased = r k3 (slope r d)    straight-through = k3, with the slope d of k2
 *
 * d is clamped to [-20, 20] in 'straight-through' and both exponents everywhere; outside the slope of what was clamped is 0.
 * Sources: joschu.net/blog/kl-approx; arXiv 2510.01555; 'unbiased' is DeepSeek-V3.2's, arXiv 2512.02556; verl's "k3+".
 *
 * @example klEstimate('k2', -1, -1.5, -1) // { value: 0.125, slope: 0.5 }
 */
export function klEstimate(
  estimator: KlEstimator,
  logprob: number,
  referenceLogprob: number,
  oldLogprob: number,
): { value: number; slope: number } {
  const d = logprob - referenceLogprob
  if (estimator === 'k1') return { value: d, slope: 1 }
  if (estimator === 'k2') return { value: (d * d) / 2, slope: d }
  const inverse = clampedExp(-d)
  const k3 = { value: inverse.value + d - 1, slope: 1 - inverse.slope }
  if (estimator === 'k3') return k3
  if (estimator === 'straight-through') return { value: k3.value, slope: Math.abs(d) > LOG_RATIO_LIMIT ? 0 : d }
  const ratio = clampedExp(logprob - oldLogprob)
  return { value: ratio.value * k3.value, slope: ratio.slope * k3.value + ratio.value * k3.slope }
}

/**
 * The divergence from the reference policy as a loss: sum_t c_t k_t.
 *
 * @throws MyriadError 'usage' from `evaluate` without reference logprobs
 * @example compose({ ..., regularizers: [{ loss: klLoss('k3'), coefficient: 0.01 }], needs: { reference: 'initial' } })
 */
export function klLoss(estimator: KlEstimator): Loss {
  const { evaluate, name } = tokenLoss(`kl-${estimator}`, ({ logprobs, oldLogprobs, referenceLogprobs }, t) => {
    if (!referenceLogprobs) throw new MyriadError('usage', `kl-${estimator} needs reference logprobs; score them first`)
    return klEstimate(estimator, logprobs[t], referenceLogprobs[t], oldLogprobs[t])
  })
  return {
    name,
    evaluate: (tokens) => {
      const result = evaluate(tokens)
      const weight = tokens.weights.reduce((sum, w) => sum + w, 0)
      return { ...result, metrics: { kl: weight > 0 ? result.value / weight : 0 } }
    },
  }
}

/** Options of methods that may add a divergence as a loss. */
export const klOptions = {
  /** Weight of the divergence from the initial policy; 0 needs no reference. */
  klCoefficient: z.number().min(0).default(0),
  klEstimator: z.enum(KL_ESTIMATORS).default('k3'),
}

/** What `compose` needs for those options. */
export function klParts(options: {
  klCoefficient: number
  klEstimator: KlEstimator
}): Required<Pick<ComposeOptions, 'regularizers' | 'needs'>> {
  const { klCoefficient, klEstimator } = options
  if (klCoefficient === 0) return { regularizers: [], needs: {} }
  return {
    regularizers: [{ loss: klLoss(klEstimator), coefficient: klCoefficient }],
    needs: { reference: 'initial' },
  }
}

/**
 * The next KL coefficient: beta (1 + clip(kl / target - 1, -0.2, 0.2) n / horizon), n samples since the last call.
 *
 * @throws MyriadError 'usage' on a target or horizon that is not positive
 * @example adaptKlCoefficient(0.1, 0.3, { target: 0.1, horizon: 1000, samples: 100 }) // 0.102
 */
export function adaptKlCoefficient(
  coefficient: number,
  kl: number,
  options: { target: number; horizon: number; samples: number },
): number {
  const { target, horizon, samples } = options
  if (!(target > 0 && horizon > 0)) throw new MyriadError('usage', 'target and horizon of the KL must be positive')
  return coefficient * (1 + (Math.min(Math.max(kl / target - 1, -0.2), 0.2) * samples) / horizon)
}

const about = {
  kind: 'loss' as const,
  family: 'policy-gradient' as const,
  reference: 'joschu.net/blog/kl-approx; arXiv 2510.01555',
  standing: 'source' as const,
  rows: [],
  options: z.strictObject({}),
  needs: { reference: 'initial' as const },
}

export const klK1 = objective({
  ...about,
  name: 'kl-k1',
  summary: 'Divergence from the reference, estimator k1: unbiased value, but a gradient of mean 0.',
  formula: 'k1 = lp - rlp;  slope 1',
  use: 'To watch the divergence. As a loss it regularizes nothing in expectation; put k1 in the reward instead.',
  make: () => klLoss('k1'),
})

export const klK2 = objective({
  ...about,
  name: 'kl-k2',
  summary: 'Divergence from the reference, estimator k2: the gradient of the reverse KL while on-policy.',
  formula: 'k2 = (lp - rlp)^2 / 2;  slope lp - rlp',
  use: 'As a loss near the sampling policy. Its value is biased a little.',
  make: () => klLoss('k2'),
})

export const klK3 = objective({
  ...about,
  name: 'kl-k3',
  summary: 'Divergence from the reference, estimator k3: never negative, of low variance.',
  formula: 'k3 = exp(rlp - lp) - (rlp - lp) - 1;  slope 1 - exp(rlp - lp)',
  use: 'The usual term of GRPO. Its on-policy gradient is that of the forward KL, and explodes for lp << rlp.',
  make: () => klLoss('k3'),
})

export const klUnbiased = objective({
  ...about,
  name: 'kl-unbiased',
  summary: 'k3 times the importance ratio: an unbiased gradient of the reverse KL off-policy too.',
  formula: 'r k3, r = exp(lp - olp);  slope r (lp - rlp)',
  reference: 'DeepSeek-V3.2, arXiv 2512.02556; TRL use_bias_correction_kl',
  use: 'Several updates a batch, or a stale sampler.',
  make: () => klLoss('unbiased'),
})

export const klStraightThrough = objective({
  ...about,
  name: 'kl-straight-through',
  summary: 'The value of k3 with the gradient of k2.',
  formula: 'value k3;  slope lp - rlp',
  reference: 'verl kl_penalty "k3+"',
  use: 'To read a good estimate and follow a good gradient at once; its value is not what its gradient descends.',
  make: () => klLoss('straight-through'),
})

export const adaptiveKl = objective({
  kind: 'function',
  name: 'adaptive-kl-coefficient',
  family: 'policy-gradient',
  summary: 'A KL coefficient that follows a target divergence.',
  formula: 'beta <- beta (1 + clip(kl / target - 1, -0.2, 0.2) n / horizon)',
  reference: 'arXiv 1909.08593; verl AdaptiveKLController',
  standing: 'source',
  use: 'When the divergence should stay near a number. For code that steers its own run; the method adaptive-kl-grpo calls it once a step.',
  rows: [],
  options: z.strictObject({
    target: z.number().positive().default(0.1),
    horizon: z.number().positive().default(10000),
  }),
  make: (options) => (coefficient: number, kl: number, samples: number) =>
    adaptKlCoefficient(coefficient, kl, { ...options, samples }),
})
