import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scoreTranscript, weighted } from './combine.js'
import { builtinRewards, rewardFromConfig, type RewardConfig } from './registry.js'
import { makeTranscript } from './transcript.test.helper.js'
import type { Reward, RewardValue } from './types.js'

const constant = (value: RewardValue): Reward => ({ name: 'constant', score: () => value })
const transcript = makeTranscript({ reply: '42', data: { answer: '42' }, outcome: { reward: 0.5 } })

test('parts are weighted and named; those that do not apply are left out', async () => {
  const reward = weighted({
    a: [constant(2), 0.5],
    b: [constant(null), 1],
    c: [constant({ x: 1, y: -1 }), 3],
    d: [{ name: 'later', score: async () => 1 }, 0],
  })
  assert.deepEqual(await reward.score(transcript), { a: 1, 'c.x': 3, 'c.y': -3, d: 0 })
  assert.deepEqual(await scoreTranscript(reward, transcript), { reward: 1, parts: { a: 1, 'c.x': 3, 'c.y': -3, d: 0 } })
})

test('a reward that does not apply at all counts nothing', async () => {
  assert.equal(await weighted({ a: [constant(null), 1] }).score(transcript), null)
  assert.deepEqual(await scoreTranscript(constant(null), transcript), { reward: 0, parts: {} })
  assert.deepEqual(await scoreTranscript(constant(3), transcript), { reward: 3, parts: { constant: 3 } })
})

test('NaN, infinity, nonsense and a throw are errors that name the reward and the problem', async () => {
  const failing: Reward = { name: 'judge', score: () => Promise.reject(new Error('connection refused')) }
  const values = [NaN, Infinity, { part: -Infinity }, undefined as never, 'high' as never]
  for (const value of values)
    await assert.rejects(scoreTranscript(constant(value), transcript), {
      code: 'reward',
      message: /"constant" on problem quiz\/en\/k/,
    })
  await assert.rejects(scoreTranscript(weighted({ j: [failing, 1] }), transcript), {
    code: 'reward',
    message: 'reward "j" on problem quiz/en/k failed: connection refused',
  })
})

test('a configuration names rewards and their weights', async () => {
  const reward = rewardFromConfig({
    task: 1,
    language: 0.2,
    format: 0.1,
    exact: 2,
    length: { weight: 1, free: 0, limit: 4 },
  })
  assert.deepEqual(await reward.score(transcript), { task: 0.5, format: 0.1, exact: 2, length: -0.5 })
})

test('one of your own is named beside the built-in ones', async () => {
  const registry = { ...builtinRewards, brief: () => constant(1) }
  assert.deepEqual(await rewardFromConfig({ brief: 0.5 }, registry).score(transcript), { brief: 0.5 })
})

test('a wrong configuration says what is wrong', () => {
  const refused = (config: unknown, message: RegExp): void =>
    assert.throws(() => rewardFromConfig(config as RewardConfig), { code: 'usage', message })
  refused({ laguage: 1 }, /no reward "laguage". Did you mean "language"/)
  refused({ toString: 1 }, /no reward "toString"/)
  refused({ task: 'much' }, /rewards\.task: the weight must be a number/)
  refused({ task: NaN }, /rewards\.task/)
  refused({ length: { weight: 1, free: -1, limit: 5 } }, /rewards\.length\.free/)
  refused({ task: { weight: 1, scale: 2 } }, /rewards\.task.*scale/)
  refused({}, /at least one/)
})
