import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { applyTaskVectors, interpolate, taskVector, type Weights } from '../../models/index.js'
import { objective } from '../objective.js'

/**
 * A weighted average of models: sum_i w_i theta_i, divided by the sum of the weights with `normalize` (true).
 *
 * Source: model soups, arXiv 2203.05482.
 *
 * @param models of one architecture
 * @throws MyriadError 'usage' on no model, as many weights as there are not models, or weights that sum to 0
 * @example averageModels([a, b, c])
 */
export function averageModels(
  models: readonly Weights[],
  options: { weights?: readonly number[]; normalize?: boolean } = {},
): Weights {
  const weights = options.weights ?? models.map(() => 1)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (models.length === 0 || weights.length !== models.length)
    throw new MyriadError('usage', `${models.length} models cannot be averaged by ${weights.length} weights`)
  if ((options.normalize ?? true) && !(Math.abs(total) > 0))
    throw new MyriadError('usage', 'the weights of an average sum to 0')
  const scale = (options.normalize ?? true) ? 1 / total : 1
  const nothing = Object.fromEntries(
    Object.entries(models[0]).map(([name, { length }]) => [name, new Float32Array(length)]),
  )
  return applyTaskVectors(
    nothing,
    models.map((vector, i) => ({ vector, weight: weights[i] * scale })),
  )
}

/**
 * base + scale sum_i w_i (theta_i - base). With one model, weight and scale 1 it is that model; negative weights forget.
 *
 * Source: task arithmetic, arXiv 2212.04089.
 *
 * @example mergeTasks(base, [sorter, poet], { scale: 0.4 })
 */
export function mergeTasks(
  base: Weights,
  models: readonly Weights[],
  options: { weights?: readonly number[]; scale?: number } = {},
): Weights {
  return applyTaskVectors(
    base,
    models.map((model, i) => ({
      vector: taskVector(model, base),
      weight: (options.scale ?? 1) * (options.weights?.[i] ?? 1),
    })),
  )
}

const about = { kind: 'function', family: 'after-training' } as const

export const interpolation = objective({
  ...about,
  name: 'checkpoint-interpolation',
  summary: 'A model between two, or beyond the second: from before and after training, or two runs of one start.',
  formula: '(1 - t) theta_0 + t theta_1',
  reference: 'WiSE-FT, arXiv 2109.01903',
  standing: 'second-hand',
  use: 'To keep what a base model knew, or to go on where training pointed (t > 1).',
  rows: [],
  options: z.strictObject({ t: z.number().default(0.5) }),
  make:
    ({ t }) =>
    (before: Weights, after: Weights): Weights =>
      interpolate(before, after, t),
})

export const soup = objective({
  ...about,
  name: 'model-soup',
  summary: 'The weighted average of several models that began as one.',
  formula: 'sum_i w_i theta_i / sum_i w_i',
  reference: 'Model soups, arXiv 2203.05482',
  standing: 'second-hand',
  use: 'Runs with several seeds or settings. Models with different starts do not average.',
  rows: [],
  options: z.strictObject({ weights: z.array(z.number()).optional(), normalize: z.boolean().default(true) }),
  make:
    (options) =>
    (models: readonly Weights[]): Weights =>
      averageModels(models, options),
})

export const taskArithmetic = objective({
  ...about,
  name: 'task-arithmetic',
  summary: 'What several trainings changed, added to one base.',
  formula: 'theta_0 + lambda sum_i w_i (theta_i - theta_0)',
  reference: 'arXiv 2212.04089',
  standing: 'source',
  use: 'To unite skills that were trained apart, or forget one. With many tasks lambda is 0.3 to 0.4.',
  rows: [],
  options: z.strictObject({ weights: z.array(z.number()).optional(), scale: z.number().default(1) }),
  make:
    (options) =>
    (base: Weights, models: readonly Weights[]): Weights =>
      mergeTasks(base, models, options),
})
