import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, LossTokens } from '../../policy/types.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import { tokenLoss, weightedLikelihood } from '../policy-gradient/token-loss.js'
import type { Algorithm } from '../types.js'
import { AGGREGATIONS, type Aggregation } from '../weights.js'
import { isRight, mix, thresholdOption, weighByRole } from './shown.js'

/** The largest probability that 1 - p is taken of. */
const P_MAX = 1 - 1e-6

/** p = exp(lp), at most 1. */
const probability = (logprob: number): number => Math.min(1, Math.exp(logprob))

/**
 * Dynamic fine-tuning: likelihood weighted by the probability itself, -sg(p) A lp. The slope -p A is that of A (1 - p), so
 * tokens the model thinks impossible are nearly left alone.
 *
 * Source: arXiv 2508.05629; TRL loss_type "dft".
 *
 * @example dftLoss().evaluate(tokens)
 */
export function dftLoss(): Loss {
  return weightedLikelihood('dft', ({ logprobs }) => ({ factors: logprobs.map(probability) }))
}

/**
 * Likelihood weighted by the variance of the token, -sg(p (1 - p)) A lp: neither what is known nor what is hopeless.
 *
 * Source: CHORD-phi, arXiv 2508.11408.
 *
 * @example byRole(clippedLoss(), phiLoss())
 */
export function phiLoss(): Loss {
  return weightedLikelihood('phi', ({ logprobs }) => ({
    factors: logprobs.map((logprob) => probability(logprob) * (1 - probability(logprob))),
  }))
}

/**
 * Focal likelihood, -(1 - p)^gamma A lp, with its whole derivative -A ((1 - p)^gamma - gamma p lp (1 - p)^(gamma - 1)).
 * With gamma 0 it is cross-entropy.
 *
 * Source: arXiv 1708.02002.
 *
 * @example focalLoss(2)
 */
export function focalLoss(gamma: number): Loss {
  return tokenLoss('focal', ({ logprobs, advantages }, t) => {
    const p = Math.min(P_MAX, probability(logprobs[t]))
    const inside = logprobs[t] < Math.log(P_MAX)
    const factor = (1 - p) ** gamma
    const bend = inside && gamma > 0 ? gamma * p * logprobs[t] * (1 - p) ** (gamma - 1) : 0
    return { value: -advantages[t] * factor * logprobs[t], slope: -advantages[t] * (factor - bend) }
  })
}

/**
 * Likelihood of what has a positive advantage, unlikelihood of what has a negative one:
 *
 *     A > 0: -A lp,  slope -A        A < 0: -|A| log(1 - p),  slope |A| p / (1 - p),  p no more than 1 - 1e-6 (slope 0 above)
 *
 * Source: arXiv 1908.04319.
 *
 * @example mix({ ..., loss: unlikelihoodLoss(), teach: () => ({ samples: [1, -1], demonstration: 1 }) })
 */
export function unlikelihoodLoss(): Loss {
  return tokenLoss('unlikelihood', ({ logprobs, advantages }, t) => {
    const advantage = advantages[t]
    if (advantage >= 0) return { value: -advantage * logprobs[t], slope: -advantage }
    const p = probability(logprobs[t])
    if (p > P_MAX) return { value: advantage * Math.log(1 - P_MAX), slope: 0 }
    return { value: advantage * Math.log1p(-p), slope: (-advantage * p) / (1 - p) }
  })
}

/**
 * Cross-entropy that drops what is mastered: tokens whose probability is above `threshold` teach nothing. The weights of
 * the rest stay as they are.
 *
 * @example unmasteredLoss(0.95)
 */
export function unmasteredLoss(threshold: number): Loss {
  return weightedLikelihood('unmastered', ({ logprobs }) => {
    const factors = logprobs.map((logprob) => (probability(logprob) > threshold ? 0 : 1))
    return {
      factors,
      metrics: { mastered: factors.length === 0 ? 0 : 1 - factors.reduce((a, b) => a + b, 0) / factors.length },
    }
  })
}

/**
 * Cross-entropy with smoothed labels: -A ((1 - e) lp + e mean_k lp_k), the mean over the alternatives of a token (those with
 * id -1 left out). With as many alternatives as the vocabulary has tokens it is the usual label smoothing; with the K most
 * probable ones the smoothing keeps to them.
 *
 * Source: arXiv 1512.00567; over the K most probable: ours.
 *
 * @throws MyriadError 'usage' from `evaluate` without alternatives
 * @example smoothedLoss(0.1)
 */
