import { z } from 'zod'
import { objective, type Adjustment, type Shaping } from '../objective.js'
import type { Group } from '../types.js'
import { GROUP_KEYS, keyOf } from './by-task.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { chooseParts, partOf } from './reward-parts.js'
import { moments, reward } from './statistics.js'

/** Mean reward of each task or language. */
export function meanRewards(groups: readonly Group[], by: (typeof GROUP_KEYS)[number]): Map<string, number> {
  const rewards = new Map<string, number[]>()
  for (const group of groups) {
    const key = keyOf(group, by)
    rewards.set(key, [...(rewards.get(key) ?? []), ...group.trajectories.map((trajectory) => trajectory.reward)])
  }
  return new Map([...rewards].map(([key, values]) => [key, moments(values).mean]))
}

/** The key of the least value, the first of equal ones; null of none. */
export function worstOf(means: ReadonlyMap<string, number>): string | null {
  let worst: string | null = null
  for (const [key, mean] of means) if (worst === null || mean < means.get(worst)!) worst = key
  return worst
}

/** Reward of the worst part of the batch: max over policies of min over parts of the mean (MaxMin-RLHF). */
function worstPart(options: { parts?: readonly string[] }): Shaping {
  return (groups) => {
    const names = chooseParts(groups, options.parts)
    const all = groups.flatMap(({ trajectories }) => trajectories)
    const means = new Map(
      names.map((name) => {
        const scored = all.map((trajectory) => partOf(trajectory, name)).filter((value) => !Number.isNaN(value))
        return [name, scored.length > 0 ? moments(scored).mean : Infinity]
      }),
    )
    const worst = worstOf(means)
    if (worst === null) return { groups }
    return {
      groups: reward(groups, 'maxmin', (trajectory) => trajectory.rewardParts[worst] ?? 0),
      metrics: { worst: names.indexOf(worst), worstMean: means.get(worst)! },
    }
  }
}

function worstKey(by: (typeof GROUP_KEYS)[number]): Adjustment {
  return (advantages, groups) => {
    const means = meanRewards(groups, by)
    const worst = worstOf(means)
    return {
      advantages: groups.map((group, g) =>
        advantages[g].map((row) =>
          keyOf(group, by) === worst ? Float32Array.from(row) : new Float32Array(row.length),
        ),
      ),
      ...(worst === null ? {} : { metrics: { worstMean: means.get(worst)! } }),
    }
  }
}

/**
 * The least part of one trajectory's reward; with a temperature the soft minimum -tau log mean exp(-r / tau), which lies
 * between the least part and the mean.
 *
 * @param parts finite, at least one
 * @example minimumReward([1, 0.2]) // 0.2
 */
export function minimumReward(parts: readonly number[], temperature = 0): number {
  const least = Math.min(...parts)
  if (temperature === 0) return least
  const mean = parts.reduce((sum, part) => sum + Math.exp((least - part) / temperature) / parts.length, 0)
  return least - temperature * Math.log(mean)
}

function minimumShaping(options: { parts?: readonly string[]; temperature: number }): Shaping {
  return (groups) => {
    const names = chooseParts(groups, options.parts)
    return {
      groups: reward(groups, 'minimum', (trajectory) => {
        const parts = names.map((name) => partOf(trajectory, name)).filter((part) => !Number.isNaN(part))
        return parts.length === 0 ? trajectory.reward : minimumReward(parts, options.temperature)
      }),
    }
  }
}

/**
 * Weights of keys that grow where rewards are low: q_k <- q_k exp(-rate mean_k), normalized over the keys of this step.
 * A key seen for the first time begins at the mean weight of the others.
 *
 * @returns q, of sum 1
 * @example worstGroupWeights({}, new Map([['a', 1], ['b', 0]]), 1) // { a: 0.269, b: 0.731 }
 */
export function worstGroupWeights(
  before: Readonly<Record<string, number>>,
  means: ReadonlyMap<string, number>,
  rate: number,
): Record<string, number> {
  const known = Object.values(before)
  const fresh = known.length > 0 ? known.reduce((sum, weight) => sum + weight, 0) / known.length : 1
  const logs = [...means].map(([key, mean]) => Math.log(Math.max(1e-12, before[key] ?? fresh)) - rate * mean)
  const most = Math.max(...logs)
  const total = logs.reduce((sum, log) => sum + Math.exp(log - most), 0)
  return Object.fromEntries([...means.keys()].map((key, k) => [key, Math.exp(logs[k] - most) / total]))
}

function groupDro(options: { by: (typeof GROUP_KEYS)[number]; rate: number }): Adjustment {
  return (advantages, groups, { state }) => {
    if (groups.length === 0) return { advantages: [], state }
    const before = (state ?? {}) as Record<string, number>
    const means = meanRewards(groups, options.by)
    const weights = worstGroupWeights(before, means, options.rate)
    const factorOf = (group: Group): number => means.size * weights[keyOf(group, options.by)]
    return {
      advantages: groups.map((group, g) => advantages[g].map((row) => row.map((value) => factorOf(group) * value))),
      state: { ...before, ...weights },
      metrics: { largestWeight: Math.max(...Object.values(weights)) },
    }
  }
}

