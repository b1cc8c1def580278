import { z } from 'zod'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { spread } from '../multi/statistics.js'
import { objective, type Adjustment } from '../objective.js'
import type { Group } from '../types.js'
import { answerExtractor, answerOptions, digest, problemDigest, type AnswerExtractor } from './answers.js'

export const HISTORICAL_BONUSES = ['ucb', 'ucb-mean', 'ucb-con'] as const
export type HistoricalBonus = (typeof HISTORICAL_BONUSES)[number]

/**
 * Bonuses for answers that were rarely seen for a problem. With N the number of times an answer was seen, this time included:
 *
 *     b = min(1, sqrt(1 / N))     'ucb'
 *     b - mean of the group's b   'ucb-mean'
 *     b - baseline                'ucb-con': with 0.5, what was seen more than 4 times is punished
 *
 * b is 0 where there is no answer (N null), so that failing to answer is never something new.
 *
 * @param visits N of each sample: [samples]
 * @example historicalBonus([1, 4, null], 'ucb') // [1, 0.5, 0]
 */
export function historicalBonus(visits: readonly (number | null)[], kind: HistoricalBonus, baseline = 0.5): number[] {
  const bonuses = visits.map((n) => (n === null ? 0 : Math.min(1, Math.sqrt(1 / n))))
  if (kind === 'ucb') return bonuses
  const mean = bonuses.reduce((sum, bonus) => sum + bonus / bonuses.length, 0)
  return bonuses.map((bonus) => bonus - (kind === 'ucb-mean' ? mean : baseline))
}

/**
 * Penalties for answers that others of the batch gave as well: b_i = -(1/G) sum_{j != i} 1[a_j = a_i]. All that have no
 * answer count as equal.
 *
 * @returns from -(G-1)/G to 0: [samples]
 * @example batchBonus(['a', 'a', 'b', null]) // [-0.25, -0.25, 0, 0]
 */
export function batchBonus(answers: readonly (string | null)[]): number[] {
  return answers.map((answer) => -(answers.filter((other) => other === answer).length - 1) / answers.length)
}

/** Times that answers were seen, by digest of the problem and of the answer. */
export type OutcomeCounts = Record<string, Record<string, number>>

/**
 * Counts a group's answers in. Problems beyond `limit` are forgotten, those not seen for longest first. Input is not changed.
 */
export function countOutcomes(
  counts: OutcomeCounts,
  problem: string,
  answers: readonly (string | null)[],
  limit = 10_000,
): OutcomeCounts {
  const { [problem]: known, ...others } = counts
  const seen = { ...known }
  for (const answer of answers) if (answer !== null) seen[digest(answer)] = (seen[digest(answer)] ?? 0) + 1
  const entries = [...Object.entries(others), [problem, seen] as const]
  return Object.fromEntries(entries.slice(-limit))
}

interface HistoricalOptions {
  bonus: HistoricalBonus
  coefficient: number
  baseline: number
  problems: number
}

function addBonuses(
  advantages: readonly (readonly Float32Array[])[],
  groups: readonly Group[],
  bonuses: readonly (readonly number[])[],
): Float32Array[][] {
  return spread(groups, bonuses).map((group, g) =>
    group.map((bonus, i) => bonus.map((value, t) => value + advantages[g][i][t])),
  )
}

/**
 * Adds historical outcome bonuses to advantages; counts are its state. A step's whole group is counted before it is scored.
 *
 * @param extract tells the answer of a trajectory
 */
export function historicalExploration(options: HistoricalOptions, extract: AnswerExtractor): Adjustment {
  return (advantages, groups, { state }) => {
    let counts = (state ?? {}) as OutcomeCounts
    const bonuses = groups.map((group) => {
      const answers = group.trajectories.map(extract)
      const problem = problemDigest(group)
      counts = countOutcomes(counts, problem, answers, options.problems)
      const visits = answers.map((answer) => (answer === null ? null : counts[problem][digest(answer)]))
      return historicalBonus(visits, options.bonus, options.baseline).map((bonus) => options.coefficient * bonus)
    })
    return { advantages: addBonuses(advantages, groups, bonuses), state: counts, metrics: { bonus: meanOf(bonuses) } }
  }
}

/** Adds batch outcome penalties to advantages. */
export function batchExploration(coefficient: number, extract: AnswerExtractor): Adjustment {
  return (advantages, groups) => {
    const bonuses = groups.map(({ trajectories }) =>
      batchBonus(trajectories.map(extract)).map((bonus) => coefficient * bonus),
    )
    return { advantages: addBonuses(advantages, groups, bonuses), metrics: { bonus: meanOf(bonuses) } }
  }
}

function meanOf(values: readonly (readonly number[])[]): number {
  const all = values.flat()
  return all.reduce((sum, value) => sum + value / all.length, 0)
}

const historicalOptions = {
  ...answerOptions,
  bonus: z.enum(HISTORICAL_BONUSES).default('ucb-con'),
  /** What a bonus of 1 adds to a normalized advantage. */
  coefficient: z.number().default(0.1),
  /** Of 'ucb-con'. */
  baseline: z.number().default(0.5),
  /** How many problems are remembered. */
  problems: z.number().int().positive().default(10_000),
}
const batchOptions = { ...answerOptions, coefficient: z.number().default(0.1) }

export const historicalPart = objective({
  kind: 'adjustment',
  name: 'historical-outcomes',
  family: 'exploration',
  summary: 'Adds to advantages a bonus for final answers that were rarely given to this problem so far.',
  formula: 'A_i + c b_i,  b = min(1, sqrt(1/N)) [- mean_G b | - b0], N times the answer was seen, this step included',
  reference:
    'Outcome-based exploration, arXiv 2509.06941; ours: c = 0.1, the step is counted before it is scored, no answer has b = 0',
  standing: 'second-hand',
  use: 'Answers are few and problems come back. Only UCB-Con helps variety at test time. Groups of equal rewards should be kept.',
  rows: ['A095'],
  options: z.strictObject(historicalOptions),
  make: (options) => historicalExploration(options, answerExtractor(options.answer)),
})

export const batchPart = objective({
  kind: 'adjustment',
  name: 'batch-outcomes',
  family: 'exploration',
  summary: 'Takes from advantages a penalty for final answers that siblings gave as well.',
  formula: 'A_i - (c/G) sum_{j != i} 1[a_j = a_i]',
  reference: 'Outcome-based exploration, arXiv 2509.06941; ours: c = 0.1',
  standing: 'second-hand',
  use: 'Variety of answers within a group at test time. Right answers that all give are punished too: keep c small.',
  rows: ['A095'],
  options: z.strictObject(batchOptions),
  make: (options) => batchExploration(options.coefficient, answerExtractor(options.answer)),
})

export const outcomeExploration = objective({
  ...historicalPart,
  kind: 'method',
  name: 'outcome-exploration',
  options: z.strictObject({ ...groupMethodOptions, ...historicalOptions }),
  make: (options) =>
    groupMethod('outcome-exploration', options, {
      dynamicSampling: false,
      adjustments: [{ name: 'historical-outcomes', run: historicalPart.make(options) }],
    }),
})

export const batchOutcomeExploration = objective({
  ...batchPart,
  kind: 'method',
  name: 'batch-exploration',
  options: z.strictObject({ ...groupMethodOptions, ...batchOptions }),
  make: (options) =>
    groupMethod('batch-exploration', options, {
      dynamicSampling: false,
      adjustments: [{ name: 'batch-outcomes', run: batchPart.make(options) }],
    }),
})
