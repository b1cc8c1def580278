import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { preferenceObjectives } from '../preference/index.js'
import * as reward from './index.js'
import type { ScoreBatch, ScoreItem, ScoreLoss } from './index.js'

interface Fixture {
  rewards: number[]
  cases: { center: number; margins: number[] | null; value: number; gradient: number[] }[]
}
const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/reward-model/reward-model.fixture.json', import.meta.url), 'utf8'),
) as Fixture

const near = (a: number, b: number, what = '', tolerance = 1e-9): void =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${what} ${a}, expected ${b}`)

/** The largest difference of a gradient from central differences. */
function differenceError(f: (x: number[]) => number, x: readonly number[], gradient: ArrayLike<number>): number {
  const at = (i: number, step: number): number => f(x.map((value, k) => (k === i ? value + step : value)))
  return Math.max(...x.map((_, i) => Math.abs((at(i, 1e-5) - at(i, -1e-5)) / 2e-5 - gradient[i])))
}

function draws(seed: number, count: number): number[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => random.normal())
}

const ranked = (ranks: readonly number[], comparison = 0): ScoreItem[] => ranks.map((rank) => ({ rank, comparison }))

test('Bradley-Terry with margins and centering is that of TRL, value and gradient', () => {
  const pairs = fixture.rewards.length / 2
  for (const { center, margins, value, gradient } of fixture.cases) {
    const items = fixture.rewards.map((_, i): ScoreItem => {
      const comparison = i % pairs
      return { comparison, rank: i < pairs ? 0 : 1, margin: i < pairs ? margins?.[i] : undefined }
    })
    const result = reward
      .bradleyTerryLoss({ centering: center })
      .evaluate({ scores: Float64Array.from(fixture.rewards), items })
    near(result.value, value)
    gradient.forEach((slope, i) => near(result.gradient[i], slope))
  }
})

const losses: [string, ScoreLoss, ScoreItem[], number?][] = [
  ['Bradley-Terry', reward.bradleyTerryLoss(), [...ranked([0, 1]), ...ranked([1, 0], 1), {}]],
  [
    'Bradley-Terry with everything',
    reward.bradleyTerryLoss({ centering: 0.1, labelSmoothing: 0.2, marginScale: 2 }),
    [{ comparison: 4, rank: 0, margin: 0.3, probability: 0.7 }, { comparison: 4, rank: 1 }, ...ranked([0, 0], 1)],
  ],
  [
    'Bradley-Terry scaled by margins',
    reward.bradleyTerryLoss({ centering: 0.1, marginUse: 'scale' }),
    [
      { comparison: 4, rank: 0, margin: 3 },
      { comparison: 4, rank: 1 },
    ],
  ],
  [
    'Plackett-Luce',
    reward.plackettLuceRewardLoss(),
    [...ranked([2, 0, 1, 1]), ...ranked([1, 0], 1), ...ranked([0, 0], 2)],
  ],
  ['Plackett-Luce, best alone', reward.plackettLuceRewardLoss({ top: 1 }), ranked([2, 0, 1, 3])],
  ['all pairs', reward.allPairsReward.make({}) as ScoreLoss, [...ranked([2, 0, 1, 1]), ...ranked([0, 1], 1)]],
  [
    'regression',
    reward.pointwiseLoss('regression', reward.squaredError),
    [{ labels: [1, NaN] }, { labels: [0, 4] }, {}],
    2,
  ],
  ['binary', reward.pointwiseLoss('binary', reward.binaryCrossEntropy), [{ labels: [1] }, { labels: [0.3] }]],
]

for (const [name, loss, items, heads = 1] of losses)
  test(`${name}: gradients are those of the value; extremes are finite or named`, () => {
    for (const seed of [1, 2, 3]) {
      const scores = draws(seed, items.length * heads)
      const of = (x: number[]): number => loss.evaluate({ scores: Float64Array.from(x), heads, items }).value
      const { gradient } = loss.evaluate({ scores: Float64Array.from(scores), heads, items })
      assert.ok(differenceError(of, scores, gradient) < 1e-8)
    }
    assert.equal(loss.evaluate({ scores: new Float64Array(0), heads, items: [] }).value, 0)
    for (const size of [1e3, 1e30, 1e300, NaN]) {
      const scores = Float64Array.from({ length: items.length * heads }, (_, i) => (i % 2 ? size : -size))
      try {
        const { value, gradient } = loss.evaluate({ scores, heads, items })
        assert.ok(Number.isFinite(value) && gradient.every(Number.isFinite))
        assert.ok(!Number.isNaN(size), 'a score that is not a number is named')
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'numeric', String(error))
        assert.ok(size !== 1e3, 'a thousand is no overflow')
      }
    }
  })

test('ties pull scores together, unsure labels to a bounded gap', () => {
  const tie = reward.bradleyTerryLoss().evaluate({ scores: Float64Array.of(2, -1), items: ranked([0, 0]) })
  assert.ok(tie.gradient[0] > 0 && tie.gradient[1] < 0)
  const { better } = reward.bradleyTerryPair(Math.log(3), 0, { probability: 0.75 })
  near(better, 0)
})

test('what does not fit is refused', () => {
  const scores = Float64Array.of(1, 2, 3)
  assert.throws(() => reward.bradleyTerryLoss().evaluate({ scores, items: ranked([0, 1, 2]) }), { code: 'usage' })
  assert.throws(() => reward.bradleyTerryLoss().evaluate({ scores, items: ranked([0, 1]) }), { code: 'usage' })
  const regression = reward.pointwiseLoss('regression', reward.squaredError)
  const wrong: ScoreBatch = { scores, heads: 3, items: [{ labels: [1, 2] }] }
  assert.throws(() => regression.evaluate(wrong), { code: 'usage' })
  assert.throws(() => reward.mergeHeads([1], [1, 2]), { code: 'usage' })
})

test('a ranking counts once, however long it is', () => {
  const loss = reward.allPairsReward.make({}) as ScoreLoss
  const flat = (ranks: readonly number[]): number =>
    loss.evaluate({ scores: new Float64Array(ranks.length), items: ranked(ranks) }).value
  near(flat([0, 1]), Math.LN2)
  near(flat([0, 1, 2, 3, 4]), Math.LN2)
  const listwise = reward.plackettLuceRewardLoss().evaluate({ scores: new Float64Array(3), items: ranked([0, 1, 2]) })
  near(listwise.value, Math.log(6))
})

test('regression is a mean over labels, not over heads', () => {
  const { value, gradient } = reward
    .pointwiseLoss('regression', reward.squaredError)
    .evaluate({ scores: Float64Array.of(1, 5, 2, 0), heads: 2, items: [{ labels: [0, NaN] }, { labels: [2, 3] }] })
  near(value, (1 + 0 + 9) / 3)
  assert.deepEqual([...gradient], [2 / 3, 0, 0, -2])
  assert.equal(reward.mergeHeads([3, 1], [1, -0.5]), 2.5)
})

test('steps: labels after the first error, last step only, gradient', () => {
  assert.deepEqual(reward.stepLabels([1, 0, 1], { afterError: 'drop' }), [1, 0, NaN])
  assert.deepEqual(reward.stepLabels([1, 0, 1], { afterError: 'wrong' }), [1, 0, 0])
  assert.deepEqual(reward.stepLabels([1, 0, 1]), [1, 0, 1])
  assert.deepEqual(reward.stepLabels([1, 1], { lastOnly: true }), [NaN, 1])
  const labels = [[1, 0, 1], [0.4]]
  const z = draws(4, 4)
  const of = (x: number[]): number => reward.stepLoss([x.slice(0, 3), x.slice(3)], labels).value
  assert.ok(differenceError(of, z, reward.stepLoss([z.slice(0, 3), z.slice(3)], labels).gradient.flat()) < 1e-8)
  assert.deepEqual(reward.stepLoss([[1, 2]], [[NaN, NaN]]), { value: 0, gradient: [[0, 0]], steps: 0 })
  assert.throws(() => reward.stepLoss([[1]], [[1, 0]]), { code: 'usage' })
})

test('scores of solutions out of steps', () => {
  const logits = [Math.log(3), 0, Math.log(4)]
  const expected = { min: 0.5, product: 0.75 * 0.5 * 0.8, last: 0.8, mean: (0.75 + 0.5 + 0.8) / 3 }
  for (const aggregation of reward.STEP_AGGREGATIONS) {
    const { value, gradient } = reward.aggregateSteps(logits, aggregation)
    near(value, expected[aggregation], aggregation)
    assert.ok(differenceError((x) => reward.aggregateSteps(x, aggregation).value, logits, gradient) < 1e-8)
    assert.ok(Number.isNaN(reward.aggregateSteps([], aggregation).value))
  }
})

test('ensembles trust their members where they agree', () => {
  const scores = [1, 3, 2, 6]
  // Mean 3, population variance 3.5; quantile 0.25 is three quarters of the way from 1 to 2.
  const expected = { mean: 3, min: 1, variance: 3 - 0.5 * 3.5, deviation: 3 - 0.5 * Math.sqrt(3.5), quantile: 1.75 }
  for (const by of reward.ENSEMBLES) {
    const of = (x: readonly number[]): number => reward.ensembleScore(x, { by, penalty: 0.5, quantile: 0.25 }).value
    near(of(scores), expected[by], by)
    const { gradient } = reward.ensembleScore(scores, { by, penalty: 0.5, quantile: 0.25 })
    assert.ok(differenceError(of, scores, gradient) < 1e-8, by)
    const one = reward.ensembleScore([7], { by })
    assert.deepEqual([one.value, [...one.gradient]], [7, [1]], by)
    near(of([2, 2, 2]), 2, by)
    assert.throws(() => reward.ensembleScore([], { by }), { code: 'usage' })
    assert.throws(() => reward.ensembleScore([1, NaN], { by }), { code: 'numeric' })
  }
  assert.deepEqual(
    reward.standardizeMembers([
      [0, 2],
      [10, 30],
      [5, 5],
    ])([1, 40, 7]),
    [0, 2, 2],
  )
})

test('a mixture finds the tastes of users', () => {
  // Users 0 and 1 agree with model 0, user 2 with model 1.
  const users = [0, 0, 1, 2, 2]
  const differences = [
    [2, 1, 3, -2, -1],
    [-1, -2, -1, 2, 1],
  ]
  const hard = reward.assignUsers({ differences, users }, { hard: true })
  assert.deepEqual(
    [...hard.values()],
    [
      [1, 0],
      [1, 0],
      [0, 1],
    ],
  )
  for (const options of [{}, { hard: true }, { priors: [0.2, 0.8] }]) {
    const of = (x: number[]): number =>
      reward.mixtureLoss({ differences: [x.slice(0, 5), x.slice(5)], users }, options).value
    const { gradient } = reward.mixtureLoss({ differences, users }, options)
    assert.ok(differenceError(of, differences.flat(), gradient.flat()) < 1e-8)
  }
  // One model is Bradley-Terry of each user.
  near(reward.mixtureLoss({ differences: [[1]], users: [3] }).value, Math.log1p(Math.exp(-1)))
})

test('a linear reward finds the minimum, of separable comparisons too', () => {
  const differences = Array.from({ length: 30 }, (_, i) => {
    const [a, b, noise] = draws(i, 3)
    const sign = 2 * a - b + 0.5 * noise > 0 ? 1 : -1
    return [sign * a, sign * b]
  })
  const w = reward.fitLinearReward(differences, { ridge: 0.01 })
  assert.ok(Math.hypot(...reward.linearRewardLoss(w, differences, 0.01).gradient) < 1e-8)
  assert.ok(w[0] > 0 && w[1] < 0)
  const { gradient } = reward.linearRewardLoss([0.3, -0.2], differences, 0.01)
  assert.ok(differenceError((x) => reward.linearRewardLoss(x, differences, 0.01).value, [0.3, -0.2], gradient) < 1e-8)
  assert.ok(
    reward
      .fitLinearReward([
        [1e3, 0],
        [1e3, 0],
      ])
      .every(Number.isFinite),
  )
  assert.deepEqual(reward.fitLinearReward([]), [])
  assert.throws(() => reward.fitLinearReward([[1]], { ridge: 0 }), { code: 'usage' })
})

test('goal contrast: gradient, least value, places', () => {
  const [a, b] = [
    [0.3, -0.2, 0.9],
    [0.1, -0.8],
  ]
  const result = reward.goalContrast(a, b, 0.5)
  const of = (x: number[]): number => reward.goalContrast(x.slice(0, 3), x.slice(3), 0.5).value
  assert.ok(differenceError(of, [...a, ...b], [...result.near, ...result.far]) < 1e-8)
  near(reward.goalContrast([1], [-1], 1).value, 0.626523, '', 1e-6)
  assert.throws(() => reward.goalContrast([], [0], 1), { code: 'usage' })
  assert.throws(() => reward.goalContrast([2], [0], 1), { code: 'usage' })
  assert.deepEqual(reward.sourceAndGoal(10, [0.95, 0.05]), { source: 0, goal: 9 })
  assert.deepEqual(reward.sourceAndGoal(1, [0.2, 0.7]), { source: 0, goal: 0 })
  assert.ok(reward.sourceAndGoal(10, [0.99, 0.98], 0.5).goal < 5, 'half of the reply')
})

test('grades of judges, both orders, agreement of lists', () => {
  const { value, gradient } = reward.expectedGrade([1, 0.5, -2], [1, 2, 5])
  assert.ok(differenceError((x) => reward.expectedGrade(x, [1, 2, 5]).value, [1, 0.5, -2], gradient) < 1e-8)
  assert.ok(value > 1 && value < 5)
  near(reward.expectedGrade([800, 0], [1, 0]).value, 1)
  assert.throws(() => reward.expectedGrade([-Infinity, -Infinity], [1, 0]), { code: 'numeric' })
  near(reward.bothOrders(0.9, 0.5).bias, 0.4)
  assert.equal(reward.listAgreement([5, 3, 1], [3, 2, 1]), 1)
  // Weights 2, 3 and 2; the pair of the second and third is reversed, then tied.
  near(reward.listAgreement([5, 1, 2], [3, 2, 1]), 1 - 2 / 7)
  near(reward.listAgreement([5, 1, 1], [3, 2, 1]), 1 - 1 / 7)
  assert.equal(reward.listAgreement([5, NaN], [3, 2]), 0)
})

test('the law of the best of n is that of drawing', () => {
  const scores = [0.3, 2, 1, 1]
  const law = reward.bestOfNLaw(scores, 3)
  near(
    law.reduce((a, b) => a + b, 0),
    1,
  )
  // All 64 draws of three, equal bests sharing a win.
  const counted = scores.map(() => 0)
  for (let a = 0; a < 4; a++)
    for (let b = 0; b < 4; b++)
      for (let c = 0; c < 4; c++) {
        const top = Math.max(scores[a], scores[b], scores[c])
        const tied = [...scores.keys()].filter((i) => scores[i] === top)
        tied.forEach((i) => (counted[i] += 1 / (64 * tied.length)))
      }
  counted.forEach((chance, i) => near(law[i], chance))
  assert.throws(() => reward.bestOfNLaw(scores, 0), { code: 'usage' })
})

test('the best of n out of a larger pool, without bias', () => {
  const [scores, values] = [
    [3, 1, 2, 5],
    [0.1, 0.9, 0.4, 0.7],
  ]
  // Every two of the four.
  let mean = 0
  for (let a = 0; a < 4; a++) for (let b = a + 1; b < 4; b++) mean += values[scores[a] > scores[b] ? a : b] / 6
  near(reward.bestOfNEstimate(scores, values, 2), mean)
  near(reward.bestOfNEstimate(scores, values, 4), 0.7)
  near(reward.bestOfNEstimate(scores, values, 1), 0.525)
  assert.throws(() => reward.bestOfNEstimate(scores, values, 5), { code: 'usage' })
  near(reward.bestOfNDivergence(1), 0)
})

test('West-of-N keeps the surest pairs, and none of equal scores', () => {
  const pools = [[0, 0.1], [3, -3, 1], [1, 1], [2]]
  assert.deepEqual(
    reward.westOfN(pools).map(({ prompt, better, worse }) => [prompt, better, worse]),
    [
      [0, 1, 0],
      [1, 0, 1],
    ],
  )
  assert.deepEqual(
    reward.westOfN(pools, { keep: 0.5 }).map(({ prompt }) => prompt),
    [1],
  )
})

test('SEAM weighs misjudged answers by how likely they are', () => {
  const good = { score: 0, logprob: -4, length: 2 }
  assert.equal(reward.seam(good, []), 0)
  assert.equal(reward.seam(good, [{ score: -1, logprob: -1, length: 1 }]), 0)
  near(reward.seam(good, [{ score: 2, logprob: -2, length: 1 }]), 1)
  assert.ok(reward.seam(good, [{ score: 2, logprob: -9, length: 1 }]) < 0.01)
})

test('every declaration is complete, and makes what it says', () => {
  const names = reward.rewardModelObjectives.map(({ name }) => name)
  assert.equal(
    new Set([...names, ...preferenceObjectives.map(({ name }) => name)]).size,
    names.length + preferenceObjectives.length,
  )
  for (const declared of reward.rewardModelObjectives) {
    assert.equal(declared.family, 'reward-model')
    for (const text of [declared.summary, declared.formula, declared.reference, declared.use])
      assert.ok(text.length > 10, declared.name)
    const part = declared.make(declared.options.parse({})) as ScoreLoss | (() => unknown)
    assert.equal(typeof (typeof part === 'function' ? part : part.evaluate), 'function', declared.name)
  }
})