export function smoothedLoss(smoothing: number): Loss {
  return {
    name: 'smoothed',
    reads: { alternatives: true },
    evaluate: (tokens) => {
      const { logprobs, advantages, weights } = tokens
      const alternatives = alternativesIn('label smoothing', tokens)
      const { value, gradient } = crossEntropy().evaluate({
        ...tokens,
        weights: weights.map((w) => w * (1 - smoothing)),
      })
      const result = {
        value,
        gradient,
        alternativesGradient: new Float64Array(alternatives.logprobs.length),
        metrics: {},
      }
      for (let t = 0; t < logprobs.length; t++) {
        const own = Array.from({ length: alternatives.count }, (_, k) => t * alternatives.count + k).filter(
          (k) => alternatives.ids[k] >= 0,
        )
        for (const k of own) {
          const slope = (-weights[t] * advantages[t] * smoothing) / own.length
          result.value += slope * alternatives.logprobs[k]
          result.alternativesGradient[k] = slope
        }
      }
      if (!Number.isFinite(result.value)) throw new MyriadError('numeric', `label smoothing is ${result.value}`)
      return result
    },
  }
}

/**
 * The alternatives of a batch; empty ones in an empty batch.
 *
 * @example alternativesIn('label smoothing', tokens).count
 */
export function alternativesIn(what: string, tokens: LossTokens): NonNullable<LossTokens['alternatives']> {
  if (tokens.alternatives) return tokens.alternatives
  if (tokens.logprobs.length === 0) return { count: 0, ids: new Int32Array(), logprobs: new Float64Array() }
  throw new MyriadError('usage', `${what} reads alternatives of every token; ask for them in needs`)
}

/** Options of methods that learn from demonstrations alone. */
export const shownOptions = (aggregation: Aggregation = 'token-mean') => ({
  aggregation: z.enum(AGGREGATIONS).default(aggregation),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
})

/**
 * A method that learns from the demonstrations of a step alone, by the loss given.
 *
 * @example fromDemonstrations('mine', { aggregation: 'token-mean' }, focalLoss(2))
 */
export function fromDemonstrations(
  name: string,
  options: { aggregation: Aggregation; fixedLength?: number },
  loss: Loss,
  alternatives?: number,
): Algorithm {
  return mix({
    name,
    needs: { demonstrations: true, ...(alternatives === undefined ? {} : { alternatives }) },
    loss,
    weigh: weighByRole(options.aggregation, options.aggregation, options.fixedLength),
    teach: () => ({ demonstration: 1 }),
  })
}

const loss = { kind: 'loss' as const, family: 'supervised' as const, standing: 'source' as const, rows: [] }

export const dftPart = objective({
  ...loss,
  name: 'dft-loss',
  summary: 'Likelihood weighted by the probability of the token.',
  formula: 'l = -sg(p) A lp;  slope -p A',
  reference: 'DFT, arXiv 2508.05629',
  use: 'Demonstrations far from the policy, of which hopeless tokens should not dominate. A is 1 on demonstrations.',
  options: z.strictObject({}),
  make: dftLoss,
})

export const phiPart = objective({
  ...loss,
  name: 'phi-loss',
  summary: 'Likelihood weighted by p (1 - p): most where the policy is undecided.',
  formula: 'l = -sg(p (1 - p)) A lp;  slope -p (1 - p) A',
  reference: 'CHORD-phi, arXiv 2508.11408',
  use: 'Beside RL, where demonstrations should not undo what is already mastered.',
  options: z.strictObject({}),
  make: phiLoss,
})

export const focalPart = objective({
  ...loss,
  name: 'focal-loss',
  summary: 'Likelihood that turns away from tokens already probable.',
  formula: 'l = -(1 - p)^gamma A lp',
  reference: 'arXiv 1708.02002',
  use: 'Long demonstrations of which few tokens matter. The opposite of dft-loss: noise in labels is learnt hardest.',
  options: z.strictObject({ gamma: z.number().min(0).default(2) }),
  make: ({ gamma }) => focalLoss(gamma),
})

