import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import type { Completion } from './completions.js'
import { marginLoss } from './dpo.js'
import { sigmoid, softplus, type Slope } from './logistic.js'
import { hingeMargin, logisticMargin } from './margins.js'
import { lossAndMethod } from './method.js'
import { pairLoss, type PairTerms } from './pair-loss.js'

/**
 * AlphaPO's reward of a mean logprob a: (1 - exp(-alpha a)) / alpha, slope exp(-alpha a); a itself at alpha 0. The exponent is
 * clamped to +-20 with slope 0 outside. arXiv 2501.03884.
 */
export function alphaReward(a: number, alpha: number): Slope {
  if (alpha === 0) return { value: a, slope: 1 }
  const power = clampedExp(-alpha * a)
  return { value: (1 - power.value) / alpha, slope: power.slope }
}

/** ORPO's log odds of a mean logprob a: a - log(1 - exp(a)), with a held at -1e-6 or below, where its slope ends. */
export function logOdds(a: number): Slope {
  const held = Math.min(a, -1e-6)
  const complement = -Math.expm1(held)
  return { value: held - Math.log(complement), slope: a > -1e-6 ? 0 : 1 / complement }
}

/**
 * A loss of the gap between scores of two mean logprobs: link(g(a_w) - g(a_l)); dL/ds = link' g' / n.
 *
 * @example meanScoreLoss({ name: 'mine', score: (a) => ({ value: a, slope: 1 }), link: (x) => logisticMargin(x, 0) })
 */
export function meanScoreLoss(options: {
  name: string
  score: (a: number) => Slope
  link: (gap: number) => Slope
  nll?: number
}): Loss {
  const { name, score, link, nll } = options
  const of = ({ logprob, length }: Completion): Slope => score(logprob / length)
  return pairLoss({
    name,
    reference: false,
    nll,
    compare({ chosen, rejected }): PairTerms {
      const [won, lost] = [of(chosen), of(rejected)]
      const { value, slope } = link(won.value - lost.value)
      return {
        value,
        chosen: (slope * won.slope) / chosen.length,
        rejected: (-slope * lost.slope) / rejected.length,
      }
    },
  })
}

const labelSmoothing = z.number().min(0).lt(0.5).default(0)

export const cpo = lossAndMethod({
  name: 'cpo',
  summary: 'DPO without a reference; the likelihood of the chosen holds it up (CPO).',
  formula: 'L = -log sig(beta (s_w - s_l)) + alpha NLL_w',
  reference: 'arXiv 2401.08417; TRL CPOTrainer "sigmoid" (one token mean of the NLL over the batch)',
  standing: 'source',
  use: 'Translation with near-perfect candidates; no second model to score. Sums favour short rejected replies.',
  rows: [],
  shape: {
    beta: z.number().positive().default(0.1),
    labelSmoothing,
    /** Weight of the negative log-likelihood of the chosen. */
    nll: z.number().min(0).default(1),
  },
  loss: ({ labelSmoothing, ...rest }) =>
    marginLoss({ name: 'cpo', referenceFree: true, link: (x) => logisticMargin(x, labelSmoothing), ...rest }),
  referenceNeeded: false,
})

export const slic = lossAndMethod({
  name: 'slic',
  summary: 'Sequence likelihood calibration: a hinge on summed logprobs, and the likelihood of the chosen (SLiC-HF).',
  formula: 'L = max(0, delta - s_w + s_l) + lambda NLL_w',
  reference: 'arXiv 2305.10425; the regularizer here is on the chosen reply, there on a reference text',
  standing: 'second-hand',
  use: 'A margin in nats, no reference model. Pairs further apart than delta teach only likelihood.',
  rows: [],
  shape: {
    /** Margin in nats. */
    delta: z.number().positive().default(1),
    nll: z.number().min(0).default(0.1),
  },
  loss: ({ delta, nll }) =>
    marginLoss({
      name: 'slic',
      referenceFree: true,
      beta: 1,
      nll,
      link(x) {
        const { value, slope } = hingeMargin(x / delta)
        return { value: delta * value, slope }
      },
    }),
  referenceNeeded: false,
})

export const simpo = lossAndMethod({
  name: 'simpo',
  summary: 'Mean logprobs compared without a reference, with a target margin (SimPO).',
  formula: 'L = -log sig(beta (a_w - a_l) - gamma) + nll NLL_w,  a = s / n',
  reference: 'arXiv 2405.14734; its repository, TRL CPOTrainer "simpo" (with cpo_alpha 0)',
  standing: 'source',
  use: 'No reference to score, length does not decide. Nothing anchors it: small learning rates, few steps.',
  rows: [],
  shape: {
    beta: z.number().positive().default(2),
    /** Target margin of beta times the mean logprobs. */
    gamma: z.number().min(0).default(0.5),
    labelSmoothing,
    nll: z.number().min(0).default(0),
  },
  loss: ({ beta, gamma, labelSmoothing, nll }) =>
    marginLoss({
      name: 'simpo',
      referenceFree: true,
      normalization: 'mean',
      beta,
      nll,
      link: (x) => logisticMargin(x - gamma, labelSmoothing),
    }),
  referenceNeeded: false,
})

export const alphaPo = lossAndMethod({
  name: 'alphapo',
  summary: 'SimPO with a bent reward, so that likelihoods are not driven down (AlphaPO).',
  formula: 'L = -log sig(beta (R_w - R_l) - gamma),  R = (1 - exp(-alpha a)) / alpha,  a = s / n',
  reference: 'arXiv 2501.03884; TRL CPOTrainer with alpha',
  standing: 'source',
  use: 'Where SimPO drifts. alpha above 0 pushes improbable replies harder, below 0 less; 0 is SimPO.',
  rows: [],
  shape: {
    beta: z.number().positive().default(2),
    gamma: z.number().min(0).default(0.5),
    alpha: z.number().default(0.25),
    nll: z.number().min(0).default(0),
  },
  loss: ({ beta, gamma, alpha, nll }) =>
    meanScoreLoss({
      name: 'alphapo',
      nll,
      score: (a) => alphaReward(a, alpha),
      link(gap) {
        const { value, slope } = logisticMargin(beta * gap - gamma, 0)
        return { value, slope: beta * slope }
      },
    }),
  referenceNeeded: false,
})

export const orpo = lossAndMethod({
  name: 'orpo',
  summary: 'Likelihood of the chosen, and an odds ratio against the rejected, in one stage (ORPO).',
  formula: 'L = NLL_w - lambda log sig(log odds(a_w) - log odds(a_l)),  odds(a) = e^a / (1 - e^a)',
  reference: 'arXiv 2403.07691; TRL ORPOTrainer. The NLL is over the reply alone; TRL takes the prompt in too',
  standing: 'source',
  use: 'Supervised learning and preferences at once, from a model that was not tuned yet; no reference.',
  rows: [],
  shape: {
    /** Weight of the odds ratio. */
    lambda: z.number().min(0).default(0.1),
    nll: z.number().min(0).default(1),
  },
  loss: ({ lambda, nll }) =>
    meanScoreLoss({
      name: 'orpo',
      nll,
      score: logOdds,
      link: (gap) => ({ value: lambda * softplus(-gap), slope: -lambda * sigmoid(-gap) }),
    }),
  referenceNeeded: false,
})
