import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom, type Random } from '../../core/index.js'
import type { Weights } from '../../models/index.js'
import * as after from './index.js'

interface Fixture {
  ties: { cases: { deltas: number[][]; density: number; weight: number; merged: number[] }[] }
  pls: { cases: { x: number[][]; y: number[]; scale: boolean; scores: number[]; inverse: number[] }[] }
}
const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/after-training/merging.fixture.json', import.meta.url), 'utf8'),
) as Fixture

const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  for (let i = 0; i < actual.length; i++)
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `entry ${i}: ${actual[i]}, expected ${expected[i]}`)
}

const of = (x: readonly number[], y: readonly number[] = [0]): Weights => ({
  x: Float32Array.from(x),
  y: Float32Array.from(y),
})
const normals = (random: Random, count: number): Float64Array =>
  Float64Array.from({ length: count }, () => random.normal())

test('averages and task arithmetic: by hand, and one model with weight 1 is itself', () => {
  const [a, b, c] = [of([1, 2], [3]), of([3, 2], [0]), of([5, 8], [0])]
  assert.deepEqual(after.averageModels([a, b, c]), of([3, 4], [1]))
  assert.deepEqual(after.averageModels([a, b], { weights: [3, 1] }), of([1.5, 2], [2.25]))
  assert.deepEqual(after.averageModels([a, b], { weights: [1, -1], normalize: false }), of([-2, 0], [3]))
  assert.throws(() => after.averageModels([a, b], { weights: [1, -1] }), { code: 'usage' })
  assert.throws(() => after.averageModels([]), { code: 'usage' })
  assert.throws(() => after.averageModels([a, { x: a.x }]), { code: 'usage' })
  assert.deepEqual(after.mergeTasks(a, [b]), b)
  assert.deepEqual(after.mergeTasks(a, [b, c], { scale: 0.5, weights: [1, 2] }), of([6, 8], [-1.5]))
})

test('TIES merges as peft does', () => {
  for (const { deltas, density, weight, merged } of fixture.ties.cases) {
    const base = { x: new Float32Array(merged.length) }
    const models = deltas.map((delta) => ({ x: Float32Array.from(delta) }))
    const result = after.mergeTies(base, models, { density, weights: models.map(() => weight) })
    close(result.x, merged)
  }
})

test('TIES: one model is trimmed only, signs are elected by weight, and trimming may span tensors', () => {
  const base = of([0, 0, 0, 0], [0, 0])
  const one = of([4, -3, 2, 1], [0.5, 0.25])
  assert.deepEqual(after.mergeTies(base, [one], { density: 0.5 }), of([4, -3, 0, 0], [0.5, 0]))
  assert.deepEqual(after.mergeTies(base, [one], { density: 0.5, trim: 'model' }), of([4, -3, 2, 0], [0, 0]))
  assert.deepEqual(after.mergeTies(base, [of([1, 1, 1, 1], [1, 1])], { density: 0.5 }), of([1, 1, 0, 0], [1, 0]))
  const other = of([-2, 3, 2, 1], [0, 0])
  const united = (options: after.TiesOptions): Weights =>
    after.mergeTies(base, [one, other], { density: 1, ...options })
  assert.deepEqual(united({}).x, Float32Array.of(4, 3, 2, 1))
  assert.deepEqual(united({ weights: [1, 3] }).x, Float32Array.of(-6, 9, 4, 2))
  assert.deepEqual(united({ weights: [1, 3], divide: 'weights' }).x, Float32Array.of(-2, 3, 2, 1))
  assert.deepEqual(united({ scale: 2 }).x, Float32Array.of(8, 6, 4, 2))
  assert.deepEqual(after.mergeTies(base, [], {}), base)
  assert.deepEqual(united({ density: 0 }), base)
  assert.throws(() => united({ density: 2 }), { code: 'usage' })
  assert.throws(() => united({ weights: [1] }), { code: 'usage' })
})

test('slerp ends at its ends, keeps the length on the way, and is straight where there is no arc', () => {
  const random = createRandom(1)
  const unit = (): Float32Array => {
    const values = normals(random, 9000)
    const length = Math.hypot(...values)
    return Float32Array.from(values, (value) => value / length)
  }
  const [a, b] = [unit(), unit()].map((x) => ({ x }))
  close(after.slerp(a, b, 0).x, a.x, 1e-7)
  close(after.slerp(a, b, 1).x, b.x, 1e-7)
  const half = after.slerp(a, b, 0.5).x
  assert.ok(Math.abs(Math.hypot(...half) - 1) < 1e-5)
  const quarter = after.slerp({ x: Float32Array.of(2, 0) }, { x: Float32Array.of(0, 4) }, 1 / 3).x
  close(quarter, [2 * Math.cos(Math.PI / 6), 4 * Math.sin(Math.PI / 6)])
  close(after.slerp({ x: Float32Array.of(1, 0) }, { x: Float32Array.of(-3, 0) }, 0.25).x, [0, 0])
  close(after.slerp({ x: Float32Array.of(0, 0) }, { x: Float32Array.of(0, 4) }, 0.25).x, [0, 1])
  assert.throws(() => after.slerp(a, {}, 0.5), { code: 'usage' })
})

