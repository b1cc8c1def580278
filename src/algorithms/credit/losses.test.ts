import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Loss, LossTokens, SequenceInfo } from '../../policy/types.js'
import { clippedLoss } from '../clipped.js'
import { assertLossEdges, gradientError, randomLossTokens, type RandomTokensOptions } from '../testing-loss.js'
import * as credit from './index.js'

const roles: SequenceInfo['role'][] = ['sample', 'demonstration', 'sample']
const losses: Record<string, { loss: Loss; options?: RandomTokensOptions }> = {
  promising: { loss: credit.promisingLoss({ clipHigh: 0.28 }), options: { alternatives: 4 } },
  clipCov: { loss: credit.clipCovLoss({ ratio: 0.2, lower: 0.1, upper: 9 }) },
  klCov: { loss: credit.klCovLoss({ ratio: 0.3, coefficient: 0.5 }) },
  macro: { loss: credit.macroRatioLoss({ n: 3 }) },
  mirror: { loss: credit.mirrorDescentLoss({ tau: 0.5, klCoefficient: 0.1 }) },
  rlmec: { loss: credit.rlmecLoss({ imitation: 0.5 }), options: { roles } },
}

test('gradients are those of finite differences', () => {
  for (const [name, { loss, options }] of Object.entries(losses))
    for (let seed = 1; seed <= 8; seed++) {
      const error = gradientError(loss, randomLossTokens(seed, { lengths: [7, 1, 5], ...options }))
      assert.ok(error < 1e-6, `${name}, seed ${seed}: ${error}`)
    }
})

test('extremes give finite numbers', () => {
  for (const { loss, options } of Object.values(losses)) assertLossEdges(loss, options)
})

test('macros of one token are the clipped loss, longer ones are not', () => {
  const tokens = randomLossTokens(3, { lengths: [7, 4] })
  const plain = clippedLoss().evaluate(tokens)
  const one = credit.macroRatioLoss({ n: 1 }).evaluate(tokens)
  assert.ok(Math.abs(one.value - plain.value) < 1e-12)
  one.gradient.forEach((slope, t) => assert.ok(Math.abs(slope - plain.gradient[t]) < 1e-12))
  assert.ok(Math.abs(credit.macroRatioLoss({ n: 3 }).evaluate(tokens).value - plain.value) > 1e-6)
})

test('the promising loss over a set that is almost the vocabulary is the clipped loss; over one token it is still', () => {
  const tokens = randomLossTokens(5, { lengths: [6], alternatives: 1 })
  const rest = (logprobs: Float64Array): Float64Array => logprobs.map((logprob) => Math.log1p(-Math.exp(logprob)))
  const complete: LossTokens = {
    ...tokens,
    alternatives: { ...tokens.alternatives!, logprobs: rest(tokens.logprobs), old: rest(tokens.oldLogprobs) },
  }
  const loss = credit.promisingLoss()
  assert.ok(Math.abs(loss.evaluate(complete).value - clippedLoss().evaluate(tokens).value) < 1e-9)
  assert.notEqual(loss.evaluate(tokens).value, clippedLoss().evaluate(tokens).value)
  const alone: LossTokens = { ...tokens, alternatives: { ...tokens.alternatives!, ids: new Int32Array(6).fill(-1) } }
  const still = loss.evaluate(alone)
  assert.ok([...still.gradient, ...still.alternativesGradient!].every((slope) => Math.abs(slope) === 0))
  assert.throws(() => loss.evaluate({ ...tokens, alternatives: undefined }), { code: 'usage' })
})

test('KL-Cov has no penalty gradient at the first update, and Clip-Cov drops nothing of constant advantages', () => {
  const tokens = randomLossTokens(2)
  const first = { ...tokens, oldLogprobs: tokens.logprobs }
  assert.deepEqual(
    credit.klCovLoss({ ratio: 1, coefficient: 9 }).evaluate(first).gradient,
    credit.klCovLoss({ ratio: 1, coefficient: 0 }).evaluate(first).gradient,
  )
  const flat = { ...tokens, advantages: tokens.advantages.map(() => 1) }
  const { value, metrics } = credit.clipCovLoss({ ratio: 1, lower: 0 }).evaluate(flat)
  assert.equal(metrics.dropped, 0)
  assert.ok(Math.abs(value - clippedLoss().evaluate(flat).value) < 1e-12)
})

test('Clip-Cov chooses among candidates by the batch and its seed', () => {
  const tokens = randomLossTokens(8, { lengths: [60] })
  const of = (seed: number): number => credit.clipCovLoss({ ratio: 0.1, lower: 0, seed }).evaluate(tokens).value
  assert.equal(of(1), of(1))
  assert.notEqual(of(1), of(2))
})

test('RLMEC: rewards, and a clipped weight that keeps its gradient', () => {
  assert.deepEqual(credit.rlmecRewards([0.9, 0.1], true), [0.4, 0])
  assert.deepEqual(credit.rlmecRewards([0.9, 0.1], false), [0, -0.1])
  const tokens = randomLossTokens(1, { lengths: [2, 2], roles })
  const changed = {
    ...tokens,
    oldLogprobs: Float64Array.of(-1, -1, -1, -1),
    referenceLogprobs: Float64Array.of(-3, -1, -1, -1),
    advantages: Float64Array.of(0.4, 0, 1, 0.5),
  }
  const { gradient, metrics } = credit.rlmecLoss().evaluate(changed)
  assert.deepEqual(
    [...gradient].map((slope) => Math.round(slope * 1e6) / 1e6),
    [-0.52, 0, -0.5, -0.25],
  )
  assert.deepEqual(metrics, { rewardedTokens: 1, imitatedTokens: 2 })
})
