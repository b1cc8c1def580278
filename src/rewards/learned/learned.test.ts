import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { aggregateSteps, ENSEMBLES, ensembleScore, STEP_AGGREGATIONS } from '../../algorithms/reward-model/index.js'
import { createRandom } from '../../core/index.js'
import {
  applyHead,
  apart,
  brierScore,
  calibrated,
  cohenKappa,
  createHead,
  disagreement,
  expectedCalibrationError,
  fitPlatt,
  fitTemperature,
  fleissKappa,
  headShapes,
  kendallTau,
  krippendorffAlpha,
  MEMBER_REDUCTIONS,
  mergeSteps,
  pairAccuracy,
  pearson,
  ranksOf,
  reduceMembers,
  routeLoss,
  spearman,
  STEP_MERGES,
  stepScorables,
  stepsOf,
  tableFeatures,
  type Head,
  type HeadSpec,
} from './index.js'

// Made by SciPy, scikit-learn, statsmodels and krippendorff: tools/fixtures/semantic_agreement.py.
const fixture = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../../src/rewards/learned/agreement.fixture.json', import.meta.url)), 'utf8'),
) as {
  correlations: { x: number[]; y: number[]; tau: number; spearman: number; pearson: number }[]
  cohen: { a: number[]; b: number[]; none: number; linear: number; quadratic: number }[]
  fleiss: { counts: number[][]; kappa: number }
  krippendorff: { ratings: (number | null)[][]; nominal: number; ordinal: number; interval: number; ratio: number }[]
  calibration: {
    scores: number[]
    labels: number[]
    platt: { scale: number; offset: number }
    temperature: number
    brier: number
    ece: number
  }
}

const near = (actual: number, expected: number, what: string, limit = 1e-9): void =>
  assert.ok(Math.abs(actual - expected) < limit, `${what}: ${actual}, not ${expected}`)

test('tau-b, Spearman and Pearson are those of SciPy', () => {
  for (const { x, y, ...expected } of fixture.correlations) {
    near(kendallTau(x, y), expected.tau, 'tau')
    near(spearman(x, y), expected.spearman, 'spearman')
    near(pearson(x, y), expected.pearson, 'pearson')
  }
  assert.ok(Number.isNaN(kendallTau([1, 1], [1, 2])))
  assert.ok(Number.isNaN(spearman([1, 1], [1, 2])))
  assert.deepEqual(ranksOf([3, 1, 3]), [2.5, 1, 2.5])
  assert.throws(() => kendallTau([1], [1, 2]), /1 values and 2/)
  assert.equal(pairAccuracy([1, 0, -1, 2]), 0.5)
})

test("Cohen's kappa is that of scikit-learn, Fleiss' of statsmodels, Krippendorff's alpha of krippendorff", () => {
  for (const { a, b, ...expected } of fixture.cohen)
    for (const weights of ['none', 'linear', 'quadratic'] as const)
      near(cohenKappa(a, b, weights), expected[weights], `kappa ${weights}`)
  near(fleissKappa(fixture.fleiss.counts), fixture.fleiss.kappa, 'fleiss')
  for (const { ratings, ...expected } of fixture.krippendorff)
    for (const level of ['nominal', 'ordinal', 'interval', 'ratio'] as const)
      near(krippendorffAlpha(ratings, level), expected[level], `alpha ${level}`)
  assert.throws(
    () =>
      fleissKappa([
        [2, 1],
        [1, 1],
      ]),
    /same number of ratings/,
  )
  assert.throws(() => krippendorffAlpha([[1], [1, 2]]), /null for none/)
})

test('Platt scaling, temperature, Brier score and calibration error are those of scikit-learn and SciPy', () => {
  const { scores, labels, platt, temperature, brier, ece } = fixture.calibration
  const fitted = fitPlatt(scores, labels, { smoothing: false })
  near(fitted.scale, platt.scale, 'scale', 1e-6)
  near(fitted.offset, platt.offset, 'offset', 1e-6)
  near(fitTemperature(scores, labels).scale, temperature, 'temperature', 1e-6)
  const plain = scores.map((score) => calibrated(score, { scale: 1, offset: 0 }))
  near(brierScore(plain, labels), brier, 'brier')
  near(expectedCalibrationError(plain, labels), ece, 'ece')
  const after = scores.map((score) => calibrated(score, fitted))
  assert.ok(brierScore(after, labels) < brier)
  // Separated scores have no most likely factor: Platt's targets and a limit give one.
  assert.ok(fitPlatt([-2, -1, 1, 2], [0, 0, 1, 1]).scale < 5)
  assert.ok(Number.isFinite(fitTemperature([1, 2]).scale))
  assert.throws(() => fitTemperature([]), /0 scores/)
  assert.throws(() => fitPlatt([NaN], [1]), /score NaN/)
})