test('the largest singular part: exact in two dimensions, and no direction is stretched further', () => {
  const { sigma, u, v } = after.topSingular({ rows: 2, columns: 2, values: Float32Array.of(3, 0, 4, 5) })
  close([sigma], [Math.sqrt(45)], 1e-9)
  close([u[0] / u[1], v[0] / v[1]], [1 / 3, 1], 1e-5)
  const random = createRandom(2)
  for (const [rows, columns] of [
    [7, 4],
    [3, 8],
    [1, 5],
  ]) {
    const values = normals(random, rows * columns)
    const top = after.topSingular({ rows, columns, values })
    const times = (x: ArrayLike<number>): Float64Array =>
      Float64Array.from({ length: rows }, (_, r) =>
        Array.from(x).reduce((sum, value, c) => sum + values[r * columns + c] * value, 0),
      )
    close(
      times(top.v),
      top.u.map((x) => x * top.sigma),
      1e-4,
    )
    close([Math.hypot(...top.u), Math.hypot(...top.v)], [1, 1], 1e-9)
    for (let i = 0; i < 200; i++) {
      const x = normals(random, columns)
      assert.ok(Math.hypot(...times(x)) / Math.hypot(...x) <= top.sigma * (1 + 1e-9))
    }
    const update = after.rankOneUpdate({ rows, columns, values }, 2)
    assert.ok(Math.abs(Math.hypot(...update) / (2 * Math.hypot(...values)) - 1) < 1e-6)
  }
  // The longest row has no part in the direction that the others share.
  const apart = after.topSingular({ rows: 3, columns: 2, values: Float32Array.of(3, 0, 0, -2.5, 0, -2.5) })
  close([apart.sigma, ...apart.v], [2.5 * Math.SQRT2, 0, -1], 1e-5)
  const nothing = after.topSingular({ rows: 2, columns: 1, values: new Float32Array(2) })
  assert.deepEqual([nothing.sigma, ...nothing.u, ...nothing.v], [0, 0, 0, 0])
  assert.deepEqual([...after.rankOneUpdate({ rows: 1, columns: 2, values: new Float32Array(2) })], [0, 0])
  assert.throws(() => after.topSingular({ rows: 1, columns: 1, values: Float32Array.of(NaN) }), { code: 'numeric' })
  assert.throws(() => after.topSingular({ rows: 2, columns: 1, values: Float32Array.of(1) }), { code: 'usage' })
})

test('one component of partial least squares is that of scikit-learn', () => {
  for (const { x, y, scale, scores, inverse } of fixture.pls.cases) {
    const component = after.plsComponent(x, y, { scale })
    close(component.scores, scores, 1e-9)
    close(component.inverse(2.5), inverse, 1e-9)
  }
})

test('a training that moves straight along one direction is foretold exactly, signs of the parts notwithstanding', () => {
  const random = createRandom(3)
  const [rows, columns] = [5, 4]
  const [start, pace, row] = [normals(random, rows), normals(random, rows), normals(random, columns)]
  const changeAt = (accuracy: number): Float64Array =>
    Float64Array.from({ length: rows * columns }, (_, i) => {
      const [r, c] = [Math.floor(i / columns), i % columns]
      return (start[r] + accuracy * pace[r]) * row[c]
    })
  const accuracies = [0.1, 0.15, 0.3, 0.34]
  const deltas = accuracies.map((accuracy) => ({ rows, columns, values: changeAt(accuracy) }))
  for (const scale of [true, false])
    close(after.extrapolateRankOne(deltas, accuracies, 0.9, { scale }), changeAt(0.9), 1e-5)
  assert.throws(() => after.extrapolateRankOne(deltas.slice(2), accuracies.slice(2), 1), { code: 'usage' })
  assert.throws(() => after.extrapolateRankOne(deltas, [1, 1, 1, 1], 1), { code: 'numeric' })
})

test('transferred logits are p_large (p_tuned / p_base)^alpha', () => {
  const random = createRandom(4)
  const probabilities = (logits: ArrayLike<number>): number[] => {
    const exponentials = Array.from(logits, Math.exp)
    const total = exponentials.reduce((sum, x) => sum + x, 0)
    return exponentials.map((x) => x / total)
  }
  const [large, tuned, base] = [0, 1, 2].map(() => normals(random, 6))
  const [pl, pt, pb] = [large, tuned, base].map(probabilities)
  for (const alpha of [0, 0.5, 1]) {
    const product = pl.map((p, v) => p * (pt[v] / pb[v]) ** alpha)
    const total = product.reduce((sum, p) => sum + p, 0)
    close(
      probabilities(after.transferLogits(large, tuned, base, alpha)),
      product.map((p) => p / total),
    )
  }
  close(after.transferLogits(large, tuned, base, 0), large)
  close(after.transferLogits([1, 2, 3], [1, 1], [0, 1]), [2, 2])
  assert.deepEqual([...after.transferLogits([0, 1], [-Infinity, 0], [-Infinity, 0])], [0, 1])
})

test('prompt vectors carry what was learnt to another start, and refuse prompts of another size', () => {
  const prompt = (...values: number[]): after.SoftPrompt => ({
    length: 2,
    dimensions: 1,
    values: Float32Array.from(values),
  })
  const vector = after.promptVector(prompt(3, 1), prompt(1, 1))
  assert.deepEqual(after.combinePrompts(prompt(1, 1), [{ vector, weight: 1 }]), prompt(3, 1))
  const both = [
    { vector, weight: 1 },
    { vector: prompt(0, 4), weight: 0.5 },
  ]
  assert.deepEqual(after.combinePrompts(prompt(0, 0), both, 0.5), prompt(1, 1))
  assert.throws(() => after.promptVector(prompt(1, 2), { length: 1, dimensions: 2, values: Float32Array.of(1, 2) }), {
    code: 'usage',
  })
})

test('every declaration of the folder is made with its defaults', () => {
  for (const { name, options, make } of after.afterTrainingObjectives) assert.ok(make(options.parse({}) as never), name)
})
