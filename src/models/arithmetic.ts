/** Arithmetic on whole models, or on whole adapters of one configuration: averages of two, and what training changed. */
import { MyriadError } from '../core/index.js'
import type { Weights } from './parameters.js'

/**
 * Between two models: (1 - t) a + t b, weight by weight ("model soups", Wortsman et al. 2022,
 * https://arxiv.org/abs/2203.05482). At 0 it is a, at 1 it is b, exactly; outside of 0 to 1 it goes on beyond them.
 *
 * Of low-rank adapters this is the average of their factors, not of what they add to the model: merge them first for that.
 *
 * @example const soup = interpolate(first.weights, second.weights, 0.5)
 * @throws MyriadError 'usage' naming the tensor that only one of them has, or whose sizes differ
 */
export function interpolate(a: Weights, b: Weights, t: number): Weights {
  requireFinite('t', t)
  requireAlike(a, b, ['the first model', 'the second'])
  return mapWeights(a, (from, name) => {
    const to = b[name]
    const result = new Float32Array(from.length)
    // A sum of two products, not a + t (b - a): the latter does not end at b.
    for (let i = 0; i < from.length; i++) result[i] = (1 - t) * from[i] + t * to[i]
    return result
  })
}

/**
 * What training changed: tuned - base, weight by weight (Ilharco et al. 2023, https://arxiv.org/abs/2212.04089).
 *
 * @throws MyriadError 'usage' naming the tensor that only one of them has, or whose sizes differ
 */
export function taskVector(tuned: Weights, base: Weights): Weights {
  requireAlike(tuned, base, ['the tuned model', 'the base'])
  return mapWeights(tuned, (data, name) => {
    const from = base[name]
    const result = new Float32Array(data.length)
    for (let i = 0; i < data.length; i++) result[i] = data[i] - from[i]
    return result
  })
}

/**
 * base + Σ weight · vector: several things learnt at once, or with a negative weight something forgotten (Ilharco et al. 2023).
 * Sums are taken in double precision, so that their order hardly matters.
 *
 * @example applyTaskVectors(base, [{ vector: taskVector(sorter, base), weight: 0.5 }, { vector: taskVector(poet, base), weight: 0.5 }])
 * @throws MyriadError 'usage' naming the tensor that a vector or the base lacks, or whose sizes differ
 */
export function applyTaskVectors(base: Weights, terms: readonly { vector: Weights; weight: number }[]): Weights {
  terms.forEach(({ vector, weight }, i) => {
    requireFinite(`weight of task vector ${i + 1}`, weight)
    requireAlike(base, vector, ['the base', `task vector ${i + 1}`])
  })
  return mapWeights(base, (data, name) => {
    const sum = Float64Array.from(data)
    for (const { vector, weight } of terms) {
      const change = vector[name]
      for (let i = 0; i < sum.length; i++) sum[i] += weight * change[i]
    }
    return Float32Array.from(sum)
  })
}

function mapWeights(weights: Weights, one: (data: Float32Array, name: string) => Float32Array): Weights {
  return Object.fromEntries(Object.entries(weights).map(([name, data]) => [name, one(data, name)]))
}

function requireFinite(what: string, value: number): void {
  if (!Number.isFinite(value))
    throw new MyriadError('usage', `checkpoint arithmetic: ${what} is ${value}; give a finite number`)
}

/** Weights know their sizes only: models whose configurations differ in more are for the caller to refuse. */
function requireAlike(a: Weights, b: Weights, [first, second]: [string, string]): void {
  const refuse = (why: string): never => {
    throw new MyriadError('usage', `checkpoint arithmetic: ${why}; both must have one architecture`)
  }
  for (const [name, data] of Object.entries(a)) {
    if (!(name in b)) refuse(`${second} lacks "${name}", which ${first} has`)
    if (data.length !== b[name].length)
      refuse(`"${name}" has ${data.length} values in ${first}, ${b[name].length} in ${second}`)
  }
  const spare = Object.keys(b).find((name) => !(name in a))
  if (spare !== undefined) refuse(`${first} lacks "${spare}", which ${second} has`)
}
