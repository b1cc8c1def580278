import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { sigmoid, softplus } from './logistic.js'
import { lossAndMethod } from './method.js'
import { pairLoss } from './pair-loss.js'

export interface CplOptions {
  /** Of the score (0.1). */
  alpha?: number
  /** How much the rejected score counts against the chosen; below 1 keeps replies of the data likely (0.5). */
  bias?: number
  /** Weight of token k is discount^k (1). */
  discount?: number
  /** Sums over tokens, or their mean ('sum'). */
  normalization?: 'sum' | 'mean'
}

/**
 * Contrastive preference learning: preferences by regret, without a reward model and without a reference.
 *
 *     A = alpha sum_k discount^k lp_k [/ n];   L = mean over pairs of softplus(bias A_l - A_w)
 *
 * Source: arXiv 2310.13639 and its repository.
 *
 * @example cplLoss({ alpha: 0.1, bias: 0.5 })
 */
export function cplLoss(options: CplOptions = {}): Loss {
  const { alpha = 0.1, bias = 0.5, discount = 1, normalization = 'sum' } = options
  return pairLoss({
    name: 'cpl',
    reference: false,
    ...(discount === 1 ? {} : { tokenFactor: (k: number) => discount ** k }),
    compare({ chosen, rejected }) {
      const [n, m] = normalization === 'mean' ? [chosen.length, rejected.length] : [1, 1]
      const behind = alpha * ((bias * rejected.logprob) / m - chosen.logprob / n)
      const force = alpha * sigmoid(behind)
      return { value: softplus(behind), chosen: -force / n, rejected: (bias * force) / m }
    },
  })
}

export const cpl = lossAndMethod({
  name: 'cpl',
  summary: 'Contrastive preference learning: the discounted logprob of a reply is its advantage; no reward model.',
  formula: 'L = softplus(bias A_l - A_w),  A = alpha sum_k discount^k lp_k',
  reference: 'arXiv 2310.13639 and its repository; alpha 0.1 and bias 0.5 from memory of the paper',
  standing: 'source',
  use: 'Segments of behaviour preferred by people, without reward or reference. Mean over tokens is ours, near DPPO (2301.12842).',
  rows: ['A083'],
  shape: {
    alpha: z.number().positive().default(0.1),
    bias: z.number().gt(0).max(1).default(0.5),
    discount: z.number().gt(0).max(1).default(1),
    normalization: z.enum(['sum', 'mean']).default('sum'),
  },
  loss: cplLoss,
  referenceNeeded: false,
})