const by = z.enum(GROUP_KEYS).default('language')
const parts = z.array(z.string()).optional()
const about = {
  family: 'multi-reward',
  reference:
    'MaxMin-RLHF, arXiv 2402.08925: the update is on the group whose batch mean is least. That means of the batch decide is second-hand',
  standing: 'second-hand',
  rows: ['A093'],
} as const

export const maxminParts = objective({
  ...about,
  kind: 'shaping',
  name: 'worst-part',
  summary: 'The reward is the part whose mean over the step is least.',
  formula: 'u* = argmin_u mean_batch r_u;  R_i = r_u*,i',
  use: 'Parts on one scale, such as reward models of several annotator groups; else the same one is always least.',
  options: z.strictObject({
    /** All unless given. */
    parts,
  }),
  make: worstPart,
})

export const maxminGroups = objective({
  ...about,
  kind: 'adjustment',
  name: 'worst-key',
  summary: 'Only the task or language with the least mean reward is learnt in a step.',
  formula: 'k* = argmin_k mean R_k;  A_i <- A_i 1[k_i = k*]',
  reference: `${about.reference}; tasks and languages as the groups are ours`,
  standing: 'ours',
  use: 'Few tasks or languages on one reward scale. The silenced tokens still count in token means: the step is smaller.',
  options: z.strictObject({ by }),
  make: (options) => worstKey(options.by),
})

export const minimumRewardPart = objective({
  ...about,
  kind: 'shaping',
  name: 'minimum-reward',
  summary: 'Each trajectory earns the least of its own parts, which is not MaxMin-RLHF: E min <= min E.',
  formula: 'R_i = min_u r_u,i, or -tau log mean_u exp(-r_u,i / tau)',
  reference:
    'A variant of MaxMin-RLHF (arXiv 2402.08925) seen in a port of it; the soft minimum divides by the number of parts here',
  standing: 'ours',
  use: 'A reply that must be good in every respect at once.',
  options: z.strictObject({
    parts,
    /** tau of the soft minimum; 0 is the minimum. */
    temperature: z.number().min(0).default(0),
  }),
  make: minimumShaping,
})

export const groupDroPart = objective({
  ...about,
  kind: 'adjustment',
  name: 'worst-group-weights',
  summary: 'Tasks or languages weigh more while their rewards are low; the weights are remembered.',
  formula: 'q_k <- q_k exp(-rate mean R_k) / Z;  A_i <- A_i K q_k',
  reference:
    'Group DRO, arXiv 1911.08731, with -reward for the loss. BootTrans has the same aim (weights of directions that trail); its rule was not read',
  standing: 'ours',
  use: 'Where silencing all but the worst would waste samples. A high rate becomes that.',
  rows: ['A003', 'A093'],
  options: z.strictObject({ by, rate: z.number().min(0).default(0.1) }),
  make: groupDro,
})

export const maxminRlhf = objective({
  ...about,
  kind: 'method',
  name: 'maxmin-rlhf',
  summary: 'GRPO on whatever is worst in the step: a reward part, a task or a language, by means over the step.',
  formula: 'max_pi min_u E[r_u]: A from r_u* alone, u* = argmin_u mean_batch r_u',
  use: maxminParts.use,
  options: z.strictObject({
    ...groupMethodOptions,
    /** What is compared. */
    over: z.enum(['parts', ...GROUP_KEYS]).default('parts'),
    parts,
  }),
  make: ({ over, ...options }) =>
    groupMethod(
      'maxmin-rlhf',
      options,
      over === 'parts'
        ? { shaping: [{ name: 'worst-part', run: worstPart(options) }] }
        : // Groups without variance still tell which task is worst.
          { adjustments: [{ name: 'worst-key', run: worstKey(over) }], dynamicSampling: false },
    ),
})

export const minimumRewardMethod = objective({
  ...minimumRewardPart,
  kind: 'method',
  name: 'minimum-reward-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...minimumRewardPart.options.shape }),
  make: (options) =>
    groupMethod('minimum-reward-grpo', options, {
      shaping: [{ name: 'minimum-reward', run: minimumShaping(options) }],
    }),
})

export const groupDroMethod = objective({
  ...groupDroPart,
  kind: 'method',
  name: 'group-dro',
  options: z.strictObject({ ...groupMethodOptions, ...groupDroPart.options.shape }),
  make: (options) =>
    groupMethod('group-dro', options, {
      adjustments: [{ name: 'worst-group-weights', run: groupDro(options) }],
      dynamicSampling: false,
    }),
})