test('ensembles and steps are merged as the objectives of the same names do', () => {
  const random = createRandom(1)
  for (let i = 0; i < 50; i++) {
    const values = Array.from({ length: 1 + (i % 5) }, () => random.normal())
    for (const by of MEMBER_REDUCTIONS) {
      assert.ok(ENSEMBLES.includes(by))
      near(reduceMembers(values, by, 0.7), ensembleScore(values, { by, penalty: 0.7 }).value, by)
    }
    for (const by of STEP_MERGES) {
      assert.ok(STEP_AGGREGATIONS.includes(by))
      near(mergeSteps(values, by), aggregateSteps(values, by).value, by)
    }
  }
  assert.ok(Number.isNaN(mergeSteps([], 'min')))
  assert.equal(disagreement([0.1, 0.1, 0.1]), 0)
})

test('steps are lines with something in them, and each is read after those before it', () => {
  assert.deepEqual(stepsOf(' 2+3=5 \n\n\u200b\n५×२=१०'), ['2+3=5', '५×२=१०'])
  assert.deepEqual(stepsOf('a。b。', '。'), ['a', 'b'])
  assert.deepEqual(stepsOf(''), [])
  assert.equal(stepsOf('x\n'.repeat(1e5)).length, 256)
  assert.deepEqual(stepScorables('p', ['a', 'b']), [
    { prompt: 'p', reply: 'a' },
    { prompt: 'p\na', reply: 'b' },
  ])
})

test('features of two embeddings are those of RUSE and COMET', () => {
  assert.deepEqual([...apart(Float32Array.of(1, -2), Float32Array.of(3, 4))], [3, 4, 3, -8, 2, 6, 1, -2])
  assert.throws(() => tableFeatures({ a: Float32Array.of(1), b: Float32Array.of(1, 2) }), /"b" have 2 numbers/)
})

const specs: HeadSpec[] = [
  { kind: 'linear' },
  { kind: 'mlp', hidden: 5 },
  { kind: 'experts', experts: 3 },
  { kind: 'experts', experts: 4, top: 2, hidden: 3 },
]
for (const spec of specs)
  test(`derivatives of a head by every weight are finite differences: ${JSON.stringify(spec)}`, () => {
    const random = createRandom(7)
    const [items, inputs, outputs] = [6, 4, 2]
    const head = createHead(spec, inputs, outputs, random)
    for (const data of Object.values(head.weights))
      for (let i = 0; i < data.length; i++) data[i] += 0.3 * random.normal()
    const x = Float64Array.from({ length: items * inputs }, () => random.normal())
    const slopes = Float64Array.from({ length: items * outputs }, () => random.normal())
    const experts = spec.kind === 'experts' ? spec.experts : 0
    const categories = [0, 1, 2, NaN, 1, 0]
    const value = (weights: Head['weights']): number => {
      const pass = applyHead({ ...head, weights }, x)
      const through = pass.scores.reduce((sum, score, i) => sum + score * slopes[i], 0)
      return through + (experts > 0 ? 0.5 * routeLoss(pass.routes!, experts, categories).value : 0)
    }
    const pass = applyHead(head, x)
    const routes =
      experts > 0 ? routeLoss(pass.routes!, experts, categories).slopes.map((slope) => slope * 0.5) : undefined
    const gradients = pass.back(slopes, routes)
    assert.deepEqual(Object.keys(gradients).sort(), Object.keys(headShapes(spec, inputs, outputs)).sort())
    for (const [name, gradient] of Object.entries(gradients))
      gradient.forEach((slope, i) => {
        // Weights are float32: the step is what they really moved by.
        const moved = (by: number): Head['weights'] => {
          const data = head.weights[name].slice()
          data[i] += by
          return { ...head.weights, [name]: data }
        }
        const [up, down] = [moved(1e-3), moved(-1e-3)]
        const measured = (value(up) - value(down)) / (up[name][i] - down[name][i])
        near(slope, measured, `${name}[${i}]`, 1e-4 * Math.max(1, Math.abs(measured)))
      })
  })
