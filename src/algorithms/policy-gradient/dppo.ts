import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf, ratiosTo, weightedLikelihood } from './token-loss.js'

export interface DppoOptions {
  divergence: 'tv' | 'kl'
  /** Bound for negative advantages. */
  low: number
  /** Bound for positive advantages. */
  high: number
  /** Largest ratio. */
  cap: number
}

/**
 * Divergence PPO: a token is dropped when the probability of the sampled token, not its ratio, has moved too far in the
 * direction of its advantage. With p = exp(lp), u = exp(blp), r = p / u:
 *
 *     tv: drop where (A > 0 and p - u > high) or (A <= 0 and u - p > low)
 *     kl: D = u (blp - lp) + (1 - u) log((1 - u + 1e-8) / (1 - p + 1e-8));  drop where (A > 0, p > u, D > high) or
 *         (A <= 0, p < u, D > low)
 *     l = -M sg[min(r, cap)] A lp
 *
 * Source: DPPO, arXiv 2602.04879; cap 20 as in verl.
 *
 * @example const loss = dppoLoss({ divergence: 'tv', low: 0.2, high: 0.2, cap: 20 })
 */
export function dppoLoss({ divergence, low, high, cap }: DppoOptions): Loss {
  return weightedLikelihood('dppo', (tokens) => {
    const { logprobs, advantages } = tokens
    const base = tokens.behaviourLogprobs ?? tokens.oldLogprobs
    const ratios = ratiosTo(tokens, 'behaviour')
    const dropped = logprobs.map((logprob, t) => {
      const [p, u] = [Math.exp(logprob), Math.exp(base[t])]
      const rising = advantages[t] > 0
      if (divergence === 'tv') return Number(rising ? p - u > high : u - p > low)
      const binary = u * (base[t] - logprob) + (1 - u) * Math.log((1 - u + 1e-8) / (1 - p + 1e-8))
      return Number(rising ? p > u && binary > high : p < u && binary > low)
    })
    return {
      factors: ratios.map((ratio, t) => (dropped[t] ? 0 : Math.min(ratio, cap))),
      metrics: { clipFraction: meanOf(dropped), ratio: meanOf(ratios) },
    }
  })
}

const bounds = {
  /** Total variation, or KL, of the sampled token against all others. */
  divergence: z.enum(['tv', 'kl']).default('tv'),
  /** Bound for negative advantages; 0.05 is usual for kl. */
  low: z.number().min(0).default(0.2),
  /** Bound for positive advantages; 0.05 is usual for kl. */
  high: z.number().min(0).default(0.2),
  /** Largest ratio. */
  cap: z.number().positive().default(20),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'l = -M sg[min(r, cap)] A lp, M = 0 where |p - u| (or its binary KL) passed a bound in the direction of A',
  reference: 'DPPO, arXiv 2602.04879; verl "dppo_tv" and "dppo_kl"',
}

export const dppoPart = objective({
  ...about,
  kind: 'loss',
  name: 'dppo-loss',
  summary: 'A trust region on probabilities in place of one on ratios.',
  use: 'Rare tokens may move by large ratios, frequent ones may not.',
  options: z.strictObject(bounds),
  make: dppoLoss,
})

export const dppo = objective({
  ...about,
  kind: 'method',
  name: 'dppo',
  summary: 'Group-relative advantages with a trust region on probabilities.',
  use: 'Several updates a batch, or a sampler whose numbers differ from the trainer.',
  options: z.strictObject({ ...groupOptions, ...bounds, ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) => method('dppo', options, { advantage: groupAdvantages(options), loss: dppoLoss(options) }),
})
