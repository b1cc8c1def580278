import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { applyTaskVectors, taskVector, type Weights } from '../../models/index.js'
import { objective } from '../objective.js'

export interface TiesOptions {
  /** Share of changes that is kept, the largest (0.2). */
  density?: number
  /** Trim each tensor for itself (as in mergekit and peft) or all of them as one (as published). ('tensor') */
  trim?: 'tensor' | 'model'
  /** Of each model (1). */
  weights?: readonly number[]
  /** Agreeing changes are divided by how many there are, or by the sum of their weights. ('count') */
  divide?: 'count' | 'weights'
  /** lambda (1). */
  scale?: number
}

/**
 * TIES: changes of several trainings, united where they agree. (1) Each keeps its largest `density` share of changes, the
 * others become 0. (2) The sign of sum_i w_i delta_i is elected, + where it is 0. (3) The changes of that sign are averaged.
 * (4) lambda times that is added to the base.
 *
 * Source: arXiv 2306.01708; the rule of the tie as in mergekit and peft.
 *
 * @throws MyriadError 'usage' on a density outside [0, 1], or models that do not fit
 * @example mergeTies(base, [sorter, poet], { density: 0.3 })
 */
export function mergeTies(base: Weights, models: readonly Weights[], options: TiesOptions = {}): Weights {
  const { density = 0.2, trim = 'tensor', weights = models.map(() => 1), divide = 'count', scale = 1 } = options
  if (!(density >= 0 && density <= 1))
    throw new MyriadError('usage', `density is ${density}; it is a share, from 0 to 1`)
  if (weights.length !== models.length)
    throw new MyriadError('usage', `${models.length} models have ${weights.length} weights`)
  const deltas = models.map((model) => trimmed(taskVector(model, base), density, trim))
  const merged = Object.fromEntries(
    Object.entries(base).map(([name, { length }]) => {
      const result = new Float32Array(length)
      for (let i = 0; i < length; i++) {
        let total = 0
        deltas.forEach((delta, m) => (total += weights[m] * delta[name][i]))
        const sign = total >= 0 ? 1 : -1
        let [sum, count] = [0, 0]
        deltas.forEach((delta, m) => {
          const change = weights[m] * delta[name][i]
          if (Math.sign(change) !== sign) return
          sum += change
          count += divide === 'count' ? 1 : weights[m]
        })
        result[i] = count === 0 ? 0 : sum / count
      }
      return [name, result]
    }),
  )
  return applyTaskVectors(base, [{ vector: merged, weight: scale }])
}

/** The largest floor(density n) changes; the earlier of equals. */
function trimmed(delta: Weights, density: number, trim: 'tensor' | 'model'): Weights {
  const names = Object.keys(delta)
  const parts = trim === 'tensor' ? names.map((name) => [name]) : [names]
  return Object.fromEntries(parts.flatMap((part) => keepLargest(part, delta, density)))
}

function keepLargest(names: readonly string[], delta: Weights, density: number): [string, Float32Array][] {
  const sizes = new Float32Array(names.reduce((sum, name) => sum + delta[name].length, 0))
  let filled = 0
  for (const name of names) for (const change of delta[name]) sizes[filled++] = Math.abs(change)
  const keep = Math.floor(density * sizes.length)
  if (keep === 0) return names.map((name) => [name, new Float32Array(delta[name].length)])
  sizes.sort()
  const least = sizes[sizes.length - keep]
  // Those that equal the least one kept, and are kept.
  let equals = keep
  for (let i = sizes.length - 1; i >= 0 && sizes[i] > least; i--) equals--
  return names.map((name) => [
    name,
    delta[name].map((change) => {
      const size = Math.abs(change)
      return size > least || (size === least && equals-- > 0) ? change : 0
    }),
  ])
}

export const ties = objective({
  kind: 'function',
  name: 'ties',
  family: 'after-training',
  summary: 'Unites trainings of one base: small changes are dropped, signs voted on, and what agrees averaged.',
  formula: 'theta_0 + lambda mean{delta_i: sign = sign(sum w delta)}, delta trimmed to its largest share',
  reference: 'arXiv 2306.01708; weights as in peft',
  standing: 'source',
  use: 'In place of task arithmetic where trainings pull weights apart.',
  rows: [],
  options: z.strictObject({
    density: z.number().min(0).max(1).default(0.2),
    trim: z.enum(['tensor', 'model']).default('tensor'),
    weights: z.array(z.number()).optional(),
    divide: z.enum(['count', 'weights']).default('count'),
    scale: z.number().default(1),
  }),
  make:
    (options) =>
    (base: Weights, models: readonly Weights[]): Weights =>
      mergeTies(base, models, options),
})
