import { z } from 'zod'
import { objective } from '../objective.js'
import { plackettLuce } from '../preference/listwise.js'
import { bradleyTerryPair } from './pairwise.js'
import { comparisonsOf, finiteResult, oneHead, type ScoreLoss } from './types.js'

/**
 * The mean over rankings of plackettLuce. Equal ranks are not compared; comparisons of one rank do not count.
 *
 * @example plackettLuceRewardLoss({ top: 1 })
 */
export function plackettLuceRewardLoss(options: { top?: number } = {}): ScoreLoss {
  return rankingLoss('plackett-luce', (scores, ranks) => plackettLuce(scores, ranks, options.top))
}

/**
 * InstructGPT: Bradley-Terry over every two of a ranking whose ranks differ, a mean within the ranking and then over rankings,
 * so that long rankings do not outweigh short ones. Source: arXiv 2203.02155, equation 1.
 *
 * @example allPairs([2, 1, 0], [0, 1, 2]) // value and derivatives: [items]
 */
export function allPairs(scores: readonly number[], ranks: readonly number[]): { value: number; gradient: number[] } {
  const gradient = scores.map(() => 0)
  const pairs = [...scores.keys()].flatMap((i) =>
    [...scores.keys()].filter((j) => ranks[i] < ranks[j]).map((j) => [i, j] as const),
  )
  let value = 0
  for (const [i, j] of pairs) {
    const terms = bradleyTerryPair(scores[i], scores[j])
    value += terms.value / pairs.length
    gradient[i] += terms.better / pairs.length
    gradient[j] += terms.worse / pairs.length
  }
  return { value, gradient }
}

function rankingLoss(
  name: string,
  of: (scores: readonly number[], ranks: readonly number[]) => { value: number; gradient: number[] },
): ScoreLoss {
  return {
    name,
    evaluate(batch) {
      const scores = oneHead(name, batch)
      const rankOf = (i: number): number => batch.items[i].rank ?? 0
      const rankings = comparisonsOf(batch.items).filter((members) => new Set(members.map(rankOf)).size > 1)
      const gradient = new Float64Array(scores.length)
      let value = 0
      for (const members of rankings) {
        const result = of(
          members.map((i) => scores[i]),
          members.map(rankOf),
        )
        value += result.value / rankings.length
        members.forEach((i, k) => (gradient[i] = result.gradient[k] / rankings.length))
      }
      return finiteResult(name, { value, gradient, metrics: {} })
    },
  }
}

export const plackettLuceReward = objective({
  kind: 'function',
  name: 'plackett-luce',
  family: 'reward-model',
  summary: 'A whole ranking is made likely: each reply is drawn before all that are worse.',
  formula: 'L = -sum_k [R_k - log sum_{j >= k} exp R_j], sorted best first',
  reference: 'Plackett 1975; Luce 1959. Replies of equal rank are not compared (ours)',
  standing: 'source',
  use: 'Rankings of three and more. Of two it is Bradley-Terry; `top` 1 is a cross-entropy of the best.',
  rows: ['A017'],
  options: z.strictObject({ top: z.number().int().positive().optional() }),
  make: plackettLuceRewardLoss,
})

export const allPairsReward = objective({
  kind: 'function',
  name: 'all-pairs',
  family: 'reward-model',
  summary: 'Every two of a ranking are compared, and each ranking counts once (InstructGPT).',
  formula: 'L = mean over rankings of mean over i better than j of -log sig(R_i - R_j)',
  reference: 'arXiv 2203.02155, equation 1',
  standing: 'source',
  use: 'Rankings by people, four to nine long. Trains on a ranking as one batch item, so that it does not overfit.',
  rows: ['A017'],
  options: z.strictObject({}),
  make: () => rankingLoss('all-pairs', allPairs),
})
