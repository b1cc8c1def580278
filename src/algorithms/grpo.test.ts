import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainSequence } from '../policy/types.js'
import { groupAdvantages, normalizeGroup } from './advantages.js'
import { grpo } from './grpo.js'
import { handleOverlong, overlongPenalty } from './overlong.js'
import { testGroup, testTrajectory } from './testing.js'
import { tokenWeights } from './weights.js'

const close = (actual: readonly number[], expected: readonly number[], tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= tolerance, `${actual} is not ${expected}`))
}

test('advantages worked out by hand', () => {
  assert.deepEqual(normalizeGroup([1, 0, 0, 1], { normalization: 'mean' }), [0.5, -0.5, -0.5, 0.5])
  // Bessel's standard deviation of 1 0 0 1 is sqrt(1/3).
  const expected = Math.sqrt(3) / 2
  close(normalizeGroup([1, 0, 0, 1], { normalization: 'mean-std' }), [expected, -expected, -expected, expected], 1e-5)
})

test('with the standard deviation, doubling all rewards of a group leaves advantages as they were', () => {
  const rewards = [0.1, 0.7, 0.3, 0.9, 0]
  const options = { normalization: 'mean-std', epsilon: 0 } as const
  const doubled = normalizeGroup(
    rewards.map((reward) => reward * 2),
    options,
  )
  close(doubled, normalizeGroup(rewards, options), 1e-12)
})

test('advantages of a group sum to 0', () => {
  for (const normalization of ['mean', 'mean-std'] as const) {
    const sum = normalizeGroup([3, -1, 0.25, 8], { normalization }).reduce((a, b) => a + b, 0)
    assert.ok(Math.abs(sum) < 1e-12)
  }
})

test('groups of one and groups of equal rewards have advantage exactly 0, huge rewards stay finite', () => {
  for (const normalization of ['mean', 'mean-std'] as const) {
    assert.deepEqual(normalizeGroup([5], { normalization }), [0])
    assert.deepEqual(normalizeGroup([0.1, 0.1, 0.1], { normalization }), [0, 0, 0])
    assert.deepEqual(normalizeGroup([], { normalization }), [])
    for (const scale of [1e-200, 1e200, 1e307]) {
      const advantages = normalizeGroup([scale, -scale, 0], { normalization })
      assert.ok(advantages.every(Number.isFinite), String(advantages))
    }
  }
  assert.throws(() => normalizeGroup([0, NaN], { normalization: 'mean' }), { code: 'numeric' })
})

test('an advantage stands on sampled tokens only', () => {
  const [[first]] = groupAdvantages({ normalization: 'mean' })([testGroup([1, 0], { length: 2 })])
  assert.deepEqual([...first], [0, 0, 0.5, 0.5])
})

test('aggregation weights worked out by hand', () => {
  const masks = [Uint8Array.of(0, 1, 1, 1), Uint8Array.of(0, 1), Uint8Array.of(0, 0)]
  const weights = (...args: [Parameters<typeof tokenWeights>[1], number?]): number[] =>
    tokenWeights(masks, ...args).flatMap((row) => [...row])
  close(weights('token-mean'), [0, 1 / 4, 1 / 4, 1 / 4, 0, 1 / 4, 0, 0])
  close(weights('sequence-mean-token-mean'), [0, 1 / 6, 1 / 6, 1 / 6, 0, 1 / 2, 0, 0])
  close(weights('sequence-mean-token-sum'), [0, 1 / 2, 1 / 2, 1 / 2, 0, 1 / 2, 0, 0])
  close(weights('fixed-length', 10), [0, 0.05, 0.05, 0.05, 0, 0.05, 0, 0])
  assert.throws(() => weights('fixed-length'), { code: 'usage' })
  assert.deepEqual(tokenWeights([new Uint8Array(2)], 'token-mean'), [Float32Array.of(0, 0)])
})

test('groups whose rewards are equal contribute nothing at all and are counted', () => {
  const algorithm = grpo({ klCoefficient: 0.1 })
  const groups = [testGroup([1, 1, 1]), testGroup([1, 0]), testGroup([0, 0]), testGroup([1]), testGroup([])]
  const lesson = algorithm.learn(groups)
  assert.equal(lesson.zeroVarianceGroups, 4)
  assert.deepEqual(lesson.origins, [
    { group: 1, trajectory: 0 },
    { group: 1, trajectory: 1 },
  ])
  assert.ok(lesson.advantages[0].every((tokens) => tokens.every((advantage) => advantage === 0)))
  assert.deepEqual(algorithm.needs, { reference: 'initial' })
  // The same batch with and without the silent groups: the weights, and so the loss, are equal.
  const alone = algorithm.weigh(algorithm.learn([groups[1]]).sequences)
  const weightsOf = (sequences: readonly TrainSequence[]): Float32Array[] => sequences.map(({ weights }) => weights)
  assert.deepEqual(weightsOf(algorithm.weigh(lesson.sequences)), weightsOf(alone))
})

test('an empty reply counts in the mean of its group and is not trained on', () => {
  const group = { ...testGroup([1]), trajectories: [testTrajectory(1), testTrajectory(0, { length: 0 })] }
  const lesson = grpo({ normalization: 'mean' }).learn([group])
  assert.deepEqual(lesson.origins, [{ group: 0, trajectory: 0 }])
  assert.equal(lesson.sequences[0].advantages[2], 0.5)
})

test('truncated trajectories: kept, masked, or punished by length', () => {
  const cut = testTrajectory(0, { stopReason: 'length' })
  const group = { ...testGroup([1]), trajectories: [testTrajectory(1), cut] }
  assert.equal(grpo().learn([group]).sequences.length, 2)
  const masked = grpo({ overlong: 'mask', normalization: 'mean' }).learn([group])
  assert.deepEqual(masked.origins, [{ group: 0, trajectory: 0 }])
  assert.equal(masked.sequences[0].advantages[2], 0.5)
  assert.ok(cut.mask.includes(1), 'the input is not changed')
  const all = { ...group, trajectories: [testTrajectory(1, { stopReason: 'context' }), cut] }
  assert.deepEqual(grpo({ overlong: 'mask' }).learn([all]).sequences, [])
})

test('soft punishment of length, worked out by hand (DAPO, equation 13)', () => {
  const at = (tokens: number): number => overlongPenalty(tokens, 100, 20)
  assert.deepEqual([at(10), at(80), at(90), at(100), at(500)], [0, 0, -0.5, -1, -1])
  assert.equal(overlongPenalty(100, 100, 0), 0)
  assert.equal(overlongPenalty(101, 100, 0), -1)
  const handling = { maxTokens: 4, marginTokens: 2, weight: 0.5 }
  const [changed] = handleOverlong([testGroup([1, 1], { length: 3 })], handling)
  assert.equal(changed.trajectories[0].reward, 0.75)
  assert.deepEqual(changed.trajectories[0].rewardParts, { task: 1, overlong: -0.25 })
  assert.throws(() => handleOverlong([], { maxTokens: 1, marginTokens: 2 }), { code: 'usage' })
})
