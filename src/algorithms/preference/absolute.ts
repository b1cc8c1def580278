import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { sumLosses } from '../sum-losses.js'
import { logRatio } from './completions.js'
import { marginLoss } from './dpo.js'
import { sigmoid, sigmoidSlope, softplus } from './logistic.js'
import { logisticMargin } from './margins.js'
import { lossAndMethod } from './method.js'
import { pairLoss, type PairTerms } from './pair-loss.js'

/** 1 - sig(beta r_w) + sig(beta r_l): the chosen up, the rejected down, each against the reference. arXiv 2408.06266, eq. 7. */
export function apoZero(won: number, lost: number, beta: number): PairTerms {
  return {
    value: sigmoid(-beta * won) + sigmoid(beta * lost),
    chosen: -beta * sigmoidSlope(beta * won),
    rejected: beta * sigmoidSlope(beta * lost),
  }
}

/** sig(beta r_w) + 1 - sig(beta (r_w - r_l)): both down, the rejected further. arXiv 2408.06266, equation 8. */
export function apoDown(won: number, lost: number, beta: number): PairTerms {
  const apart = beta * sigmoidSlope(beta * (won - lost))
  return {
    value: sigmoid(beta * won) + sigmoid(-beta * (won - lost)),
    chosen: beta * sigmoidSlope(beta * won) - apart,
    rejected: apart,
  }
}

/** -log sig(beta r_w) - 1/2 log sig(-beta r_w) - 1/2 log sig(-beta r_l): NCA of two. arXiv 2402.05369. */
export function ncaPair(won: number, lost: number, beta: number): PairTerms {
  const [x, y] = [beta * won, beta * lost]
  return {
    value: softplus(-x) + 0.5 * softplus(x) + 0.5 * softplus(y),
    chosen: beta * (0.5 * sigmoid(x) - sigmoid(-x)),
    rejected: 0.5 * beta * sigmoid(y),
  }
}

/** -log sig(beta r_w - delta) - log sig(delta - beta r_l): BCO of a pair. arXiv 2404.04656; TRL has delta = 0. */
export function bcoPair(won: number, lost: number, beta: number, delta = 0): PairTerms {
  const [x, y] = [beta * won - delta, beta * lost - delta]
  return { value: softplus(-x) + softplus(y), chosen: -beta * sigmoid(-x), rejected: beta * sigmoid(y) }
}

/**
 * SPPO: log-ratios regressed onto how far a reply wins more than half the time: scale [(r_w - (P_w - 1/2) / beta)^2 +
 * (r_l - (P_l - 1/2) / beta)^2]. Hard targets are P_w = 1 and P_l = 0. arXiv 2405.00675.
 */
export function sppoPair(won: number, lost: number, beta: number, wins: [number, number], scale = 1): PairTerms {
  const [x, y] = [won - (wins[0] - 0.5) / beta, lost - (wins[1] - 0.5) / beta]
  return { value: scale * (x * x + y * y), chosen: 2 * scale * x, rejected: 2 * scale * y }
}

type Terms = (won: number, lost: number, beta: number) => PairTerms

/** The mean over pairs of a function of both log-ratios to the reference, sums over tokens. */
export function ratioLoss(name: string, beta: number, terms: Terms): Loss {
  return pairLoss({
    name,
    reference: true,
    compare: ({ chosen, rejected }) => terms(logRatio(chosen), logRatio(rejected), beta),
  })
}

/** Strength of the pull to the reference. */
const beta = z.number().positive().default(0.1)

export const apoZeroDpo = lossAndMethod({
  name: 'apo-zero',
  summary: 'The better reply becomes likelier than under the reference, the worse one less likely (APO-zero).',
  formula: 'L = 1 - sig(beta r_w) + sig(beta r_l)',
  reference: 'arXiv 2408.06266, equation 7; TRL "apo_zero"',
  standing: 'source',
  use: 'Chosen replies better than what the model writes. Saturates at both ends.',
  rows: [],
  shape: { beta },
  loss: (options) => ratioLoss('apo-zero', options.beta, apoZero),
  referenceNeeded: true,
})

export const apoDownDpo = lossAndMethod({
  name: 'apo-down',
  summary: 'Both replies become less likely, the worse one faster (APO-down).',
  formula: 'L = sig(beta r_w) + 1 - sig(beta (r_w - r_l))',
  reference: 'arXiv 2408.06266, equation 8; TRL "apo_down"',
  standing: 'source',
  use: 'Chosen replies worse than what the model writes. Not alone for long: nothing is raised.',
  rows: [],
  shape: { beta },
  loss: (options) => ratioLoss('apo-down', options.beta, apoDown),
  referenceNeeded: true,
})

export const nca = lossAndMethod({
  name: 'nca',
  summary: 'Noise contrast of two replies: absolute likelihoods are learnt, not only their gap.',
  formula: 'L = -log sig(beta r_w) - 1/2 log sig(-beta r_w) - 1/2 log sig(-beta r_l)',
  reference: 'arXiv 2402.05369; TRL "nca_pair"',
  standing: 'source',
  use: 'Where DPO lowers the chosen reply: here it comes to rest at r_w = log 2 / beta.',
  rows: [],
  shape: { beta },
  loss: (options) => ratioLoss('nca', options.beta, ncaPair),
  referenceNeeded: true,
})

export const bco = lossAndMethod({
  name: 'bco',
  summary: 'A binary classifier of good and bad replies whose logit is the implicit reward (BCO).',
  formula: 'L = -log sig(beta r_w - delta) - log sig(delta - beta r_l)',
  reference:
    'arXiv 2404.04656; TRL "bco_pair" (delta 0). A constant delta: the running mean of its authors is not kept',
  standing: 'source',
  use: 'Like APO-zero without saturation. delta shifts where good ends.',
  rows: [],
  shape: {
    beta,
    /** Where good replies end and bad ones begin, in units of implicit reward. */ delta: z.number().default(0),
  },
  loss: (options) => ratioLoss('bco', options.beta, (won, lost, b) => bcoPair(won, lost, b, options.delta)),
  referenceNeeded: true,
})

export const mpo = lossAndMethod({
  name: 'mpo',
  summary: 'Mixed preference optimization: DPO, BCO and likelihood of the chosen, weighted.',
  formula: 'L = w_p L_dpo + w_q L_bco + w_g NLL_w',
  reference: 'arXiv 2411.10442 (0.8, 0.2, 1); TRL loss_type ["sigmoid", "bco_pair", "sft"]',
  standing: 'source',
  use: 'Reasoning replies whose quality must not fall while they are told apart.',
  rows: [],
  shape: {
    beta,
    preference: z.number().min(0).default(0.8),
    quality: z.number().min(0).default(0.2),
    nll: z.number().min(0).default(1),
  },
  loss: ({ beta, preference, quality, nll }) => ({
    ...sumLosses([
      {
        loss: marginLoss({ name: 'dpo', link: scaled(preference), beta, nll }),
      },
      { loss: ratioLoss('bco', beta, bcoPair), coefficient: quality },
    ]),
    name: 'mpo',
  }),
  referenceNeeded: true,
})

function scaled(weight: number): (x: number) => { value: number; slope: number } {
  return (x) => {
    const { value, slope } = logisticMargin(x, 0)
    return { value: weight * value, slope: weight * slope }
  }
}
