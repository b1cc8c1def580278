import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../core/index.js'
import type { LossTokens } from '../policy/types.js'
import { clippedLoss, LOG_RATIO_LIMIT } from './clipped.js'
import { crossEntropy } from './cross-entropy.js'

const batch = (parts: Partial<Record<keyof LossTokens, number[]>>): LossTokens => {
  const count = parts.logprobs!.length
  const or = (values: number[] | undefined, fill: number): Float64Array =>
    Float64Array.from(values ?? Array.from({ length: count }, () => fill))
  return {
    logprobs: or(parts.logprobs, 0),
    oldLogprobs: parts.oldLogprobs ? or(parts.oldLogprobs, 0) : or(parts.logprobs, 0),
    referenceLogprobs: parts.referenceLogprobs && or(parts.referenceLogprobs, 0),
    advantages: or(parts.advantages, 1),
    weights: or(parts.weights, 1),
    segments: new Int32Array(count),
  }
}
const near = (actual: number, expected: number, tolerance = 1e-9): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`)

/** The largest difference between the gradient and central differences of the value. */
function gradientError(loss: ReturnType<typeof clippedLoss>, tokens: LossTokens): number {
  const { gradient } = loss.evaluate(tokens)
  const step = 1e-6
  const errors = [...tokens.logprobs].map((logprob, t) => {
    const valueAt = (x: number): number => {
      const logprobs = Float64Array.from(tokens.logprobs)
      logprobs[t] = x
      return loss.evaluate({ ...tokens, logprobs }).value
    }
    const difference = (valueAt(logprob + step) - valueAt(logprob - step)) / (2 * step)
    return Math.abs(difference - gradient[t]) / Math.max(1, Math.abs(difference))
  })
  return Math.max(...errors)
}

for (const klEstimator of ['k1', 'k2', 'k3'] as const) {
  test(`the gradient of the clipped loss with ${klEstimator} agrees with finite differences`, () => {
    const random = createRandom(7)
    for (let round = 0; round < 20; round++) {
      const draw = (scale: number): number[] => Array.from({ length: 12 }, () => scale * random.normal())
      const oldLogprobs = draw(1).map((x) => -1 - Math.abs(x))
      const tokens = batch({
        // Away from the kinks of the clip, where the loss has no derivative.
        logprobs: oldLogprobs.map((x) => x + random.pick([-0.9, -0.4, -0.1, 0.1, 0.4, 0.9])),
        oldLogprobs,
        referenceLogprobs: draw(1).map((x) => -1 - Math.abs(x)),
        advantages: draw(1),
        weights: draw(1).map(Math.abs),
      })
      const loss = clippedLoss({ clipLow: 0.2, clipHigh: 0.28, klCoefficient: 0.3, klEstimator })
      assert.ok(gradientError(loss, tokens) < 1e-6)
    }
  })
}

test('values worked out by hand', () => {
  const loss = clippedLoss({ clipLow: 0.2, clipHigh: 0.3 })
  // Ratio 1: the value is minus the advantage whatever the clip range, the gradient minus weight times advantage.
  const first = loss.evaluate(batch({ logprobs: [-1, -2], advantages: [2, -1], weights: [0.5, 0.25] }))
  near(first.value, -0.75)
  assert.deepEqual([...first.gradient], [-1, 0.25])
  assert.deepEqual(first.metrics, { clipFraction: 0, ratio: 1 })
  // Ratio 2, positive advantage: clipped at 1.3 and silent. Negative advantage: not clipped.
  const up = { logprobs: [Math.log(2)], oldLogprobs: [0] }
  const praised = loss.evaluate(batch({ ...up, advantages: [1] }))
  near(praised.value, -1.3)
  assert.equal(praised.gradient[0], 0)
  assert.equal(praised.metrics.clipFraction, 1)
  const blamed = loss.evaluate(batch({ ...up, advantages: [-1] }))
  near(blamed.value, 2)
  near(blamed.gradient[0], 2)
})

test('divergence: k1, k2 and k3 of d = ln 2, worked out by hand', () => {
  const d = Math.log(2)
  const expected = { k1: [d, 1], k2: [(d * d) / 2, d], k3: [0.5 + d - 1, 0.5] } as const
  for (const [klEstimator, [value, slope]] of Object.entries(expected)) {
    const loss = clippedLoss({ klCoefficient: 10, klEstimator: klEstimator as 'k1' })
    const result = loss.evaluate(batch({ logprobs: [d], referenceLogprobs: [0], advantages: [0] }))
    near(result.value, 10 * value)
    near(result.gradient[0], 10 * slope)
    near(result.metrics.kl, value)
  }
})

test('a reference without a coefficient is measured and does not teach', () => {
  const result = clippedLoss().evaluate(batch({ logprobs: [-1], referenceLogprobs: [-3], advantages: [0] }))
  assert.equal(result.value, 0)
  assert.equal(Math.abs(result.gradient[0]), 0)
  assert.ok(result.metrics.kl > 0)
})

test('ratios from 1e-300 to 1e300 give finite numbers', () => {
  for (const logRatio of [-690, -30, Math.log(1e-6), Math.log(1e6), 30, 690]) {
    for (const advantage of [-1e6, -1, 0, 1, 1e6]) {
      for (const klEstimator of ['k1', 'k2', 'k3'] as const) {
        const tokens = batch({ logprobs: [-700 + logRatio], oldLogprobs: [-700], referenceLogprobs: [-700] })
        tokens.advantages[0] = advantage
        const { value, gradient } = clippedLoss({ klCoefficient: 0.1, klEstimator }).evaluate(tokens)
        assert.ok(Number.isFinite(value) && Number.isFinite(gradient[0]), `${logRatio} ${advantage} ${klEstimator}`)
      }
    }
  }
  const beyond = batch({ logprobs: [LOG_RATIO_LIMIT + 1], oldLogprobs: [0], advantages: [-1] })
  assert.equal(Math.abs(clippedLoss().evaluate(beyond).gradient[0]), 0)
})

test('what is not finite is a named error that says where', () => {
  const loss = clippedLoss()
  assert.throws(() => loss.evaluate(batch({ logprobs: [-1, NaN] })), {
    code: 'numeric',
    message: /token 1 of sequence 0/,
  })
  assert.throws(() => loss.evaluate(batch({ logprobs: [-1], advantages: [Infinity] })), { code: 'numeric' })
  const huge = batch({ logprobs: [0, 0], advantages: [-1e308, -1e308] })
  assert.throws(() => loss.evaluate(huge), { code: 'numeric', message: /sum overflows/ })
  assert.throws(() => clippedLoss({ klCoefficient: 0.1 }).evaluate(batch({ logprobs: [-1] })), { code: 'usage' })
})

test('nothing to learn from is a loss of 0', () => {
  const result = clippedLoss().evaluate(batch({ logprobs: [] }))
  assert.deepEqual(
    { ...result, gradient: [...result.gradient] },
    {
      value: 0,
      gradient: [],
      metrics: { clipFraction: 0, ratio: 0 },
    },
  )
})

test('cross-entropy: value by hand, gradient by finite differences', () => {
  const tokens = batch({ logprobs: [-1, -2], weights: [0.5, 0.25] })
  near(crossEntropy().evaluate(tokens).value, 1)
  assert.ok(gradientError(crossEntropy(), tokens) < 1e-8)
})
