import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainSequence } from '../../policy/types.js'
import { grpo } from '../grpo.js'
import { gradientError, randomLossTokens } from '../testing-loss.js'
import { testGroup } from '../testing.js'
import { adaptiveKlGrpo, bySequence, meanDivergence } from './adaptive-kl.js'
import { klLoss } from './kl.js'

const make = (options: object = {}) => adaptiveKlGrpo.make(adaptiveKlGrpo.options.parse(options))
const context = { step: 1, seed: 1, state: null }

/** As scored: the policy is `gap` nats surer than the reference. */
const scored = (sequences: readonly TrainSequence[], gap: number): TrainSequence[] =>
  sequences.map((sequence) => ({
    ...sequence,
    oldLogprobs: sequence.logprobs,
    referenceLogprobs: sequence.logprobs.map((logprob) => logprob - gap),
  }))

test('the coefficient follows the target: up while the divergence is beyond it, down below, by a fifth at most a horizon', () => {
  const algorithm = make({ target: 0.1, horizon: 20, initial: 0.5 })
  const lesson = algorithm.learn([testGroup([0, 1])], context)
  assert.deepEqual([lesson.state, lesson.metrics!.klCoefficient], [{ kl: 0.5 }, 0.5])
  const after = (gap: number): number => {
    const state = algorithm.remember!(lesson.state!, scored(lesson.sequences, gap), context)
    const next = algorithm.learn([testGroup([0, 1])], { ...context, step: 2, state })
    for (const { info } of next.sequences) assert.deepEqual(info!.coefficients, next.state)
    return next.metrics!.klCoefficient
  }
  // Two sequences of a horizon of 20: a tenth of what the controller would change in a whole one.
  const near = (actual: number, expected: number): void => assert.ok(Math.abs(actual - expected) < 1e-6, `${actual}`)
  near(after(5), 0.5 * 1.02)
  near(after(0.11), 0.5 * 1.01)
  near(after(0.1), 0.5)
  near(after(-5), 0.5 * 0.98)
})

test('the divergence is the mean of olp - rlp over what was sampled', () => {
  const { sequences } = make().learn([testGroup([0, 1], { length: 4 })], context)
  const [first, second] = scored(sequences, 0.25)
  assert.equal(meanDivergence([first, { ...second, referenceLogprobs: second.logprobs }]), 0.125)
  assert.equal(meanDivergence([]), 0)
  assert.throws(() => meanDivergence(sequences), { code: 'usage' })
})

test('the divergence weighs as the coefficient of its sequence says; without any it is the loss of GRPO', () => {
  const tokens = randomLossTokens(3)
  const count = 1 + Math.max(...tokens.segments)
  const told = (kl: number) => ({
    ...tokens,
    sequences: Array.from({ length: count }, () => ({
      group: 0,
      role: 'sample' as const,
      reward: 0,
      task: 't',
      language: 'en',
      coefficients: { kl },
    })),
  })
  const loss = bySequence(klLoss('k3'), 'kl')
  assert.ok(gradientError(loss, told(0.7)) < 1e-6)
  const plain = klLoss('k3').evaluate(tokens)
  const weighted = loss.evaluate(told(0.7))
  assert.ok(Math.abs(weighted.value - 0.7 * plain.value) < 1e-9)
  assert.ok(Math.abs(weighted.metrics.kl - plain.metrics.kl) < 1e-9, 'what is measured is not what it weighs')
  assert.throws(() => loss.evaluate(tokens), { code: 'usage', message: /coefficient "kl"/ })
  const { gradient } = make().loss.evaluate(told(0))
  assert.deepEqual(gradient, grpo().loss.evaluate(tokens).gradient)
  assert.notDeepEqual(make().loss.evaluate(told(0.5)).gradient, gradient)
})
