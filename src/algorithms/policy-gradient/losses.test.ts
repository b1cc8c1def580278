import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Loss, LossTokens } from '../../policy/types.js'
import { clippedLoss } from '../clipped.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import * as pg from './index.js'

const near = (actual: number, expected: number, tolerance = 1e-9): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)

const range = { clipLow: 0.2, clipHigh: 0.25 }

/** Losses whose gradient is the derivative of their value. */
const differentiable: Loss[] = [
  pg.dualClipLoss({ ...range, dualClip: 1.4 }),
  pg.sequenceRatioLoss(range),
  pg.gspoLoss({ clipLow: 0.05, clipHigh: 0.06 }),
  pg.sapoLoss({ temperaturePositive: 1, temperatureNegative: 1.05 }),
  pg.gmpoLoss({ low: 0.2, high: 0.3 }),
  pg.agroLoss(0.3),
  pg.offPolicyMaskedLoss({ ...range, threshold: 0.05 }),
  pg.preClippedLoss({ ...range, limit: 1.5 }),
  pg.klLoss('k1'),
  pg.klLoss('k2'),
  pg.klLoss('k3'),
  pg.klLoss('unbiased'),
  pg.clippedValueLoss(0.2),
  pg.clippedValueLoss(null),
  pg.weightedEntropy(),
  pg.positiveLikelihood(0),
]

/** Likelihoods with constant weights: what the gradient holds still has to be held still to check it. */
const weighted: Loss[] = [
  pg.importanceWeightedLoss(1.1),
  pg.cispoLoss({ low: 0.8, high: 1.2 }),
  pg.vespoLoss({ kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 }),
  pg.dppoLoss({ divergence: 'tv', low: 0.03, high: 0.03, cap: 20 }),
  pg.dppoLoss({ divergence: 'kl', low: 0.01, high: 0.01, cap: 20 }),
  pg.lolLoss({ ratio: 'sequence', clip: 0.3 }),
  pg.lolLoss({ ratio: 'token', clip: 0.3 }),
  pg.lolLoss({ ratio: 'none', clip: 0 }),
]

const batches = [1, 2, 3, 4, 5].map((seed) => randomLossTokens(seed, { lengths: [4, 1, 5, 3] }))

for (const loss of differentiable)
  test(`${loss.name}: the gradient is that of central differences, extremes are finite`, () => {
    for (const tokens of batches) assert.ok(gradientError(loss, tokens) < 1e-6, String(gradientError(loss, tokens)))
    assertLossEdges(loss)
  })

for (const loss of weighted)
  test(`${loss.name}: with its weights held still the gradient is that of central differences, extremes are finite`, () => {
    for (const tokens of batches) {
      const { gradient } = loss.evaluate(tokens)
      const held = gradient.map((slope, t) => -slope / (tokens.weights[t] * tokens.advantages[t]))
      const still = pg.weightedLikelihood('still', () => ({ factors: held }))
      near(still.evaluate(tokens).value, loss.evaluate(tokens).value)
      assert.ok(gradientError(still, tokens) < 1e-6)
    }
    assertLossEdges(loss)
  })

test('gspo-token: with one advantage a sequence its gradient is that of gspo', () => {
  for (const tokens of batches) {
    const advantages = Float64Array.from(tokens.segments, (segment) => [1, -1, 0.5, -2][segment])
    const weights = Float64Array.from(tokens.segments, (segment) => [0.1, 0.2, 0.05, 0.3][segment])
    const same = { ...tokens, advantages, weights }
    const [whole, byToken] = [pg.gspoLoss(range), pg.gspoTokenLoss(range)].map((loss) => loss.evaluate(same).gradient)
    whole.forEach((slope, t) => near(byToken[t], slope))
    const [mixed, mixedByToken] = [pg.gspoLoss(range), pg.gspoTokenLoss(range)].map((loss) => loss.evaluate(tokens))
    assert.notDeepEqual(mixed.gradient, mixedByToken.gradient)
  }
  assertLossEdges(pg.gspoTokenLoss(range))
  assertLossEdges(pg.klLoss('straight-through'))
})

function one(logRatios: readonly number[], advantage: number): LossTokens {
  return {
    logprobs: Float64Array.from(logRatios, (d) => -1 + d),
    oldLogprobs: new Float64Array(logRatios.length).fill(-1),
    referenceLogprobs: new Float64Array(logRatios.length).fill(-1),
    advantages: new Float64Array(logRatios.length).fill(advantage),
    weights: new Float64Array(logRatios.length).fill(1 / logRatios.length),
    segments: new Int32Array(logRatios.length),
    sequences: [{ group: 0, role: 'sample', reward: 1, task: '', language: '' }],
  }
}

