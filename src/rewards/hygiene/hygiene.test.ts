import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import {
  alarmLine,
  changeOf,
  rewardAlarms,
  rewardCorrelations,
  rewardStatistics,
  type HygieneStep,
  type HygieneTask,
} from './index.js'

const STEPS = 60

/** A run of one task: each quantity goes evenly from one value to another, with noise. */
function run(
  course: { [field in keyof HygieneTask | 'repetition']?: readonly [from: number, to: number] },
  { noise = 0.05, seed = 1, steps = STEPS } = {},
): HygieneStep[] {
  const random = createRandom(seed)
  return Array.from({ length: steps }, (_, i) => {
    const at = ([from, to]: readonly [number, number]): number =>
      from + ((to - from) * i) / (steps - 1) + noise * Math.max(Math.abs(from), Math.abs(to)) * random.normal()
    const { repetition, ...fields } = course
    const task = Object.fromEntries(Object.entries(fields).map(([field, ends]) => [field, at(ends)]))
    return { step: i + 1, ...(repetition && { repetition: at(repetition) }), tasks: { sort: task } }
  })
}

const kinds = (steps: readonly HygieneStep[]): string[] => rewardAlarms(steps).map(({ kind }) => kind)

/** A run that goes well: more reward and success, replies somewhat longer, better formed, in the language. */
const healthy = {
  reward: [0.2, 0.9],
  success: [0.2, 0.85],
  languageConsistency: [0.93, 0.97],
  malformed: [0.25, 0.02],
  tokensPerEpisode: [20, 35],
  repetition: [0.01, 0.02],
} as const

test('a run that goes well, or nowhere, sets off no alarm, whatever the noise', () => {
  for (let seed = 0; seed < 50; seed++) {
    assert.deepEqual(kinds(run(healthy, { seed, noise: 0.15 })), [])
    const flat = Object.fromEntries(Object.entries(healthy).map(([field, [from]]) => [field, [from, from] as const]))
    assert.deepEqual(kinds(run(flat, { seed, noise: 0.3 })), [])
  }
})

test('reward up, success down', () => {
  assert.deepEqual(kinds(run({ ...healthy, success: [0.4, 0.2] })), ['reward-without-success'])
  // Both fall, as when problems become harder; or both rise.
  assert.deepEqual(kinds(run({ ...healthy, reward: [0.9, 0.5], success: [0.4, 0.2] })), [])
  assert.deepEqual(kinds(run({ ...healthy, success: [0.4, 0.38] }, { noise: 0.3 })), [])
})

test('form without content', () => {
  const hollow = { ...healthy, malformed: [0.6, 0.05], success: [0.1, 0.1] } as const
  assert.deepEqual(kinds(run(hollow)), ['format-without-content'])
  assert.deepEqual(kinds(run({ ...hollow, success: [0.1, 0.4] })), [])
  assert.deepEqual(kinds(run({ ...hollow, success: [0.9, 0.9] })), [])
  assert.deepEqual(kinds(run({ ...hollow, malformed: [0.1, 0.05] })), [])
})

test('replies that grow, or shrink, without success', () => {
  const flat = { ...healthy, success: [0.5, 0.5] } as const
  assert.deepEqual(kinds(run({ ...flat, tokensPerEpisode: [20, 80] })), ['length-drift'])
  assert.deepEqual(kinds(run({ ...flat, tokensPerEpisode: [80, 15] })), ['length-drift'])
  assert.match(rewardAlarms(run({ ...flat, tokensPerEpisode: [80, 15] }))[0].message, /^sort: replies became shorter/)
  assert.deepEqual(kinds(run({ ...healthy, tokensPerEpisode: [20, 80] })), [], 'longer and right')
  assert.deepEqual(kinds(run({ ...flat, tokensPerEpisode: [2, 6] })), [], 'a few tokens')
  assert.deepEqual(kinds(run({ ...flat, reward: [0.5, 0.5], tokensPerEpisode: [80, 15] })), [], 'shorter, unpaid')
})

