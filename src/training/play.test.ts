import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasVariance } from '../algorithms/advantages.js'
import { sampledTokens } from '../algorithms/overlong.js'
import { coupledGroups } from '../algorithms/multi/coupled.js'
import type { Needs } from '../algorithms/types.js'
import { mixture } from '../curriculum/mixture.js'
import type { Curriculum } from '../curriculum/types.js'
import type { Task } from '../tasks/types.js'
import { parseConfig, type TrainConfigInput } from './config.js'
import { playStep, type StepPlay } from './play.js'
import { createScorer } from './scoring.js'
import { echo, openTestPolicy, TEST_CONFIG } from './testing.js'

/** A task that pays the same whatever is said, on every second of its problems. */
const halfFlat: Task = {
  ...echo,
  play: (problem) => ({
    ...echo.play(problem),
    respond: (reply) => {
      const reward = problem.key === 'a' ? 0 : [...reply].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)
      return { messages: [], done: true, outcome: { reward, success: false, wellFormed: true } }
    },
  }),
}
const reward = { name: 'task', score: ({ outcome }: { outcome: { reward: number } }) => outcome.reward }

async function played(
  config: Partial<TrainConfigInput>,
  options: { needs?: Needs; curriculum?: Curriculum; task?: Task } = {},
): Promise<StepPlay> {
  const { needs = {}, task = halfFlat } = options
  const tasks = [{ task, languages: task.languages, difficulty: [0, 1] as [number, number], weight: 1 }]
  const whole = parseConfig({ ...TEST_CONFIG, ...config })
  const curriculum =
    options.curriculum ??
    mixture({
      tasks: [{ id: task.id, languages: task.languages, difficulty: [0, 1], weight: 1 }],
      groupsPerStep: whole.groupsPerStep,
    })
  const { policy, chat } = await openTestPolicy()
  const score = createScorer(reward, async () => null)
  return playStep({ policy, chat, curriculum, tasks, score, config: whole, needs, step: 3 })
}

test('groups without variance are replaced in their places, all that was played is kept', async () => {
  const plain = await played({})
  const idle = plain.groups.map((group) => !hasVariance(group))
  assert.ok(idle.filter(Boolean).length >= 3 && idle.filter(Boolean).length < 10, 'the case at hand')
  assert.deepEqual(plain.groups, plain.play.groups)
  const { play, groups } = await played({ dynamicSampling: { rounds: 20 } })
  assert.equal(groups.length, 12)
  assert.ok(groups.every(hasVariance))
  groups.forEach((group, i) => {
    if (!idle[i]) assert.deepEqual(group, plain.groups[i], 'what taught something stays')
  })
  assert.equal(new Set(groups.map(({ trajectories }) => trajectories[0])).size, 12)
  assert.deepEqual(play.groups.slice(0, 12), plain.groups)
  const tokens = play.groups.flatMap(({ trajectories }) => trajectories.map(sampledTokens))
  assert.equal(
    play.sampledTokens,
    tokens.reduce((sum, count) => sum + count, 0),
  )
  assert.deepEqual(await played({ dynamicSampling: { rounds: 20 } }), { play, groups }, 'deterministic')
})

test('a problem in several languages is several groups that methods can couple', async () => {
  const coupled = async (languagesPerProblem: number): Promise<number[]> => {
    const curriculum = mixture({
      tasks: [{ id: 'echo', languages: echo.languages, difficulty: [0, 1], weight: 1 }],
      groupsPerStep: 2,
      languagesPerProblem,
    })
    const { groups } = await played({ groupsPerStep: 2 }, { curriculum, task: { ...echo, generate } })
    assert.deepEqual(new Set(groups.map(({ problem }) => problem.language)), new Set(['en', 'sw']))
    return coupledGroups(groups).map(({ length }) => length)
  }
  // Seeds are keys here, so that two problems are never alike by chance.
  const generate: Task['generate'] = (seed, options) => ({ ...echo.generate(seed, options), key: String(seed) })
  assert.deepEqual([await coupled(2), await coupled(1)], [[2], [1, 1]])
})

test('rounds are bounded, and ask for no more than is missing', async () => {
  const asked: (number | undefined)[] = []
  const flat: Curriculum = {
    next: (_, __, refill) => {
      asked.push(refill?.count)
      // More than is asked for: the rest is not played.
      return Array.from({ length: 4 }, () => ({ task: 'echo', language: 'en', difficulty: 0, seed: 0 }))
    },
    observe: () => {},
    state: () => null,
    restore: () => {},
  }
  const never = { ...halfFlat, play: (problem: Parameters<Task['play']>[0]) => halfFlat.play({ ...problem, key: 'a' }) }
  const given = { groupsPerStep: 4, dynamicSampling: { rounds: 2 } }
  const { play, groups } = await played(given, { curriculum: flat, task: never })
  assert.deepEqual(asked, [undefined, 4, 4])
  assert.equal(play.groups.length, 12)
  assert.deepEqual(groups, play.groups.slice(0, 4), 'what could not be replaced stays')
})
