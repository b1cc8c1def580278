import { z } from 'zod'
import { createRandom, MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

/** A matrix in row-major order. */
export interface Matrix {
  rows: number
  columns: number
  values: Float32Array | Float64Array
}

/** The largest singular value with its unit vectors: A v = sigma u, A^T u = sigma v. */
export interface Singular {
  sigma: number
  u: Float64Array
  v: Float64Array
}

/**
 * The largest singular value of a matrix by power iteration on A^T A, begun anywhere (a row would miss what is orthogonal to
 * it). The largest entry of u by size is positive. A matrix of zeros has sigma 0.
 *
 * @param options.tolerance of the change of sigma, relative (1e-12); at most `iterations` (1000) rounds
 * @throws MyriadError 'numeric' on values that are not finite, 'usage' on a size that does not fit
 * @example const { sigma, u, v } = topSingular({ rows: 2, columns: 2, values: Float32Array.of(3, 0, 0, 1) })
 */
export function topSingular(matrix: Matrix, options: { tolerance?: number; iterations?: number } = {}): Singular {
  const { rows, columns, values } = matrix
  const { tolerance = 1e-12, iterations = 1000 } = options
  if (values.length !== rows * columns)
    throw new MyriadError('usage', `a matrix of ${rows} x ${columns} has ${values.length} values`)
  const size = normOf(values)
  if (!Number.isFinite(size)) throw new MyriadError('numeric', 'a matrix of changes is not finite')
  if (size === 0) return { sigma: 0, u: new Float64Array(rows), v: new Float64Array(columns) }
  const random = createRandom(1)
  let v = Float64Array.from({ length: columns }, () => random.normal())
  let u = new Float64Array(rows)
  let sigma = 0
  for (let i = 0; i < iterations; i++) {
    u = new Float64Array(rows)
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) u[r] += values[r * columns + c] * v[c]
    const length = normOf(u)
    for (let r = 0; r < rows; r++) u[r] /= length
    v = new Float64Array(columns)
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) v[c] += values[r * columns + c] * u[r]
    const before = sigma
    sigma = normOf(v)
    for (let c = 0; c < columns; c++) v[c] /= sigma
    if (Math.abs(sigma - before) <= tolerance * sigma) break
  }
  const largest = u.reduce((most, x) => (Math.abs(x) > Math.abs(most) ? x : most), 0)
  return largest < 0 ? { sigma, u: u.map((x) => -x), v: v.map((x) => -x) } : { sigma, u, v }
}

function normOf(values: Float32Array | Float64Array): number {
  let sum = 0
  for (const value of values) sum += value * value
  return Math.sqrt(sum)
}

/**
 * What is left of a change when only its largest singular part stays, scaled to the Frobenius norm of the whole:
 * alpha |dW|_F / sigma (sigma u v^T).
 *
 * Source: AlphaRL, arXiv 2510.00553 and its code.
 *
 * @param delta tuned - base
 * @returns what to add to the base, like `delta`
 */
export function rankOneUpdate(delta: Matrix, alpha = 1): Float32Array {
  const { u, v } = topSingular(delta)
  const scale = alpha * normOf(delta.values)
  return outer(u, v, scale)
}

function outer(u: Float64Array, v: Float64Array, scale: number): Float32Array {
  const result = new Float32Array(u.length * v.length)
  for (let r = 0; r < u.length; r++) for (let c = 0; c < v.length; c++) result[r * v.length + c] = scale * u[r] * v[c]
  return result
}

/** Partial least squares of y on x with one component: scores, and back from a score to an x. */
export interface PlsComponent {
  /** Of each item: [items] */
  scores: Float64Array
  inverse(score: number): Float64Array
}

/**
 * Partial least squares with one component: x and y are centred, and with `scale` (true) divided by their standard deviations
 * (n - 1; 1 where that is 0); w = X^T y / |X^T y|, scores t = X w, loadings p = X^T t / t.t; back, x = t p.
 *
 * @param x [items][dimensions]
 * @param y [items]
 * @throws MyriadError 'numeric' where y and x do not vary together
 */
export function plsComponent(
  x: readonly ArrayLike<number>[],
  y: ArrayLike<number>,
  options: { scale?: boolean } = {},
): PlsComponent {
  const n = x.length
  const standard = (values: readonly number[]): { mean: number; deviation: number } => {
    const mean = values.reduce((sum, value) => sum + value / n, 0)
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)
    return { mean, deviation: options.scale === false || !(variance > 0) ? 1 : Math.sqrt(variance) }
  }
  const columns = Array.from({ length: x[0]?.length ?? 0 }, (_, d) => standard(x.map((row) => row[d])))
  const target = standard(Array.from(y))
  const centred = x.map((row) => columns.map(({ mean, deviation }, d) => (row[d] - mean) / deviation))
  const aims = Array.from(y, (value) => (value - target.mean) / target.deviation)
  const covariance = Float64Array.from(columns, (_, d) => centred.reduce((sum, row, i) => sum + row[d] * aims[i], 0))
  const length = normOf(covariance)
  if (!(length > 0)) throw new MyriadError('numeric', 'the accuracies and the changes do not vary together')
  const scores = Float64Array.from(centred, (row) =>
    row.reduce((sum, value, d) => sum + (value * covariance[d]) / length, 0),
  )
  const square = scores.reduce((sum, score) => sum + score * score, 0)
  const loadings = columns.map((_, d) => centred.reduce((sum, row, i) => sum + row[d] * scores[i], 0) / square)
  return {
    scores,
    inverse: (score) => Float64Array.from(columns, ({ mean, deviation }, d) => mean + deviation * score * loadings[d]),
  }
}

