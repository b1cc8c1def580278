import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { clampedExp } from '../clipped.js'
import { objective } from '../objective.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { sequenceLoss } from './token-loss.js'

/**
 * Geometric-mean policy optimization: token log-ratios are clipped, then averaged.
 *
 *     u_t = d_t clipped from above where A > 0, from below where A < 0, d_t = lp - olp in [-low, high]
 *     l_i = -A_i exp(mean_t u_t);   d l_i / d lp_it = -A_i exp(mean u) / T_i, or 0 for a clipped token
 *
 * The bounds are of log-ratios. Sequences weigh the sum of their token weights.
 * Source: GMPO, arXiv 2507.20673.
 *
 * @example const loss = gmpoLoss({ low: 0.4, high: 0.4 })
 */
export function gmpoLoss({ low, high }: { low: number; high: number }): Loss {
  return sequenceLoss('gmpo', ({ logprobs, oldLogprobs }, { start, end, length, advantage }) => {
    let sum = 0
    let clipped = 0
    const free: number[] = []
    for (let t = start; t < end; t++) {
      const d = logprobs[t] - oldLogprobs[t]
      const bounded = advantage > 0 ? Math.min(d, high) : advantage < 0 ? Math.max(d, -low) : 0
      sum += bounded
      free.push(bounded === d ? 1 : 0)
      if (bounded !== d) clipped++
    }
    const { value, slope } = clampedExp(sum / length)
    return {
      value: -advantage * value,
      slopes: free.map((is) => (is * -advantage * slope) / length),
      clipped: clipped > 0,
      ratio: value,
    }
  })
}

const bounds = {
  /** The log-ratio of a token may fall to -low for negative advantages. */
  low: z.number().min(0).default(0.4),
  /** The log-ratio of a token may rise to high for positive advantages. */
  high: z.number().min(0).default(0.4),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'l_i = -A_i exp(mean_t u_t), u_t the clipped log-ratio',
  reference: 'GMPO, arXiv 2507.20673; verl "geo_mean"',
}

export const gmpoPart = objective({
  ...about,
  kind: 'loss',
  name: 'gmpo-loss',
  summary: 'The geometric mean of clipped token ratios.',
  use: 'As gspo-loss, with outlier tokens clipped one by one instead of whole sequences.',
  options: z.strictObject(bounds),
  make: gmpoLoss,
})

export const gmpo = objective({
  ...about,
  kind: 'method',
  name: 'gmpo',
  summary: 'Group-relative advantages with the geometric mean of clipped token ratios.',
  use: 'Where single tokens of extreme ratio upset grpo.',
  options: z.strictObject({
    ...groupOptions,
    ...bounds,
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) => method('gmpo', options, { advantage: groupAdvantages(options), loss: gmpoLoss(options) }),
})