test('replies that leave their language', () => {
  assert.deepEqual(kinds(run({ ...healthy, languageConsistency: [0.95, 0.5] })), ['language-drift'])
  assert.deepEqual(kinds(run({ ...healthy, languageConsistency: [0.95, 0.9] })), [])
  const silent = run(healthy).map((step) => ({
    ...step,
    tasks: { sort: { ...step.tasks.sort, languageConsistency: null } },
  }))
  assert.deepEqual(kinds(silent), [])
})

test('replies that repeat themselves', () => {
  const [alarm] = rewardAlarms(run({ ...healthy, repetition: [0.02, 0.5] }))
  assert.equal(alarm.kind, 'repetition')
  assert.equal(alarm.task, null)
  assert.ok(alarm.early < 0.1 && alarm.late > 0.4)
  assert.deepEqual(kinds(run({ ...healthy, repetition: [0.3, 0.02] })), [])
})

test('few steps, missing values and tasks that come and go say nothing', () => {
  assert.deepEqual(rewardAlarms([]), [])
  assert.deepEqual(kinds(run({ ...healthy, success: [0.9, 0] }, { steps: 11 })), [])
  assert.deepEqual(
    kinds(Array.from({ length: 60 }, (_, step) => ({ step, repetition: NaN, tasks: { sort: { reward: null } } }))),
    [],
  )
  const alternating = run({ ...healthy, success: [0.6, 0.1] }).map((step, i) => (i % 2 ? { ...step, tasks: {} } : step))
  assert.deepEqual(kinds(alternating), ['reward-without-success'])
})

test('the change of a series: windows of a quarter, three standard errors', () => {
  assert.equal(changeOf([1, 2, 3]), null)
  assert.deepEqual(changeOf([0, 0, 0, 9, 9, 9, 9, 9, 9, 1, 1, 1]), { early: 0, late: 1, difference: 1, sure: true })
  assert.equal(changeOf([0, 2, 4, 0, 0, 0, 0, 0, 0, 1, 3, 5])?.sure, false)
  assert.equal(changeOf(Array.from({ length: 400 }, (_, i) => (i < 20 || i >= 380 ? 1 : 5)))?.difference, 0)
})

test('one line for all alarms', () => {
  assert.equal(alarmLine([]), null)
  const alarms = rewardAlarms(run({ ...healthy, success: [0.4, 0.2], languageConsistency: [1, 0.3] }))
  assert.match(alarmLine(alarms)!, /^the policy may be pleasing the reward: sort: the reward rose \(.*\(and 1 more\)/)
})

test('statistics of parts: what applies, what is null, what failed', () => {
  const parts: Record<string, number>[] = [{ task: 1, 'judge.a': 2 }, { task: 0 }, { task: 1, 'judge.a': 4 }]
  const { task, 'judge.a': judge } = rewardStatistics(parts, { judge: 1 })
  assert.ok(Math.abs(task.std - Math.sqrt(2) / 3) < 1e-12)
  assert.deepEqual({ ...task, std: 0 }, { mean: 2 / 3, std: 0, min: 0, max: 1, null: 0, failed: 0 })
  assert.deepEqual(judge, { mean: 3, std: 1, min: 2, max: 4, null: 1 - 2 / 3, failed: 0.25 })
  assert.deepEqual(rewardStatistics([]), {})
})

test('correlations of parts, where both apply and vary', () => {
  const random = createRandom(3)
  const parts = Array.from({ length: 2000 }, () => {
    const [x, y] = [random.normal(), random.normal()]
    return { a: x, b: 0.6 * x + 0.8 * y, c: -2 * x, d: y, e: 0.1 }
  })
  const found = rewardCorrelations(parts)
  assert.ok(Math.abs(found['a~b'] - 0.6) < 0.05)
  assert.ok(Math.abs(found['a~c'] + 1) < 1e-9)
  assert.ok(Math.abs(found['a~d']) < 0.07)
  assert.equal(
    Object.keys(found).some((pair) => pair.includes('e')),
    false,
  )
  const few: Record<string, number>[] = [{ a: 1, b: 1 }, { a: 2 }, { b: 2 }, { a: 3, b: 4 }]
  assert.deepEqual(rewardCorrelations(few), {})
})
