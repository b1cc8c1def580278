import { z } from 'zod'
import { createRandom, deriveSeed, MyriadError, type Random } from '../../core/index.js'
import { objective, type Shaping } from '../objective.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { chooseParts } from './reward-parts.js'
import { reward } from './statistics.js'

/** A point of the simplex, uniformly: [count] weights of sum 1. */
export function randomSimplex(count: number, random: Random): number[] {
  const draws = Array.from({ length: count }, () => -Math.log(random.uniform()))
  const total = draws.reduce((sum, draw) => sum + draw, 0)
  return draws.map((draw) => draw / total)
}

/**
 * Parts of a reward in one number by weights w: linear sum_n w_n r_n, or Chebyshev -max_n w_n (z_n - r_n) with the ideal z,
 * which reaches concave stretches of the Pareto front that no linear weights reach.
 *
 * @example scalarize([1, 0], [0.5, 0.5], 'chebyshev', [1, 1]) // -0.5
 */
export function scalarize(
  parts: readonly number[],
  weights: readonly number[],
  how: 'linear' | 'chebyshev',
  ideal: readonly number[],
): number {
  if (how === 'linear') return parts.reduce((sum, part, n) => sum + weights[n] * part, 0)
  return -Math.max(...parts.map((part, n) => weights[n] * (ideal[n] - part)))
}

/**
 * Weights w of the simplex of least |sum_i w_i g_i|, from the Gram matrix g_i . g_j (MGDA): the common direction that no
 * gradient opposes. Frank-Wolfe with exact line search; two gradients have the closed form.
 *
 * @param gram symmetric: [tasks][tasks]
 * @returns weights of sum 1: [tasks]
 * @throws MyriadError 'numeric' on an entry that is not finite
 * @example minNormWeights([[1, -0.5], [-0.5, 1.25]]) // [0.538, 0.462]
 */
export function minNormWeights(
  gram: readonly (readonly number[])[],
  { iterations = 1000, tolerance = 1e-9 }: { iterations?: number; tolerance?: number } = {},
): number[] {
  if (gram.some((row) => row.some((entry) => !Number.isFinite(entry)))) {
    throw new MyriadError('numeric', 'minNormWeights: the Gram matrix holds an entry that is not finite')
  }
  const count = gram.length
  if (count === 2) {
    const distance = gram[0][0] - 2 * gram[0][1] + gram[1][1]
    const first = distance > 0 ? Math.min(1, Math.max(0, (gram[1][1] - gram[0][1]) / distance)) : 0.5
    return [first, 1 - first]
  }
  let weights = Array.from({ length: count }, () => 1 / count)
  for (let iteration = 0; iteration < iterations; iteration++) {
    const products = gram.map((row) => row.reduce((sum, entry, j) => sum + entry * weights[j], 0))
    const norm = products.reduce((sum, product, i) => sum + weights[i] * product, 0)
    const best = products.indexOf(Math.min(...products))
    const gap = norm - products[best]
    // |g_w - g_best|^2
    const distance = norm - 2 * products[best] + gram[best][best]
    if (gap <= tolerance * Math.max(1, norm) || distance <= 0) break
    const step = Math.min(1, gap / distance)
    weights = weights.map((weight, i) => (1 - step) * weight + (i === best ? step : 0))
  }
  return weights
}

const options = {
  /** All unless given, in the order of their names. */
  parts: z.array(z.string()).optional(),
  /** Of the parts, in their order, divided by their sum; drawn anew for each step unless given. */
  weights: z.array(z.number().min(0)).optional(),
  scalarization: z.enum(['linear', 'chebyshev']).default('linear'),
  /** Ideal value of every part, for 'chebyshev'. */
  ideal: z.number().default(1),
}

function paretoShaping(chosen: z.output<z.ZodObject<typeof options>>): Shaping {
  return (groups, context) => {
    const names = chooseParts(groups, chosen.parts)
    if (names.length === 0) return { groups }
    if (chosen.weights && chosen.weights.length !== names.length) {
      throw new MyriadError(
        'usage',
        `pareto weights: ${chosen.weights.length} weights for ${names.length} parts (${names.join(', ')})`,
      )
    }
    const total = chosen.weights?.reduce((sum, weight) => sum + weight, 0)
    if (total === 0) throw new MyriadError('usage', 'pareto weights: at least one must be positive')
    const weights = chosen.weights
      ? chosen.weights.map((weight) => weight / total!)
      : randomSimplex(names.length, createRandom(deriveSeed(context.seed, 'pareto-weights', context.step)))
    const ideal = names.map(() => chosen.ideal)
    return {
      groups: reward(groups, 'pareto', (trajectory) =>
        scalarize(
          names.map((name) => trajectory.rewardParts[name] ?? 0),
          weights,
          chosen.scalarization,
          ideal,
        ),
      ),
      metrics: Object.fromEntries(names.map((name, n) => [`weight.${name}`, weights[n]])),
    }
  }
}

export const paretoWeightsPart = objective({
  kind: 'shaping',
  name: 'pareto-weights',
  family: 'multi-reward',
  summary: 'Reward parts weighted by a point of the simplex: fixed, or drawn for each step.',
  formula: 'R = sum_n w_n r_n, or -max_n w_n (z_n - r_n);  w uniform on the simplex or given',
  reference:
    'Scalarization of multi-objective RL (linear and weighted Chebyshev). Decided here: one draw a step; a missing part is 0',
  standing: 'ours',
  use: 'Runs over given weights trace a Pareto front; random weights train one policy on all of it.',
  rows: ['B123'],
  options: z.strictObject(options),
  make: paretoShaping,
})

export const paretoWeights = objective({
  ...paretoWeightsPart,
  kind: 'method',
  name: 'pareto-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) =>
    groupMethod('pareto-grpo', chosen, { shaping: [{ name: 'pareto-weights', run: paretoShaping(chosen) }] }),
})

export const minNorm = objective({
  kind: 'function',
  name: 'min-norm-weights',
  family: 'multi-reward',
  summary: 'Weights of tasks whose combined gradient is shortest (MGDA), from their Gram matrix.',
  formula: 'argmin over the simplex of w^T G w',
  reference: 'MGDA, arXiv 1810.04650',
  standing: 'source',
  use: 'Where gradients of tasks can be had one by one. It favours the task with the smallest gradient.',
  rows: [],
  options: z.strictObject({ iterations: z.number().int().positive().default(1000) }),
  make:
    ({ iterations }) =>
    (gram: readonly (readonly number[])[]) =>
      minNormWeights(gram, { iterations }),
})