/**
 * The change of one matrix foretold from early checkpoints. Of each change the largest singular part sigma u v^T is taken,
 * signs made to agree with the next later one; one component of partial least squares of accuracies on a_t = sigma_t u_t gives
 * scores z; a line accuracy = c z + d is fitted, z* = (target - d) / c, and a* is what has that score. The update is a* v^T, v
 * of the last checkpoint.
 *
 * Source: AlphaRL, arXiv 2510.00553; that the rest of the last change is left out is our reading of its code. Target
 * accuracies above 1 (1.7 there) are a dial, no probability. Only for matrices of attention and feed-forward layers.
 *
 * @param deltas checkpoint - base, in order of time; all of one size
 * @param accuracies of the checkpoints
 * @returns what to add to the base, in row-major order
 * @throws MyriadError 'usage' on fewer than three checkpoints, 'numeric' where accuracy does not depend on the score
 * @example extrapolateRankOne(deltas, [0.2, 0.31, 0.38], 0.7)
 */
export function extrapolateRankOne(
  deltas: readonly Matrix[],
  accuracies: readonly number[],
  target: number,
  options: { scale?: boolean } = {},
): Float32Array {
  if (deltas.length < 3 || accuracies.length !== deltas.length)
    throw new MyriadError(
      'usage',
      `${deltas.length} checkpoints and ${accuracies.length} accuracies; at least three each`,
    )
  const parts = deltas.map((delta) => topSingular(delta))
  for (let t = parts.length - 2; t >= 0; t--) {
    const cosine = parts[t].u.reduce((sum, value, r) => sum + value * parts[t + 1].u[r], 0)
    if (cosine < 0) parts[t] = { ...parts[t], u: parts[t].u.map((x) => -x), v: parts[t].v.map((x) => -x) }
  }
  const { scores, inverse } = plsComponent(
    parts.map(({ u, sigma }) => u.map((x) => sigma * x)),
    accuracies,
    options,
  )
  // Scores have mean 0.
  const mean = accuracies.reduce((sum, y) => sum + y / accuracies.length, 0)
  const slope =
    scores.reduce((sum, z, i) => sum + z * (accuracies[i] - mean), 0) / scores.reduce((sum, z) => sum + z * z, 0)
  const score = (target - mean) / slope
  if (!Number.isFinite(score)) throw new MyriadError('numeric', 'accuracy does not depend on the score of the changes')
  return outer(inverse(score), parts.at(-1)!.v, 1)
}

export const alphaRl = objective({
  kind: 'function',
  name: 'alpha-rl',
  family: 'after-training',
  summary:
    'The end of a training foretold from early checkpoints, along the largest singular part of what they changed.',
  formula: 'a_t = sigma_1 u_1 of W_t - W_0;  one-component PLS of accuracy on a;  z* = (y* - d)/c;  W_0 + a* v_1^T',
  reference: 'AlphaRL, arXiv 2510.00553; the last assembly, W_0 + a* v_1^T without the other ranks, is our reading',
  standing: 'ours',
  use: 'To save the second half of a run, where accuracy of checkpoints is known. Matrices only; the rest stays as it is.',
  rows: ['B138'],
  options: z.strictObject({
    /** y*: what accuracy to aim at; a dial that may exceed 1. */
    target: z.number().default(1.7),
    /** Divide by standard deviations before the regression. */
    scale: z.boolean().default(true),
  }),
  make:
    ({ target, scale }) =>
    (deltas: readonly Matrix[], accuracies: readonly number[]): Float32Array =>
      extrapolateRankOne(deltas, accuracies, target, { scale }),
})

export const rankOne = objective({
  kind: 'function',
  name: 'rank-one-update',
  family: 'after-training',
  summary: 'Only the largest singular part of what training changed, as large as the whole.',
  formula: 'W_0 + alpha |dW|_F u_1 v_1^T',
  reference: 'AlphaRL, arXiv 2510.00553, and its code',
  standing: 'source',
  use: 'To see how much of a training lies in one direction, or to keep it in little space.',
  rows: ['B138'],
  options: z.strictObject({ alpha: z.number().default(1) }),
  make:
    ({ alpha }) =>
    (delta: Matrix): Float32Array =>
      rankOneUpdate(delta, alpha),
})
