import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective, type Selection } from '../objective.js'

/**
 * How far the siblings of a group part at one position: the mean over them of sum_v (exp(d) - d - 1), d = mean over them of
 * lp(v), less their own lp(v), clamped to +-11. The sum is not weighted by probability, as in the released code.
 *
 * @param logprobs one list over the same vocabulary for each sibling: [siblings][tokens]
 * @example positionDivergence([[-1, -2], [-1, -2]]) // 0
 */
export function positionDivergence(logprobs: readonly (readonly number[])[]): number {
  const means = logprobs[0].map((_, v) => logprobs.reduce((sum, row) => sum + row[v] / logprobs.length, 0))
  return logprobs.reduce((sum, row) => {
    const own = row.reduce((total, logprob, v) => {
      const d = Math.min(11, Math.max(-11, means[v] - logprob))
      return total + Math.exp(d) - d - 1
    }, 0)
    return sum + own / logprobs.length
  }, 0)
}

/**
 * Weights of positions from their divergences: 1 + (alpha - 1) (D - min) / (max - min); all 1 where D does not vary.
 *
 * @example positionWeights([0, 2, 1], 1.4) // [1, 1.4, 1.2]
 */
export function positionWeights(divergences: readonly number[], alpha: number): number[] {
  const low = Math.min(...divergences)
  const range = Math.max(...divergences) - low
  return divergences.map((divergence) => (range > 0 ? 1 + ((alpha - 1) * (divergence - low)) / range : 1))
}

/** Weights by position among the sampled tokens, shared by the sequences of a group, from their alternatives. */
export function positionSelection(alpha: number): Selection {
  return (sequences) => {
    const groups = new Map<number, number[]>()
    sequences.forEach(({ info }, i) => groups.set(info?.group ?? -1, [...(groups.get(info?.group ?? -1) ?? []), i]))
    const rows = sequences.map(({ mask }) => new Float32Array(mask.length))
    for (const members of groups.values()) {
      const own = members.map((i) => ({ row: rows[i], sequence: sequences[i], places: placesOf(sequences[i]) }))
      const longest = Math.max(0, ...own.map(({ places }) => places.length))
      const divergences = Array.from({ length: longest }, (_, p) =>
        positionDivergence(commonVocabulary(own.map(({ sequence, places }) => listAt(sequence, places[p])))),
      )
      const weights = longest > 0 ? positionWeights(divergences, alpha) : []
      for (const { row, places } of own) places.forEach((t, p) => (row[t] = weights[p]))
    }
    return rows
  }
}

function placesOf({ mask }: TrainSequence): number[] {
  return [...mask.keys()].filter((t) => mask[t])
}

/** Alternatives of a place by id; null where the sequence has ended. */
function listAt({ alternatives }: TrainSequence, t: number | undefined): Map<number, number> | null {
  if (!alternatives) throw new MyriadError('usage', 'weights of positions need scored alternatives')
  if (t === undefined) return null
  const { count, ids, logprobs } = alternatives
  return new Map(
    Array.from({ length: count }, (_, k) => t * count + k).flatMap((v) =>
      ids[v] >= 0 ? [[ids[v], logprobs[v]] as const] : [],
    ),
  )
}

/** Logprobs over all ids that any sibling lists; one that a sibling does not list is as improbable as its least listed one. */
function commonVocabulary(lists: readonly (Map<number, number> | null)[]): number[][] {
  const ids = [...new Set(lists.flatMap((list) => [...(list?.keys() ?? [])]))]
  return lists.map((list) => {
    if (!list) return ids.map(() => -Math.log(ids.length))
    const floor = Math.min(...list.values())
    return ids.map((id) => list.get(id) ?? floor)
  })
}

const about = {
  family: 'credit',
  formula: 'w_t = 1 + (alpha - 1) minmax_t(D_t),  D_t = mean_i sum_v (exp(d) - d - 1), d = mean_j lp_j(v) - lp_i(v)',
  reference:
    'TW-GRPO, arXiv 2505.24718, and its code. Decided here: weights are constants; the K most probable tokens stand for the vocabulary; an ended sibling is uniform over them',
  standing: 'ours',
  rows: ['B142'],
} as const

const options = {
  alpha: z.number().min(1).default(1.4),
  /** K alternatives of each token. */
  size: z.number().int().positive().default(16),
}

export const positionWeightsPart = objective({
  ...about,
  kind: 'selection',
  name: 'position-weights',
  summary: 'Positions where the siblings of a group part weigh more.',
  use: 'Replies of one structure: position t of one must mean something at position t of another.',
  options: z.strictObject(options),
  needs: { old: true, alternatives: 16 },
  make: ({ alpha }) => positionSelection(alpha),
})

export const twGrpo = objective({
  ...about,
  kind: 'method',
  name: 'tw-grpo',
  summary: 'GRPO whose tokens weigh by how far siblings part at their position.',
  use: positionWeightsPart.use,
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: ({ alpha, size, ...chosen }) =>
    groupMethod('tw-grpo', chosen, {
      selections: [{ name: 'position-weights', run: positionSelection(alpha) }],
      needs: { old: true, alternatives: size },
    }),
})

/**
 * TW-GRPO's reward of a multiple choice: the share of right options that were named, 0 as soon as a wrong one was.
 *
 * @example multiChoiceReward(['A'], ['A', 'C']) // 0.5
 */
export function multiChoiceReward(named: readonly string[], right: readonly string[]): number {
  const chosen = new Set(named)
  return right.length > 0 && [...chosen].every((option) => right.includes(option)) ? chosen.size / right.length : 0
}
