import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import type { Group } from '../types.js'
import { logRatio, rankingsOf, sequenceLoss, type Completion } from './completions.js'
import type { Comparisons } from './comparisons.js'
import { logSumExp } from './logistic.js'
import { lossAndMethod } from './method.js'

/**
 * Plackett-Luce loss of scores with ranks, 0 the best. Each item that has worse ones is drawn before them:
 *
 *     L = -sum_i [u_i - logsumexp({u_i} and all u_j of worse rank)]
 *
 * Without ties this is Plackett and Luce's likelihood of the ranking. Items of one rank are not compared (ours). `top` keeps
 * only items of a rank below it: 1 is a softmax cross-entropy of the best against all.
 * Sources: Plackett 1975; arXiv 2305.18290, appendix A.3.
 *
 * @param scores [items]; ranks [items], in any order
 * @returns value and derivatives by the scores: [items]
 * @example plackettLuce([2, 1, 0], [0, 1, 2])
 */
export function plackettLuce(
  scores: readonly number[],
  ranks: readonly number[],
  top = Infinity,
): { value: number; gradient: number[] } {
  const gradient = scores.map(() => 0)
  let value = 0
  scores.forEach((score, i) => {
    const behind = [...scores.keys()].filter((j) => ranks[j] > ranks[i])
    if (behind.length === 0 || ranks[i] >= top) return
    const field = [i, ...behind]
    const total = logSumExp(field.map((j) => scores[j]))
    value += total - score
    gradient[i] -= 1
    for (const j of field) gradient[j] += Math.exp(scores[j] - total)
  })
  return { value, gradient }
}

/**
 * DPO of rankings: plackettLuce of u = beta (s - s_ref), a mean over rankings (sequences of one `pair`, with `rank`). Rankings
 * of fewer than two ranks do not count.
 *
 * @example plackettLuceDpoLoss({ beta: 0.1 })
 */
export function plackettLuceDpoLoss(options: { beta: number; top?: number }): Loss {
  const { beta, top } = options
  return sequenceLoss({
    name: 'plackett-luce-dpo',
    reference: true,
    evaluate(completions) {
      const rankings = rankingsOf(completions).filter((items) => new Set(items.map(rankOf)).size > 1)
      const slopes = new Map<Completion, number>()
      let value = 0
      for (const items of rankings) {
        const result = plackettLuce(
          items.map((item) => beta * logRatio(item)),
          items.map(rankOf),
          top,
        )
        value += result.value / rankings.length
        items.forEach((item, i) => slopes.set(item, (beta * result.gradient[i]) / rankings.length))
      }
      return { value, slopes, metrics: {} }
    },
  })
}

const rankOf = ({ info }: Completion): number => info.rank ?? (info.role === 'rejected' ? 1 : 0)

/** Every group as one ranking by reward; equal rewards share a rank, and the best are chosen, the others rejected. */
export function rankGroups(groups: readonly Group[]): Comparisons[] {
  return groups.map(({ trajectories }) => {
    const levels = [...new Set(trajectories.map(({ reward }) => reward))].sort((a, b) => b - a)
    if (levels.length < 2) return []
    return [
      trajectories.map(({ reward }, trajectory) => {
        const rank = levels.indexOf(reward)
        return { trajectory, rank, role: rank === 0 ? ('chosen' as const) : ('rejected' as const) }
      }),
    ]
  })
}

export const plackettLuceDpo = lossAndMethod({
  name: 'plackett-luce-dpo',
  summary: 'DPO of whole rankings: each reply is preferred to all that are worse.',
  formula: 'L = -sum_k [u_k - log sum_{j >= k} exp u_j],  u = beta (s - s_ref), sorted best first',
  reference: 'arXiv 2305.18290, appendix A.3; ties (replies of equal reward are not compared) are ours',
  standing: 'source',
  use: 'Graded rewards of four or more replies. Of two it is DPO.',
  rows: ['A017'],
  shape: {
    beta: z.number().positive().default(0.1),
    /** Only so many ranks are told from what is worse; all unless given. */
    top: z.number().int().positive().optional(),
  },
  loss: plackettLuceDpoLoss,
  referenceNeeded: true,
  compare: () => rankGroups,
})