test('on the first update every ratio loss has the gradient of REINFORCE', () => {
  const tokens = one([0, 0], 0.7)
  for (const loss of [
    clippedLoss(),
    pg.dualClipLoss({ ...range, dualClip: 3 }),
    pg.gspoLoss(range),
    pg.gspoTokenLoss(range),
    pg.cispoLoss({ low: 0, high: 5 }),
    pg.sapoLoss({ temperaturePositive: 1, temperatureNegative: 1.05 }),
    pg.gmpoLoss({ low: 0.4, high: 0.4 }),
    pg.vespoLoss({ kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 }),
    pg.importanceWeightedLoss(2),
    pg.dppoLoss({ divergence: 'tv', low: 0.2, high: 0.2, cap: 20 }),
    pg.lolLoss({ ratio: 'sequence', clip: 0.9 }),
  ])
    loss.evaluate(tokens).gradient.forEach((slope) => near(slope, -0.35))
  // The ratio of the whole moves with every token, whatever its length.
  pg.sequenceRatioLoss(range)
    .evaluate(tokens)
    .gradient.forEach((slope) => near(slope, -0.7))
})

test('a token whose ratio ran up: who keeps it, who drops it', () => {
  const slope = (loss: Loss, advantage: number): number => loss.evaluate(one([1, -1], advantage)).gradient[0]
  const up = Math.E
  near(slope(clippedLoss(range), 1), 0)
  near(slope(clippedLoss(range), -1), up / 2)
  near(slope(pg.dualClipLoss({ ...range, dualClip: 2 }), -1), 0)
  near(slope(pg.cispoLoss({ low: 0, high: 1.5 }), 1), -1.5 / 2)
  near(slope(pg.importanceWeightedLoss(2), 1), -2 / 2)
  // The ratios of this sequence cancel, so losses on the whole of it see 1.
  near(slope(pg.gspoLoss(range), 1), -1 / 2)
  near(slope(pg.sequenceRatioLoss(range), 1), -1)
  near(slope(pg.vespoLoss({ kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 }), 1), -1 / 2)
  near(slope(pg.gmpoLoss({ low: 0.4, high: 0.4 }), 1), 0)
  // exp(0) - exp(-1) is a move of 0.63 in probability.
  near(slope(pg.dppoLoss({ divergence: 'tv', low: 0.2, high: 0.2, cap: 20 }), 1), 0)
  near(slope(pg.dppoLoss({ divergence: 'tv', low: 0.2, high: 0.7, cap: 20 }), 1), -up / 2)
  near(slope(pg.preClippedLoss({ ...range, limit: 2 }), -1), 0)
})

test('agro: rewards equal to beta times the log-ratio are an optimum; a group of one teaches nothing', () => {
  const tokens = randomLossTokens(7, { lengths: [3, 2] })
  tokens.referenceLogprobs = Float64Array.from(tokens.logprobs)
  tokens.sequences = tokens.sequences!.map((info) => ({ ...info, reward: 0.5 }))
  assert.equal(pg.agroLoss(0.1).evaluate(tokens).value, 0)
  tokens.sequences = tokens.sequences.map((info, i) => ({ ...info, reward: i }))
  // On-policy and at the reference: minus the advantage against the group's mean, over n - 1.
  const { gradient } = pg.agroLoss(0.1).evaluate(tokens)
  assert.deepEqual([...gradient], [0.5, 0.5, 0.5, -0.5, -0.5])
  const silenced = { ...tokens, weights: tokens.weights.map((weight, t) => (tokens.segments[t] === 0 ? 0 : weight)) }
  assert.ok(
    pg
      .agroLoss(0.1)
      .evaluate(silenced)
      .gradient.every((slope) => slope === 0),
  )
  const alone = { ...tokens, sequences: tokens.sequences.map((info, group) => ({ ...info, group })) }
  assert.ok(
    pg
      .agroLoss(0.1)
      .evaluate(alone)
      .gradient.every((slope) => slope === 0),
  )
  assert.throws(() => pg.agroLoss(0.1).evaluate({ ...tokens, referenceLogprobs: undefined }), { code: 'usage' })
})

test('the divergence terms: the unbiased slope is r d; without a reference they say what is missing', () => {
  const tokens = randomLossTokens(9)
  const { gradient } = pg.klLoss('unbiased').evaluate(tokens)
  gradient.forEach((slope, t) => {
    const d = tokens.logprobs[t] - tokens.referenceLogprobs![t]
    near(slope, tokens.weights[t] * Math.exp(tokens.logprobs[t] - tokens.oldLogprobs[t]) * d)
  })
  for (const estimator of pg.KL_ESTIMATORS)
    assert.throws(() => pg.klLoss(estimator).evaluate({ ...tokens, referenceLogprobs: undefined }), { code: 'usage' })
})

