import { z } from 'zod'
import { answerExtractor, answerOptions, type AnswerExtractor } from '../exploration/answers.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { moments, reward, spread } from '../multi/statistics.js'
import { objective, type Shaping } from '../objective.js'
import type { AdvantageEstimator, Group } from '../types.js'
import { tally } from './votes.js'

/**
 * Rewards of TTRV: the share of samples that gave one's own answer, minus alpha times the entropy (nats) of the answers of
 * the group. A missing answer has share 0; the entropy is over the answers there are.
 *
 * @example frequencyRewards(['a', 'a', 'b', null], 0) // [0.5, 0.5, 0.25, 0]
 */
export function frequencyRewards(answers: readonly (string | null)[], alpha: number): number[] {
  const counts = tally(answers)
  const answered = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const entropy = [...counts.values()].reduce((sum, count) => sum - (count / answered) * Math.log(count / answered), 0)
  return answers.map((answer) => (answer === null ? 0 : counts.get(answer)! / answers.length) - alpha * entropy)
}

/**
 * How many of the other samples agree: (count of one's own answer - 1) / (n - 1), over all groups that pose one problem
 * (task and key), in whatever words or language. Missing answers agree with nobody; one sample alone has 0.
 *
 * @param answers [groups][samples]
 * @param problems the groups of one problem share it: [groups]
 * @example consistencyRewards([['7', '8'], ['7']], ['p', 'p']) // [[0.5, 0], [0.5]]
 */
export function consistencyRewards(
  answers: readonly (readonly (string | null)[])[],
  problems: readonly string[],
): number[][] {
  return answers.map((group, g) => {
    const pool = answers.filter((_, other) => problems[other] === problems[g]).flat()
    const counts = tally(pool)
    return group.map((answer) =>
      answer === null || pool.length < 2 ? 0 : (counts.get(answer)! - 1) / (pool.length - 1),
    )
  })
}

function frequencyShaping(alpha: number, extract: AnswerExtractor): Shaping {
  return (groups) => {
    const rewards = groups.map(({ trajectories }) => frequencyRewards(trajectories.map(extract), alpha))
    return { groups: reward(groups, 'frequency', (_, g, i) => rewards[g][i]) }
  }
}

function consistencyShaping(extract: AnswerExtractor): Shaping {
  return (groups) => {
    const rewards = consistencyRewards(
      groups.map(({ trajectories }) => trajectories.map(extract)),
      groups.map(({ problem }) => JSON.stringify([problem.task, problem.key])),
    )
    return { groups: reward(groups, 'consistency', (_, g, i) => rewards[g][i]) }
  }
}

/** (R - mean) / (std + epsilon) over all samples of the step instead of those of a group. */
function batchAdvantages(epsilon: number): AdvantageEstimator {
  return (groups: readonly Group[]) => {
    const rewards = groups.map(({ trajectories }) => trajectories.map((trajectory) => trajectory.reward))
    const { mean, deviation } = moments(rewards.flat())
    return spread(
      groups,
      rewards.map((row) => row.map((value) => (deviation === 0 ? 0 : (value - mean) / (deviation + epsilon)))),
    )
  }
}

const frequencyOptions = {
  ...answerOptions,
  /** Weight of the entropy of answers. */
  alpha: z.number().default(0.75),
}

export const frequencyPart = objective({
  kind: 'shaping',
  name: 'answer-frequency',
  family: 'label-free',
  summary:
    "A sample is rewarded by the share of its group that gave its answer, less the entropy of the group's answers.",
  formula: 'R_i = p(a_i) - alpha H(p);  the second term cancels under any baseline of the group',
  reference: 'TTRV, arXiv 2510.06783; ours: missing answers have share 0',
  standing: 'second-hand',
  use: 'Without labels, softer than a majority vote. alpha does nothing unless the baseline is of the whole batch.',
  rows: ['B094'],
  options: z.strictObject(frequencyOptions),
  make: ({ alpha, answer }) => frequencyShaping(alpha, answerExtractor(answer)),
})

export const ttrv = objective({
  ...frequencyPart,
  kind: 'method',
  name: 'ttrv',
  options: z.strictObject({
    ...groupMethodOptions,
    ...frequencyOptions,
    /** As published, 'group', alpha cannot matter; under 'batch' problems whose answers agree gain. */
    baseline: z.enum(['group', 'batch']).default('group'),
  }),
  make: (options) =>
    groupMethod('ttrv', options, {
      shaping: [{ name: 'answer-frequency', run: frequencyPart.make(options) }],
      ...(options.baseline === 'batch' ? { dynamicSampling: false, advantage: batchAdvantages(options.epsilon) } : {}),
    }),
})

export const consistencyPart = objective({
  kind: 'shaping',
  name: 'answer-consistency',
  family: 'label-free',
  summary: 'A sample is rewarded by the share of other samples of the problem, in any wording or language, that agree.',
  formula: 'R_i = (#{j: a_j = a_i} - 1) / (n - 1), over all groups with the task and key of the problem',
  reference:
    'Self-consistency (arXiv 2203.11171) as a reward; pooled over wordings after consistency alignment (arXiv 2403.14221): ours',
  standing: 'ours',
  use: 'The same problems in several languages or wordings, and answers that do not depend on them (numbers, choices).',
  rows: [],
  options: z.strictObject(answerOptions),
  make: ({ answer }) => consistencyShaping(answerExtractor(answer)),
})

export const consistencyMethod = objective({
  ...consistencyPart,
  kind: 'method',
  name: 'answer-consistency-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...answerOptions }),
  make: (options) =>
    groupMethod('answer-consistency-grpo', options, {
      shaping: [{ name: 'answer-consistency', run: consistencyPart.make(options) }],
    }),
})
