import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf, spansOf, weightedLikelihood } from './token-loss.js'

/** Exponents k and rates lambda of the weight, by the sign of the advantage. */
export interface VespoOptions {
  kPositive: number
  lambdaPositive: number
  kNegative: number
  lambdaNegative: number
}

const LOG_FLOOR = Math.log(1e-8)

/**
 * VESPO: likelihood weighted by phi(W) = W^k exp(lambda (1 - W)), W the product of a sequence's ratios to the sampler. The
 * weight is 1 at W = 1, highest at W = k / lambda and falls to 0 on both sides; it is not differentiated.
 *
 * Log-ratios are clamped to [-20, 20] by token, log W to [log 1e-8, 20]. Source: arXiv 2602.10693; TRL loss_type "vespo".
 *
 * @example const loss = vespoLoss({ kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 })
 */
export function vespoLoss(options: VespoOptions): Loss {
  return weightedLikelihood('vespo', (tokens) => {
    const { logprobs, advantages } = tokens
    const base = tokens.behaviourLogprobs ?? tokens.oldLogprobs
    const factors = new Float64Array(logprobs.length)
    for (const { start, end } of spansOf(tokens)) {
      let sum = 0
      for (let t = start; t < end; t++) sum += Math.min(20, Math.max(-20, logprobs[t] - base[t]))
      const logW = Math.min(20, Math.max(LOG_FLOOR, sum))
      for (let t = start; t < end; t++) {
        const [k, lambda] =
          advantages[t] >= 0 ? [options.kPositive, options.lambdaPositive] : [options.kNegative, options.lambdaNegative]
        factors[t] = Math.exp(lambda + k * logW - lambda * Math.exp(logW))
      }
    }
    return { factors, metrics: { sequenceWeight: meanOf(factors) } }
  })
}

const shape = {
  kPositive: z.number().min(0).default(2),
  lambdaPositive: z.number().positive().default(3),
  kNegative: z.number().min(0).default(3),
  lambdaNegative: z.number().positive().default(2),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'l = -sg[W^k exp(lambda (1 - W))] A lp, W = exp(sum_t (lp - blp))',
  reference: 'VESPO, arXiv 2602.10693; TRL loss_type "vespo"',
}

export const vespoPart = objective({
  ...about,
  kind: 'loss',
  name: 'vespo-loss',
  summary: 'Likelihood with a smooth weight of the whole sequence that fades as it leaves the sampler.',
  use: 'Stale samples of short to middling length; the product of ratios of a long reply soon fades to 0.',
  options: z.strictObject(shape),
  make: vespoLoss,
})

export const vespo = objective({
  ...about,
  kind: 'method',
  name: 'vespo',
  summary: 'Group-relative advantages with smooth sequence weights.',
  use: 'Asynchronous sampling.',
  options: z.strictObject({ ...groupOptions, ...shape, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) => method('vespo', options, { advantage: groupAdvantages(options), loss: vespoLoss(options) }),
})
