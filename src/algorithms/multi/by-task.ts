import { z } from 'zod'
import { objective, type Adjustment } from '../objective.js'
import type { Group } from '../types.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { moments } from './statistics.js'

export const GROUP_KEYS = ['task', 'language', 'task-and-language'] as const

/** What groups of a step are told apart by. */
export function keyOf({ problem }: Group, by: (typeof GROUP_KEYS)[number]): string {
  if (by === 'task') return problem.task
  return by === 'language' ? problem.language : `${problem.task} ${problem.language}`
}

/**
 * Advantages of the tokens of each task (or language), to mean 0 and variance 1: (A - mu) / (sigma + epsilon), mu and sigma
 * over all sampled tokens of that task in the step, sigma dividing by their number. Token weighted: long trajectories weigh
 * more. Where all tokens of a task have one advantage it becomes 0.
 *
 * @example const normalize = normalizeBy('task')
 */
export function normalizeBy(by: (typeof GROUP_KEYS)[number], epsilon = 1e-6): Adjustment {
  return (advantages, groups) => {
    const tokens = new Map<string, number[]>()
    groups.forEach((group, g) => {
      const own = tokens.get(keyOf(group, by)) ?? []
      group.trajectories.forEach(({ mask }, i) => {
        for (let t = 0; t < mask.length; t++) if (mask[t]) own.push(advantages[g][i][t])
      })
      tokens.set(keyOf(group, by), own)
    })
    const statistics = new Map([...tokens].map(([key, values]) => [key, moments(values, 0)]))
    return {
      advantages: groups.map((group, g) => {
        const { mean, deviation } = statistics.get(keyOf(group, by))!
        return group.trajectories.map(({ mask }, i) =>
          advantages[g][i].map((value, t) => (mask[t] && deviation > 0 ? (value - mean) / (deviation + epsilon) : 0)),
        )
      }),
      metrics: { keys: statistics.size },
    }
  }
}

const about = {
  family: 'multi-reward',
  reference: 'AgentRL, arXiv 2510.04206, equation 1 (task advantage normalization), from a note that quotes it',
  standing: 'second-hand',
} as const

const epsilon = groupMethodOptions.epsilon

export const taskNormalization = objective({
  ...about,
  kind: 'adjustment',
  name: 'agent-rl-task-normalization',
  summary: 'Advantages of all tokens of a task, to mean 0 and variance 1.',
  formula: 'A~_it = (A_it - mu_task) / (sigma_task + eps), mu and sigma over the sampled tokens of the task',
  use: 'Several tasks in one step whose rewards differ in scale or difficulty.',
  rows: ['B006'],
  options: z.strictObject({ epsilon }),
  make: (options) => normalizeBy('task', options.epsilon),
})

export const languageNormalization = objective({
  ...about,
  kind: 'adjustment',
  name: 'language-normalization',
  summary: 'Advantages of all tokens of a language, to mean 0 and variance 1.',
  formula: 'A~_it = (A_it - mu_lang) / (sigma_lang + eps), mu and sigma over the sampled tokens of the language',
  reference: `${about.reference}; by language instead of task is ours`,
  standing: 'ours',
  use: 'Several languages in one step, where one (often English) would lead the gradient.',
  rows: [],
  options: z.strictObject({
    epsilon,
    /** Normalize languages within each task, not over all of them. */
    within: z.enum(['all', 'task']).default('all'),
  }),
  make: (options) => normalizeBy(options.within === 'task' ? 'task-and-language' : 'language', options.epsilon),
})

export const agentRl = objective({
  ...taskNormalization,
  kind: 'method',
  name: 'agentrl',
  summary: 'GRPO with advantages normalized by task (AgentRL). Sampling by several policies is left out.',
  options: z.strictObject(groupMethodOptions),
  make: (options) =>
    groupMethod('agentrl', options, {
      adjustments: [{ name: 'agent-rl-task-normalization', run: normalizeBy('task', options.epsilon) }],
    }),
})

export const languageNormalizedGrpo = objective({
  ...languageNormalization,
  kind: 'method',
  name: 'language-normalized-grpo',
  summary: 'GRPO with advantages normalized by language.',
  options: z.strictObject(groupMethodOptions),
  make: (options) =>
    groupMethod('language-normalized-grpo', options, {
      adjustments: [{ name: 'language-normalization', run: normalizeBy('language', options.epsilon) }],
    }),
})
