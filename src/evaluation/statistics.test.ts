import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../core/index.js'
import { clusteredInterval, mean, meanOfKnown, passAtK, wilson } from './statistics.js'

const near = (actual: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)

test("Wilson's interval equals scipy's", () => {
  // scipy.stats.binomtest(k, n).proportion_ci(method='wilson'), scipy 1.17.1
  const table = [
    [0, 10, 0, 0.27753279986288926],
    [1, 10, 0.017876213095072896, 0.4041500267952385],
    [5, 10, 0.236593090512564, 0.7634069094874361],
    [10, 10, 0.7224672001371109, 1],
    [81, 263, 0.2552885198782742, 0.36620957698280004],
  ]
  for (const [k, n, low, high] of table) {
    const interval = wilson(k / n, n)
    near(interval.low, low, 1e-14)
    near(interval.high, high, 1e-14)
  }
  assert.deepEqual(wilson(0, 0), { low: 0, high: 1 })
})

test('with one try per problem the clustered interval of a cell is no wider than it must be', () => {
  const problems = [1, 0, 0, 1, 1, 0, 1, 1, 1, 0]
  const { low, high } = clusteredInterval([problems], 1)
  const plain = wilson(0.6, 10)
  near(low, plain.low, 1e-12)
  near(high, plain.high, 1e-12)
})

test('tries that agree within a problem count once, tries that do not count each', () => {
  const agreeing = clusteredInterval([[1, 0, 1, 0, 1, 0, 1, 0]], 8)
  near(agreeing.high - agreeing.low, wilson(0.5, 8).high - wilson(0.5, 8).low, 1e-9)
  const independent = clusteredInterval([[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.625, 0.375]], 8)
  near(independent.high - independent.low, wilson(0.5, 64).high - wilson(0.5, 64).low, 1e-9)
  assert.deepEqual(clusteredInterval([[]], 8), { low: 0, high: 1 })
  assert.deepEqual(clusteredInterval([], 8), { low: 0, high: 1 })
})

test('the clustered interval covers the truth about 95 times in 100 where problems differ in hardness', () => {
  const random = createRandom(11)
  const [rounds, cells, problems, tries] = [2000, 4, 12, 8]
  let covered = 0
  for (let round = 0; round < rounds; round++) {
    // Each problem has its own chance of success: mostly near 0 or 1, 0.5 on average.
    const strata = Array.from({ length: cells }, () =>
      Array.from({ length: problems }, () => {
        const chance = random.uniform() < 0.5 ? 0.1 : 0.9
        return mean(Array.from({ length: tries }, () => (random.uniform() < chance ? 1 : 0)))
      }),
    )
    const { low, high } = clusteredInterval(strata, tries)
    if (low <= 0.5 && 0.5 <= high) covered++
  }
  const coverage = covered / rounds
  assert.ok(coverage > 0.935 && coverage < 0.97, String(coverage))
})

test('pass@k against drawing k of n without replacement', () => {
  assert.equal(passAtK(8, 0, 4), 0)
  assert.equal(passAtK(8, 8, 1), 1)
  near(passAtK(8, 1, 1), 1 / 8, 1e-12)
  near(passAtK(8, 1, 8), 1, 1e-12)
  near(passAtK(5, 2, 2), 1 - 3 / 10, 1e-12)
  near(passAtK(4, 3, 2), 1, 1e-12)
  const random = createRandom(5)
  const pool = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
  let hits = 0
  for (let i = 0; i < 20000; i++) hits += random.shuffle(pool).slice(0, 3).includes(1) ? 1 : 0
  near(passAtK(10, 2, 3), hits / 20000, 0.015)
  for (const wrong of [
    [8, 9, 1],
    [8, 1, 9],
    [8, 1, 0],
  ]) {
    assert.throws(() => passAtK(wrong[0], wrong[1], wrong[2]), { code: 'usage' })
  }
})

test('means', () => {
  assert.equal(mean([]), 0)
  assert.equal(meanOfKnown([null, true, false, true]), 2 / 3)
  assert.equal(meanOfKnown([null]), null)
})