test('positive-likelihood: only correct sequences, none while advantages are silent', () => {
  const tokens = randomLossTokens(3, { lengths: [2, 2] })
  tokens.sequences = tokens.sequences!.map((info, i) => ({ ...info, reward: i }))
  assert.deepEqual([...pg.positiveLikelihood(0).evaluate(tokens).gradient], [0, 0, -0.5, -0.5])
  const silent = { ...tokens, advantages: new Float64Array(4) }
  assert.equal(pg.positiveLikelihood(0).evaluate(silent).value, 0)
})

test('the value head: clipped about its last word, and missing parts are named', () => {
  const tokens = one([0], 1)
  const at = (value: number, returns: number): number =>
    pg.clippedValueLoss(0.2).evaluate({
      ...tokens,
      values: Float64Array.of(value),
      oldValues: Float64Array.of(0),
      returns: Float64Array.of(returns),
    }).valueGradient![0]
  near(at(0.1, 1), -0.9)
  // Past the clip towards the return the clipped prediction is the worse, so nothing more is gained.
  assert.equal(at(0.5, 1), 0)
  near(at(0.5, -1), 1.5)
  assert.throws(() => pg.clippedValueLoss(0.2).evaluate(tokens), { code: 'usage' })
  assert.throws(() => pg.weightedEntropy().evaluate(tokens), { code: 'usage' })
})

const bins = { minimum: -1, maximum: 2, count: 7 }

test('two-hot and HL-Gauss targets: they sum to 1, and two-hot keeps the mean', () => {
  for (const target of [-5, -1, -0.3, 0, 0.4999, 1.5, 2, 9]) {
    const [hot, gauss] = [pg.twoHot(target, bins), pg.hlGauss(target, bins)]
    for (const q of [hot, gauss]) {
      near(
        q.reduce((sum, p) => sum + p, 0),
        1,
        1e-12,
      )
      assert.ok(q.every((p) => p >= 0))
    }
    const said = hot.reduce((sum, p, k) => sum + p * pg.binValues(bins, 'two-hot')[k], 0)
    near(said, Math.min(2, Math.max(-1, target)), 1e-12)
  }
  assert.throws(() => pg.twoHot(NaN, bins), { code: 'numeric' })
  assert.throws(() => pg.hlGauss(0, { ...bins, count: 1 }), { code: 'usage' })
})

test('HL-Gauss: masses of the normal distribution to ten digits', () => {
  // Phi(2/3) - Phi(-2/3) of the middle bin over Phi(2) - Phi(-2) of the whole, from tables of the error function.
  const q = pg.hlGauss(0, { minimum: -3, maximum: 3, count: 3 }, 0.75)
  const [middle, whole] = [0.4950149249061542, 0.9544997361036416]
  near(q[1], middle / whole, 1e-10)
  near(q[0], q[2], 1e-15)
  // Far in the tail the masses keep their relative precision: Phi(-4) / Phi(-5) is 110.488.
  const tail = pg.hlGauss(0.5, { minimum: 0, maximum: 10, count: 10 }, 1)
  near(tail[5] / tail[6], (3.3976731247e-6 - 1.8989562466e-8) / (1.8989562466e-8 - 4.0160005839e-11), 1e-3)
})

test('the categorical value loss: derivative by central differences, and huge logits stay finite', () => {
  const loss = pg.ppoCategorical.make({ ...bins, targets: 'hl-gauss', sigmaRatio: 0.75 }) as (
    logits: readonly number[],
    target: number,
  ) => ReturnType<typeof pg.categoricalValueLoss>
  const logits = [0.3, -1, 2, 0.5, 0, -0.4, 1]
  const { gradient } = loss(logits, 0.7)
  gradient.forEach((slope, k) => {
    const at = (x: number): number => loss(logits.with(k, x), 0.7).value
    near(slope, (at(logits[k] + 1e-6) - at(logits[k] - 1e-6)) / 2e-6, 1e-8)
  })
  assert.ok(Number.isFinite(loss([1e4, -1e4, 0, 0, 0, 0, 0], 0.7).value))
})

test('gae by hand, and lambdas of VAPO', () => {
  const { advantages, returns } = pg.gae([9, 0, 5, 1], [9, 0.5, 9, 0.25], Uint8Array.of(0, 1, 0, 1), {
    gamma: 0.5,
    lambda: 0.5,
  })
  // Token 3: 1 - 0.25; token 1: 0 + 0.5 * 0.25 - 0.5 + 0.25 * 0.75.
  assert.deepEqual([...advantages], [0, -0.1875, 0, 0.75])
  assert.deepEqual([...returns], [0, 0.3125, 0, 1])
  assert.equal(pg.lengthAdaptiveLambda(0.05, 10), 0)
  near(pg.lengthAdaptiveLambda(0.05, 1000), 0.98)
})
