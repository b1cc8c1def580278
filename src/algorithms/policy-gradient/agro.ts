import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss } from '../../policy/types.js'
import { objective } from '../objective.js'
import { plainRewards } from './baselines.js'
import { method } from './method-options.js'
import { spansOf, type Span } from './token-loss.js'

/**
 * AGRO: at the optimum of a KL-regularized reward, q_i = R_i - beta (S_i - Sref_i) is the same for every reply to a prompt,
 * S being sums of logprobs. The loss is the mean over groups of half the variance of q (Bessel), divided by beta:
 *
 *     L = (1/P) sum_groups (1 / (2 beta)) Var(q);   d L / d lp_it = -(q_i - mean_G q) / (P (n - 1))
 *
 * Division by beta gives the scale of REINFORCE. Samples may come from anywhere. Token weights only silence: a sequence whose
 * weights are all 0 is left out; a group with fewer than two is not counted. Advantages are not read.
 *
 * Source: AGRO, arXiv 2503.19612, any-generation (off-policy) gradient.
 *
 * @throws MyriadError 'usage' from `evaluate` without reference logprobs or sequence infos
 * @example const loss = agroLoss(0.1)
 */
export function agroLoss(beta: number): Loss {
  return {
    name: 'agro',
    evaluate: (tokens) => {
      const { logprobs, referenceLogprobs, sequences } = tokens
      if (logprobs.length === 0) return { value: 0, gradient: new Float64Array(), metrics: {} }
      if (!referenceLogprobs || !sequences)
        throw new MyriadError('usage', 'agro needs reference logprobs and what each sequence is')
      const groups = new Map<number, { span: Span; q: number }[]>()
      for (const span of spansOf(tokens)) {
        const { group, reward } = sequences[span.segment]
        if (span.weight === 0) continue
        let divergence = 0
        for (let t = span.start; t < span.end; t++) divergence += logprobs[t] - referenceLogprobs[t]
        groups.set(group, [...(groups.get(group) ?? []), { span, q: reward - beta * divergence }])
      }
      const counted = [...groups.values()].filter((members) => members.length > 1)
      const gradient = new Float64Array(logprobs.length)
      let value = 0
      for (const members of counted) {
        const mean = members.reduce((sum, { q }) => sum + q / members.length, 0)
        const scale = 1 / (counted.length * (members.length - 1))
        for (const { span, q } of members) {
          value += (scale * (q - mean) ** 2) / (2 * beta)
          gradient.fill(-scale * (q - mean), span.start, span.end)
        }
      }
      if (!Number.isFinite(value))
        throw new MyriadError('numeric', 'agro loss is not finite: a reward or logprob is not')
      return { value, gradient, metrics: {} }
    },
  }
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'ours' as const,
  rows: ['A069'],
  formula: 'L = mean_G Var_G(R_i - beta sum_t (lp - rlp)) / (2 beta)',
  reference:
    'AGRO, arXiv 2503.19612; of its estimators the one for data from any policy; division by beta decided here',
  options: z.strictObject({ beta: z.number().positive().default(0.1) }),
}

export const agroPart = objective({
  ...about,
  kind: 'loss',
  name: 'agro-loss',
  summary: 'Half the variance within a group of the reward less beta times the log-ratio to the reference.',
  use: 'On-policy or off-policy samples of a prompt, at least two each.',
  needs: { reference: 'initial' },
  make: ({ beta }) => agroLoss(beta),
})

export const agro = objective({
  ...about,
  kind: 'method',
  name: 'agro',
  summary: 'Any-generation reward optimization: makes the regularized reward equal among replies to a prompt.',
  use: 'KL-regularized learning that stays right on stale samples. Sums over tokens: rescale beta for long replies.',
  make: ({ beta }) =>
    method(
      'agro',
      { aggregation: 'sequence-mean-token-mean' },
      {
        advantage: plainRewards,
        dynamicSampling: false,
        loss: agroLoss(beta),
        needs: { reference: 'initial' },
      },
    ),
})
