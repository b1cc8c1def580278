import { z } from 'zod'
import { normalizeGroup } from '../advantages.js'
import { objective, type Shaping } from '../objective.js'
import type { AdvantageEstimator, Group, Trajectory } from '../types.js'
import { groupMethod, groupMethodOptions, type GroupMethodOptions } from './group-method.js'
import { reward, spread } from './statistics.js'

/** Indexes of groups that are one problem in several languages: task and key are equal. */
export function coupledGroups(groups: readonly Group[]): number[][] {
  const coupled = new Map<string, number[]>()
  groups.forEach(({ problem }, g) => {
    const key = JSON.stringify([problem.task, problem.key])
    coupled.set(key, [...(coupled.get(key) ?? []), g])
  })
  return [...coupled.values()]
}

/**
 * Group advantages over all rollouts of one problem, whatever language it was put in: mean and deviation are shared by its
 * groups, so that a language that lags is told so. Source: LcRL, arXiv 2601.14896.
 *
 * @example const estimate = coupledAdvantages({ normalization: 'mean-std' })
 */
export function coupledAdvantages(options: Pick<GroupMethodOptions, 'normalization' | 'epsilon'>): AdvantageEstimator {
  return (groups) => {
    const values: number[][] = groups.map(() => [])
    for (const indexes of coupledGroups(groups)) {
      const rewards = indexes.flatMap((g) => groups[g].trajectories.map((trajectory) => trajectory.reward))
      const advantages = normalizeGroup(rewards, options)
      let from = 0
      for (const g of indexes) values[g] = advantages.slice(from, (from += groups[g].trajectories.length))
    }
    return spread(groups, values)
  }
}

/**
 * Recall of character 3-grams: the share of those of `reference` that occur in `text`, each as often as it occurs there.
 * A reference of fewer than 3 characters is one gram. 0 where the reference is empty.
 *
 * @example trigramRecall('abcd', 'abce') // 0.5
 */
export function trigramRecall(text: string, reference: string): number {
  const gramsOf = (of: string): string[] => {
    const characters = [...of]
    if (characters.length <= 3) return characters.length > 0 ? [of] : []
    return characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(''))
  }
  const left = new Map<string, number>()
  for (const gram of gramsOf(text)) left.set(gram, (left.get(gram) ?? 0) + 1)
  const wanted = gramsOf(reference)
  let found = 0
  for (const gram of wanted) {
    const count = left.get(gram) ?? 0
    if (count > 0) found++
    left.set(gram, count - 1)
  }
  return wanted.length === 0 ? 0 : found / wanted.length
}

/**
 * Penalty on wrong answers that agree, in [-0.5, 0]; right answers, and one wrong answer alone, have 0:
 *
 *     P_i = -min(1, wrong / 5) max(0, max over other wrong j of sim(i, j) - 0.5),   sim = mean of both 3-gram recalls
 *
 * The paper's text speaks of punishing conflict, its code punishes wrong consensus; this is the code.
 * Source: LcRL, arXiv 2601.14896.
 *
 * @param answers of one coupled group; `scores` below `threshold` (0.4) are wrong
 * @example antiConsistency(['Paris', 'Lyon city', 'Lyon city'], [1, 0, 0]) // [0, -0.2, -0.2]
 */
export function antiConsistency(answers: readonly string[], scores: readonly number[], threshold = 0.4): number[] {
  const wrong = answers.flatMap((_, i) => (scores[i] < threshold ? [i] : []))
  const similarity = (a: string, b: string): number => (trigramRecall(a, b) + trigramRecall(b, a)) / 2
  return answers.map((answer, i) => {
    if (wrong.length < 2 || !wrong.includes(i)) return 0
    const closest = Math.max(...wrong.map((j) => (j === i ? 0 : similarity(answer, answers[j]))))
    return Math.max(-0.5, -Math.min(1, wrong.length / 5) * Math.max(0, closest - 0.5)) + 0
  })
}

/** The last thing the policy said. */
export function replyOf({ messages }: Trajectory): string {
  return messages.findLast(({ role }) => role === 'assistant')?.content ?? ''
}

const penaltyOptions = {
  /** Weight of the penalty. */
  weight: z.number().min(0).default(0.02),
  /** Rewards below it are of wrong answers. */
  threshold: z.number().default(0.4),
  /** Rewards are clamped to [0, ceiling] after the penalty. */
  ceiling: z.number().default(1.5),
}

function antiConsistencyShaping(options: { weight: number; threshold: number; ceiling: number }): Shaping {
  return (groups) => {
    const penalties: number[][] = groups.map(() => [])
    for (const indexes of coupledGroups(groups)) {
      const trajectories = indexes.flatMap((g) => groups[g].trajectories)
      const all = antiConsistency(
        trajectories.map(replyOf),
        trajectories.map((trajectory) => trajectory.reward),
        options.threshold,
      )
      let from = 0
      for (const g of indexes) penalties[g] = all.slice(from, (from += groups[g].trajectories.length))
    }
    const shaped = reward(groups, 'anti-consistency', (trajectory, g, i) =>
      Math.min(options.ceiling, Math.max(0, trajectory.reward + options.weight * penalties[g][i])),
    )
    return { groups: shaped, metrics: { punished: penalties.flat().filter((penalty) => penalty < 0).length } }
  }
}

const about = {
  family: 'multi-reward',
  reference: 'LcRL, arXiv 2601.14896, and its code. Decided here: 3-grams count as often as they occur',
  standing: 'source',
  rows: ['A004'],
} as const

export const antiConsistencyPart = objective({
  ...about,
  kind: 'shaping',
  name: 'anti-consistency',
  summary: 'Wrong answers to one problem that agree with each other lose reward.',
  formula: 'R_i <- clamp(R_i + w P_i, 0, 1.5);  P_i = -min(1, wrong/5) max(0, max_j sim(i, j) - 0.5)',
  use: 'Answers in words. Rewards must be in [0, 1.5] already: they are clamped there.',
  options: z.strictObject(penaltyOptions),
  make: antiConsistencyShaping,
})

export const coupledAdvantagesPart = objective({
  ...about,
  kind: 'advantage',
  name: 'language-coupled-advantages',
  summary: 'One group for all rollouts of a problem, over the languages it was put in.',
  formula: 'A_i = (R_i - mean) / (std + eps) over all rollouts with one task and key',
  use: 'With curriculum.languagesPerProblem above 1: a step must hold a problem in several languages, else it is GRPO. Leave dynamic sampling off.',
  options: z.strictObject({ normalization: groupMethodOptions.normalization, epsilon: groupMethodOptions.epsilon }),
  make: coupledAdvantages,
})

export const lcrl = objective({
  ...about,
  kind: 'method',
  name: 'lcrl',
  summary: 'Groups of one problem coupled over languages, with a penalty on wrong answers that agree.',
  formula: `${antiConsistencyPart.formula};  ${coupledAdvantagesPart.formula}`,
  use: 'With curriculum.languagesPerProblem above 1 and tasks whose problems have one key in all languages. Else only the penalty is left.',
  options: z.strictObject({
    ...groupMethodOptions,
    ...penaltyOptions,
    klCoefficient: z.number().min(0).default(5e-4),
  }),
  make: (options) =>
    groupMethod('lcrl', options, {
      shaping: [{ name: 'anti-consistency', run: antiConsistencyShaping(options) }],
      advantage: coupledAdvantages(options),
      // A group that is all right in one language teaches beside one that is all wrong in another.
      dynamicSampling: false,
    }),
})