export const unlikelihoodPart = objective({
  ...loss,
  name: 'unlikelihood-loss',
  summary: 'Likelihood where advantages are positive, unlikelihood where they are negative.',
  formula: 'A > 0: -A lp;  A < 0: -|A| log(1 - p)',
  reference: 'arXiv 1908.04319',
  use: 'To push failures down with a slope that fades with p, where -A lp would push without end.',
  options: z.strictObject({}),
  make: unlikelihoodLoss,
})

export const smoothedPart = objective({
  ...loss,
  name: 'smoothed-loss',
  summary: 'Cross-entropy with label smoothing over the alternatives of a token.',
  formula: 'l = -A ((1 - e) lp + e mean_k lp_k)',
  reference: 'arXiv 1512.00567; ours: over K alternatives instead of the vocabulary where K is smaller',
  use: 'Small sets of demonstrations.',
  options: z.strictObject({ smoothing: z.number().min(0).max(1).default(0.1) }),
  make: ({ smoothing }) => smoothedLoss(smoothing),
})

const about = { kind: 'method' as const, family: 'supervised' as const, standing: 'source' as const, rows: [] }

export const sft = objective({
  ...about,
  name: 'sft',
  summary: 'Supervised learning of the demonstrations of a step.',
  formula: 'L = -sum_t c_t lp_t  over tokens of the solver',
  reference: 'TRL SFTTrainer (token-mean); smoothing arXiv 1512.00567',
  use: 'Before RL, or as the yardstick of every mixture. Rollouts only measure then.',
  rows: ['A002', 'A006', 'A014', 'B056', 'B214'],
  options: z.strictObject({
    ...shownOptions(),
    /** e of label smoothing; 0 reads no alternatives. */
    labelSmoothing: z.number().min(0).max(1).default(0),
    /** Alternatives a token that smoothing spreads over; the size of the vocabulary for the usual kind. */
    alternatives: z.int().positive().default(64),
    /** Tokens more probable than this teach nothing; null keeps all. */
    mastered: z.number().min(0).max(1).nullable().default(null),
  }),
  make: (options) => {
    const { labelSmoothing, mastered, alternatives } = options
    if (labelSmoothing > 0 && mastered !== null)
      throw new MyriadError('usage', 'sft: choose labelSmoothing or mastered, not both')
    if (labelSmoothing > 0) return fromDemonstrations('sft', options, smoothedLoss(labelSmoothing), alternatives)
    return fromDemonstrations('sft', options, mastered === null ? crossEntropy() : unmasteredLoss(mastered))
  },
})

export const dft = objective({
  ...about,
  name: 'dft',
  summary: 'Supervised learning weighted by the probability of each token.',
  formula: dftPart.formula,
  reference: dftPart.reference,
  use: dftPart.use,
  options: z.strictObject(shownOptions()),
  make: (options) => fromDemonstrations('dft', options, dftLoss()),
})

export const focal = objective({
  ...about,
  name: 'focal',
  summary: 'Supervised learning that turns to tokens the policy does not expect.',
  formula: focalPart.formula,
  reference: focalPart.reference,
  use: focalPart.use,
  options: z.strictObject({ ...shownOptions(), gamma: z.number().min(0).default(2) }),
  make: (options) => fromDemonstrations('focal', options, focalLoss(options.gamma)),
})

export const unlikelihood = objective({
  ...about,
  name: 'unlikelihood',
  summary: 'Learn demonstrations and successes, unlearn failures, token by token.',
  formula: 'shown or right: -lp;  else -alpha log(1 - p)',
  reference: 'arXiv 1908.04319; ours: which sequences are unlearnt (those that are not right)',
  standing: 'ours',
  use: 'When failures are typical and short. In long replies most tokens of a failure are innocent.',
  options: z.strictObject({
    ...shownOptions(),
    threshold: thresholdOption,
    /** Weight of unlikelihood. */
    alpha: z.number().min(0).default(1),
  }),
  make: ({ threshold, alpha, aggregation, fixedLength }) =>
    mix({
      name: 'unlikelihood',
      needs: { demonstrations: true },
      loss: unlikelihoodLoss(),
      weigh: weighByRole(aggregation, aggregation, fixedLength),
      teach: ({ trajectories }) => ({
        samples: trajectories.map((trajectory) => (isRight(trajectory, threshold) ? 1 : -alpha)),
        demonstration: 1,
      }),
    }),
})
