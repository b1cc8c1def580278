import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { logRatio, pairsOf, sequenceLoss, type Completion } from './completions.js'
import { logisticMargin } from './margins.js'
import { lossAndMethod } from './method.js'

export interface TransportOptions {
  beta?: number
  labelSmoothing?: number
  /** Compare policy gaps with reference gaps (`paired`), or chosen log-ratios with rejected ones (`unpaired`). */
  distributions?: 'paired' | 'unpaired'
}

/**
 * AOT: distributions are compared in place of pairs. Both sides are sorted over the batch and compared quantile by quantile:
 *
 *     paired:   u = sort(s_w - s_l), v = sort(s_w_ref - s_l_ref)
 *     unpaired: u = sort(r_w),       v = sort(r_l)
 *     L = mean over k of logistic(beta (u_k - v_k)), with label smoothing as in cDPO
 *
 * Of one pair it is DPO. Source: arXiv 2406.05882; TRL "aot", "aot_unpaired".
 *
 * @example transportLoss({ distributions: 'unpaired' })
 */
export function transportLoss(options: TransportOptions = {}): Loss {
  const { beta = 0.1, labelSmoothing = 0, distributions = 'paired' } = options
  return sequenceLoss({
    name: 'aot',
    reference: true,
    evaluate(completions) {
      const pairs = pairsOf(completions)
      const slopes = new Map<Completion, number>()
      let value = 0
      const add = (completion: Completion, slope: number): void => {
        slopes.set(completion, (slopes.get(completion) ?? 0) + (slope * beta) / pairs.length)
      }
      if (distributions === 'unpaired') {
        const won = pairs.map(({ chosen }) => chosen).sort((a, b) => logRatio(a) - logRatio(b))
        const lost = pairs.map(({ rejected }) => rejected).sort((a, b) => logRatio(a) - logRatio(b))
        won.forEach((chosen, k) => {
          const result = logisticMargin(beta * (logRatio(chosen) - logRatio(lost[k])), labelSmoothing)
          value += result.value / pairs.length
          add(chosen, result.slope)
          add(lost[k], -result.slope)
        })
      } else {
        const gap = ({ chosen, rejected }: (typeof pairs)[number]): number => chosen.logprob - rejected.logprob
        const sorted = [...pairs].sort((a, b) => gap(a) - gap(b))
        const reference = pairs
          .map(({ chosen, rejected }) => chosen.reference - rejected.reference)
          .sort((a, b) => a - b)
        sorted.forEach((pair, k) => {
          const result = logisticMargin(beta * (gap(pair) - reference[k]), labelSmoothing)
          value += result.value / pairs.length
          add(pair.chosen, result.slope)
          add(pair.rejected, -result.slope)
        })
      }
      return { value, slopes, metrics: {} }
    },
  })
}

export const aot = lossAndMethod({
  name: 'aot',
  summary: 'Chosen replies are made better than rejected ones in distribution, by sorted log-ratios (AOT).',
  formula: 'L = mean_k -log sig(beta (u_(k) - v_(k))),  u, v sorted over the batch',
  reference: 'arXiv 2406.05882; TRL "aot", "aot_unpaired"',
  standing: 'source',
  use: 'Large batches of comparisons whose pairing means little. Of one pair it is DPO.',
  rows: [],
  shape: {
    beta: z.number().positive().default(0.1),
    labelSmoothing: z.number().min(0).lt(0.5).default(0),
    distributions: z.enum(['paired', 'unpaired']).default('paired'),
  },
  loss: transportLoss,
  referenceNeeded: true,
})
