import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import { requireRange } from '../options.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf, ratiosTo, weightedLikelihood } from './token-loss.js'

/**
 * CISPO: likelihood weighted by the clipped ratio, which is not differentiated, so that no token is ever dropped:
 * l = -sg[clip(r, low, high)] A lp. `low` and `high` are the ratios themselves, not offsets from 1.
 *
 * Source: MiniMax-M1, arXiv 2506.13585 (no lower bound, upper bound tuned); ScaleRL takes 5.
 *
 * @example const loss = cispoLoss({ low: 0, high: 5 })
 */
export function cispoLoss({ low, high }: { low: number; high: number }): Loss {
  requireRange('low', low, 'high', high)
  return weightedLikelihood('cispo', (tokens) => {
    const ratios = ratiosTo(tokens)
    const factors = ratios.map((ratio) => Math.min(Math.max(ratio, low), high))
    const clipped = ratios.map((ratio, t) => Number(ratio !== factors[t]))
    return { factors, metrics: { clipFraction: meanOf(clipped), ratio: meanOf(ratios) } }
  })
}

const about = { family: 'policy-gradient' as const, standing: 'source' as const, rows: [] }

const cispoClip = {
  /** Least weight, a ratio. */
  low: z.number().min(0).default(0),
  /** Largest weight, a ratio. */
  high: z.number().positive().default(5),
}

export const cispoPart = objective({
  ...about,
  kind: 'loss',
  name: 'cispo-loss',
  summary: 'Likelihood weighted by the clipped ratio, which is not differentiated.',
  formula: 'l = -sg[clip(r, low, high)] A lp',
  reference: 'MiniMax-M1, arXiv 2506.13585',
  use: 'When the clip of PPO silences rare, decisive tokens. The value of the loss has no meaning.',
  options: z.strictObject(cispoClip),
  make: cispoLoss,
})

export const cispo = objective({
  ...about,
  kind: 'method',
  name: 'cispo',
  summary: 'Group-relative advantages with clipped importance weights: no token is ever dropped.',
  formula: cispoPart.formula,
  reference: cispoPart.reference,
  use: 'Several updates a batch at scale. `high` is a ratio, as in TRL and ScaleRL; verl takes an offset from 1.',
  options: z.strictObject({ ...groupOptions, ...cispoClip, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) => method('cispo', options, { advantage: groupAdvantages(options), loss: cispoLoss(options) }),
})
