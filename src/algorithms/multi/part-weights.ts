import { z } from 'zod'
import { objective, type Shaping } from '../objective.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { chooseParts, partOf } from './reward-parts.js'
import { moments, reward } from './statistics.js'
import type { Group } from '../types.js'

/**
 * One gradient step of homoscedastic uncertainty: the objective of part n is L_n / (2 e^s_n) + s_n / 2, of which
 * d/ds = 1/2 - L / (2 e^s). At its optimum e^s = L, and the part's weight 1 / (2 e^s) is 1 / (2 L).
 *
 * @param loss positive
 * @example uncertaintyStep(0, 1, 0.1) // 0, the optimum
 */
export function uncertaintyStep(s: number, loss: number, rate: number): number {
  return s - rate * (0.5 - loss / (2 * Math.exp(s)))
}

/**
 * Dynamic weight average: K softmax(rho_n / T), rho_n = loss one step ago / loss two steps ago. What stops falling gains.
 *
 * @param last,before positive losses: [parts]
 * @example dynamicWeights([1, 0.5], [1, 1], 2) // [1.124, 0.876]
 */
export function dynamicWeights(last: readonly number[], before: readonly number[], temperature: number): number[] {
  const exponentials = last.map((loss, n) => Math.exp(Math.min(50, loss / before[n] / temperature)))
  const total = exponentials.reduce((sum, value) => sum + value, 0)
  return exponentials.map((value) => (last.length * value) / total)
}

const common = {
  /** All unless given. */
  parts: z.array(z.string()).optional(),
  /** The most that a part can reach: its loss is ideal - mean, at least 0.05. */
  ideal: z.number().default(1),
}

function lossesOf(groups: readonly Group[], names: readonly string[], ideal: number): number[] {
  const all = groups.flatMap(({ trajectories }) => trajectories)
  return names.map((name) => {
    const scored = all.map((trajectory) => partOf(trajectory, name)).filter((value) => !Number.isNaN(value))
    return Math.max(0.05, ideal - moments(scored).mean)
  })
}

function weighted(
  groups: readonly Group[],
  stage: string,
  names: readonly string[],
  weights: readonly number[],
): Group[] {
  return reward(groups, stage, (trajectory) =>
    names.reduce((sum, name, n) => sum + weights[n] * (trajectory.rewardParts[name] ?? 0), 0),
  )
}

function metricsOf(names: readonly string[], weights: readonly number[]): Record<string, number> {
  return Object.fromEntries(names.map((name, n) => [`weight.${name}`, weights[n]]))
}

function uncertaintyShaping(options: { parts?: readonly string[]; ideal: number; rate: number }): Shaping {
  return (groups, { state }) => {
    const names = chooseParts(groups, options.parts)
    const before = (state ?? {}) as Record<string, number>
    if (names.length === 0) return { groups, state: before }
    const s = names.map((name) => before[name] ?? -0.5)
    const losses = lossesOf(groups, names, options.ideal)
    const weights = s.map((value) => 1 / (2 * Math.exp(value)))
    const after = Object.fromEntries(names.map((name, n) => [name, uncertaintyStep(s[n], losses[n], options.rate)]))
    return {
      groups: weighted(groups, 'uncertainty-weights', names, weights),
      state: { ...before, ...after },
      metrics: metricsOf(names, weights),
    }
  }
}

function dynamicShaping(options: {
  parts?: readonly string[]
  ideal: number
  temperature: number
  decay: number
}): Shaping {
  return (groups, { state }) => {
    const names = chooseParts(groups, options.parts)
    const past = (state ?? { last: {}, before: {} }) as { last: Record<string, number>; before: Record<string, number> }
    if (names.length === 0) return { groups, state: past }
    const losses = lossesOf(groups, names, options.ideal)
    const known = names.every((name) => past.before[name] !== undefined)
    const weights = known
      ? dynamicWeights(
          names.map((name) => past.last[name]),
          names.map((name) => past.before[name]),
          options.temperature,
        )
      : names.map(() => 1)
    const smooth = names.map((name, n) =>
      past.last[name] === undefined ? losses[n] : options.decay * past.last[name] + (1 - options.decay) * losses[n],
    )
    return {
      groups: weighted(groups, 'dynamic-weights', names, weights),
      state: {
        last: { ...past.last, ...Object.fromEntries(names.map((name, n) => [name, smooth[n]])) },
        before: past.last,
      },
      metrics: metricsOf(names, weights),
    }
  }
}

const uncertaintyOptions = { ...common, rate: z.number().min(0).default(0.05) }
const dynamicOptions = {
  ...common,
  /** T: large ones make weights equal. */
  temperature: z.number().positive().default(2),
  /** Share of the moving mean of losses that each step keeps. */
  decay: z.number().min(0).max(1).default(0.9),
}

export const uncertaintyPart = objective({
  kind: 'shaping',
  name: 'uncertainty-weights',
  family: 'multi-reward',
  summary: 'Reward parts weigh 1 / (2 sigma^2), sigma learnt: what is nearly solved weighs more.',
  formula: 'R = sum_n r_n / (2 e^s_n);  s_n <- s_n - rate (1/2 - L_n / (2 e^s_n)),  L_n = ideal - mean r_n',
  reference:
    'Uncertainty weighting, arXiv 1705.07115 (s starts at -0.5, LibMTL); RLMiniStyler. On rewards, with L = ideal - mean: ours',
  standing: 'ours',
  use: 'Parts of unlike difficulty. Beside a mean-std normalization only the proportion of weights matters.',
  rows: ['B012'],
  options: z.strictObject(uncertaintyOptions),
  make: uncertaintyShaping,
})

export const dynamicWeightsPart = objective({
  kind: 'shaping',
  name: 'dynamic-weights',
  family: 'multi-reward',
  summary: 'Reward parts that stop improving weigh more (dynamic weight average).',
  formula: 'w = K softmax(L_n(t-1) / L_n(t-2) / T), L moving means of ideal - mean r_n;  1 for the first two steps',
  reference: 'DWA, arXiv 1803.10704, on losses of epochs; moving means of rewards instead are ours',
  standing: 'ours',
  use: 'Many parts and no idea of weights. Its effect is gentle by design.',
  rows: [],
  options: z.strictObject(dynamicOptions),
  make: dynamicShaping,
})

export const uncertaintyMethod = objective({
  ...uncertaintyPart,
  kind: 'method',
  name: 'uncertainty-weighted-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...uncertaintyOptions }),
  make: (options) =>
    groupMethod('uncertainty-weighted-grpo', options, {
      shaping: [{ name: 'uncertainty-weights', run: uncertaintyShaping(options) }],
    }),
})

export const dynamicWeightsMethod = objective({
  ...dynamicWeightsPart,
  kind: 'method',
  name: 'dynamic-weight-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...dynamicOptions }),
  make: (options) =>
    groupMethod('dynamic-weight-grpo', options, {
      shaping: [{ name: 'dynamic-weights', run: dynamicShaping(options) }],
    }),
})
