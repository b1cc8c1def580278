import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid, sigmoidSlope, softplus } from '../preference/logistic.js'

export interface LinearRewardOptions {
  /** Weight of |w|^2 / 2; above 0, since comparisons may be separable (1e-3). */
  ridge?: number
  /** Newton steps at most (50). */
  steps?: number
}

/**
 * Bradley-Terry loss of a linear reward w.e on frozen embeddings: mean over pairs of softplus(-w.(e_w - e_l)) + ridge |w|^2 / 2,
 * and its derivative by w.
 *
 * @param differences e_w - e_l: [pairs][dimensions]
 * @example linearRewardLoss([0, 0], [[1, 2]], 0).value // log 2
 */
export function linearRewardLoss(
  weights: readonly number[],
  differences: readonly (readonly number[])[],
  ridge: number,
): { value: number; gradient: number[] } {
  const n = Math.max(1, differences.length)
  const gradient = weights.map((weight) => ridge * weight)
  let value = (ridge / 2) * dot(weights, weights)
  for (const row of differences) {
    const d = dot(weights, row)
    value += softplus(-d) / n
    row.forEach((x, k) => (gradient[k] -= (sigmoid(-d) * x) / n))
  }
  return { value, gradient }
}

/**
 * The weights that minimize linearRewardLoss, by Newton's method with step halving: logistic regression on differences, without
 * an intercept, which comparisons cannot tell. No comparison gives weights 0.
 *
 * @throws MyriadError 'usage' when ridge is not positive or rows differ in length; 'numeric' when it does not converge
 * @example const w = fitLinearReward(differences, { ridge: 0.01 })
 */
export function fitLinearReward(
  differences: readonly (readonly number[])[],
  options: LinearRewardOptions = {},
): number[] {
  const { ridge = 1e-3, steps = 50 } = options
  if (!(ridge > 0))
    throw new MyriadError('usage', 'ridge must be positive: separable comparisons have no finite solution')
  const size = differences[0]?.length ?? 0
  if (differences.some((row) => row.length !== size))
    throw new MyriadError('usage', 'embeddings of comparisons differ in length')
  let weights = Array<number>(size).fill(0)
  let now = linearRewardLoss(weights, differences, ridge)
  for (let step = 0; step < steps; step++) {
    if (Math.hypot(...now.gradient) <= 1e-10 * Math.max(1, Math.hypot(...weights))) return weights
    const direction = solve(hessian(weights, differences, ridge), now.gradient)
    const decrease = dot(direction, now.gradient)
    let moved = now
    let rate = 1
    let next = weights
    for (; rate > 1e-8; rate /= 2) {
      next = weights.map((weight, k) => weight - rate * direction[k])
      moved = linearRewardLoss(next, differences, ridge)
      if (moved.value <= now.value - 1e-4 * rate * decrease) break
    }
    // Nothing lower is left at this precision.
    if (rate <= 1e-8) return weights
    weights = next
    now = moved
  }
  throw new MyriadError(
    'numeric',
    `a linear reward did not converge in ${steps} steps: gradient ${Math.hypot(...now.gradient)}`,
  )
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, x, k) => sum + x * b[k], 0)
}

function hessian(weights: readonly number[], differences: readonly (readonly number[])[], ridge: number): number[][] {
  const matrix = weights.map((_, i) => weights.map((__, j) => (i === j ? ridge : 0)))
  for (const row of differences) {
    const curvature = sigmoidSlope(dot(weights, row)) / differences.length
    row.forEach((x, i) => row.forEach((y, j) => (matrix[i][j] += curvature * x * y)))
  }
  return matrix
}

/** Solves a symmetric positive definite system by Cholesky's factors. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const n = right.length
  const lower = matrix.map((row) => [...row])
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i][j]
      for (let k = 0; k < j; k++) sum -= lower[i][k] * lower[j][k]
      lower[i][j] = i === j ? Math.sqrt(sum) : sum / lower[j][j]
    }
  const half: number[] = []
  for (let i = 0; i < n; i++) {
    let sum = right[i]
    for (let k = 0; k < i; k++) sum -= lower[i][k] * half[k]
    half[i] = sum / lower[i][i]
  }
  const solution = Array<number>(n).fill(0)
  for (let i = n - 1; i >= 0; i--) {
    let sum = half[i]
    for (let k = i + 1; k < n; k++) sum -= lower[k][i] * solution[k]
    solution[i] = sum / lower[i][i]
  }
  return solution
}

export const linearReward = objective({
  kind: 'function',
  name: 'linear-reward',
  family: 'reward-model',
  summary: 'A reward model in seconds: a linear head on frozen embeddings, fitted exactly.',
  formula: 'w = argmin mean softplus(-w.(e_w - e_l)) + ridge |w|^2 / 2',
  reference: 'logistic regression; "reusing embeddings", arXiv 2502.04357 (number from memory)',
  standing: 'second-hand',
  use: 'A few hundred comparisons and a good embedding, standardized. Nothing of the embedding is learnt.',
  rows: ['B101'],
  options: z.strictObject({
    ridge: z.number().positive().default(1e-3),
    steps: z.number().int().positive().default(50),
  }),
  make: (options) => (differences: readonly (readonly number[])[]) => fitLinearReward(differences, options),
})
