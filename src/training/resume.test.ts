import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { groupAdvantages } from '../algorithms/advantages.js'
import { clippedLoss } from '../algorithms/clipped.js'
import { compose } from '../algorithms/compose.js'
import type { Algorithm, Trajectory } from '../algorithms/types.js'
import { openTestPolicy, RESUME_CONFIG, TEST_TASKS } from './testing.js'
import { resumeTraining, train, type TrainOptions } from './train.js'
import type { RunState, TrainEvent } from './types.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-resume-'))
after(() => rmSync(root, { recursive: true, force: true }))
const folder = (name: string): string => join(root, name)
const options = (): TrainOptions => ({ tasks: TEST_TASKS, openPolicy: () => openTestPolicy() })

/** What a run leaves that must not depend on interruptions: everything but times. */
function traces(out: string): Record<string, string> {
  const read = (name: string): string => readFileSync(join(out, name), 'utf8')
  return {
    metrics: read('metrics.jsonl').replaceAll(/,"time":\{[^}]*\}/g, ''),
    episodes: read('episodes.jsonl'),
    evaluations: read('evaluations.jsonl'),
    weights: read('checkpoints/final/table.json'),
  }
}

before(() => train(RESUME_CONFIG, { ...options(), out: folder('whole') }))

test('a run killed again and again, at events and while writing checkpoints, ends as one never killed', () => {
  const child = fileURLToPath(new URL('resume.fixture.js', import.meta.url))
  const out = folder('killed')
  // These fall into the first evaluation, into steps before and after their metrics, and into an evaluation on the way.
  const moments = ['event:9', 'save:1', 'event:44', 'save:2', 'event:2', 'event:20', 'save:2']
  for (const moment of moments) {
    const run = spawnSync(process.execPath, [child, out, moment], { encoding: 'utf8' })
    assert.equal(run.signal, 'SIGKILL', `${moment}: ${run.stderr}`)
    assert.ok(!existsSync(join(out, 'summary.json')))
  }
  const run = spawnSync(process.execPath, [child, out, 'never'], { encoding: 'utf8' })
  assert.equal(run.status, 0, run.stderr)
  assert.deepEqual(traces(out), traces(folder('whole')))
  assert.deepEqual(readdirSync(join(out, 'checkpoints')).sort(), ['final', 'step-000010', 'step-000011'])
})

test('an interrupted run finishes its step, saves, and goes on as if nothing had happened', async () => {
  const out = folder('interrupted')
  for (const stopAt of [0, 1, 4, 5, 11]) {
    const controller = new AbortController()
    const events: TrainEvent['type'][] = []
    const summary = await train(RESUME_CONFIG, {
      ...options(),
      out,
      resume: true,
      signal: controller.signal,
      onEvent: (event) => {
        events.push(event.type)
        const step = event.type === 'step' ? event.metrics.step : event.type === 'progress' ? 0 : -1
        if (step === stopAt) controller.abort()
      },
    })
    assert.equal(summary.finished, false)
    assert.equal(summary.steps, stopAt)
    assert.equal(events.at(-1), 'interrupted')
  }
  const summary = await resumeTraining(out, options())
  assert.equal(summary.finished, true)
  assert.deepEqual(traces(out), traces(folder('whole')))
  // Once more: there is nothing left to do, and the summary says so.
  assert.deepEqual(await resumeTraining(out, options()), JSON.parse(JSON.stringify(summary)))
})

/** Everything that outlives a step: a reference that follows, and parts that remember. */
const remembering = (): Algorithm =>
  compose({
    name: 'remembering',
    shaping: [
      {
        name: 'count',
        // Rewards depend on what is remembered: forgetting it would show.
        run: (groups, { state, step }) => {
          const { steps, mean } = (state ?? { steps: 0, mean: 0 }) as { steps: number; mean: number }
          assert.equal(steps, step - 1)
          const rewards = groups.flatMap(({ trajectories }) => trajectories.map(({ reward }) => reward))
          const now = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
          const lower = (one: Trajectory): Trajectory => ({ ...one, reward: one.reward - mean * one.turns })
          return {
            groups: groups.map(({ problem, trajectories }) => ({ problem, trajectories: trajectories.map(lower) })),
            state: { steps: step, mean: 0.7 * mean + 0.3 * now },
            metrics: { mean },
          }
        },
      },
    ],
    advantage: groupAdvantages({ normalization: 'mean' }),
    loss: clippedLoss({ klCoefficient: 0.1 }),
    needs: { reference: { rate: 0.2 }, old: true },
  })

test('what an algorithm remembers and a reference that follows survive interruptions exactly', async () => {
  const config = { ...RESUME_CONFIG, algorithm: {}, steps: 8, checkpointEvery: 3 }
  const mine = (): TrainOptions => ({ ...options(), algorithm: remembering() })
  await train(config, { ...mine(), out: folder('remembered') })
  const out = folder('remembering')
  for (const stopAt of [2, 3, 7]) {
    const controller = new AbortController()
    await train(config, {
      ...mine(),
      out,
      resume: true,
      signal: controller.signal,
      onEvent: (event) => event.type === 'step' && event.metrics.step === stopAt && controller.abort(),
    })
  }
  const checkpoint = join(out, 'checkpoints', 'step-000007')
  const { algorithm } = JSON.parse(readFileSync(join(checkpoint, 'state.json'), 'utf8')) as RunState
  assert.equal((algorithm as { count: { steps: number } }).count.steps, 7)
  assert.ok(existsSync(join(checkpoint, 'reference', 'table.json')))
  await resumeTraining(out, mine())
  assert.deepEqual(traces(out), traces(folder('remembered')))
  const logged = traces(out)
    .metrics.split('\n')
    .map((line) => line.match(/"algorithm\/count\.mean":([\d.]+)/)?.[1])
  assert.equal(logged[0], '0')
  assert.ok(Number(logged[7]) > 0)
})

test('what an algorithm remembers of the scores survives an interruption', async () => {
  const algorithm = { name: 'adaptive-kl-grpo', horizon: 100, target: 0.01, minibatches: 2 }
  const config = { ...RESUME_CONFIG, steps: 5, algorithm }
  await train(config, { ...options(), out: folder('adapted') })
  const out = folder('adapting')
  const controller = new AbortController()
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'step' && event.metrics.step === 3) controller.abort()
  }
  await train(config, { ...options(), out, signal: controller.signal, onEvent })
  await resumeTraining(out, options())
  assert.deepEqual(traces(out), traces(folder('adapted')))
  const coefficients = [...traces(out).metrics.matchAll(/"algorithm\/klCoefficient":([\d.e-]+)/g)].map(([, kl]) => kl)
  assert.equal(new Set(coefficients).size, 5, coefficients.join())
})

test('a run whose groups are replaced goes on as if nothing had happened', async () => {
  const config = { ...RESUME_CONFIG, steps: 4, dynamicSampling: { rounds: 2 } }
  await train(config, { ...options(), out: folder('refilled') })
  const out = folder('refilling')
  const controller = new AbortController()
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'step' && event.metrics.step === 2) controller.abort()
  }
  await train(config, { ...options(), out, signal: controller.signal, onEvent })
  await resumeTraining(out, options())
  assert.deepEqual(traces(out), traces(folder('refilled')))
  const groups = [...traces(out).metrics.matchAll(/"episodes":\d+,"groups":(\d+)/g)].map(([, count]) => Number(count))
  assert.ok(groups.length === 4 && groups.some((count) => count > 12), 'groups beyond the first were played')
})

test('a checkpoint from before algorithms remembered anything is taken up', async () => {
  const out = folder('older')
  const controller = new AbortController()
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'checkpoint' && event.step === 4) controller.abort()
  }
  await train(RESUME_CONFIG, { ...options(), out, signal: controller.signal, onEvent })
  const path = join(out, 'checkpoints', 'step-000004', 'state.json')
  const { algorithm, ...older } = JSON.parse(readFileSync(path, 'utf8')) as RunState
  assert.equal(algorithm, null)
  writeFileSync(path, JSON.stringify(older))
  await resumeTraining(out, options())
  assert.deepEqual(traces(out), traces(folder('whole')))
})

test('a last line cut short by a kill is tolerated, and replaced', async () => {
  const out = folder('cut')
  const controller = new AbortController()
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'checkpoint' && event.step === 4) controller.abort()
  }
  await train(RESUME_CONFIG, { ...options(), out, signal: controller.signal, onEvent })
  for (const name of ['metrics.jsonl', 'episodes.jsonl', 'evaluations.jsonl']) {
    writeFileSync(join(out, name), `${readFileSync(join(out, name), 'utf8')}{"step":5,"task":"日本`)
  }
  await resumeTraining(out, options())
  assert.deepEqual(traces(out), traces(folder('whole')))
})

test('a folder that holds a run is refused without resume, and with another configuration', async () => {
  const out = folder('whole')
  await assert.rejects(train(RESUME_CONFIG, { ...options(), out }), { code: 'usage', message: /--resume/ })
  const other = { ...RESUME_CONFIG, learningRate: 0.1, algorithm: { ...RESUME_CONFIG.algorithm, clipHigh: 0.3 } }
  await assert.rejects(train(other, { ...options(), out, resume: true }), {
    code: 'usage',
    message: /differ: algorithm\.clipHigh, learningRate/,
  })
  await assert.rejects(resumeTraining(folder('none'), options()), { code: 'usage', message: /holds no run/ })
})

test('a damaged checkpoint says which file, and what to do', async () => {
  const out = folder('damaged')
  const controller = new AbortController()
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'checkpoint' && event.step === 4) controller.abort()
  }
  await train(RESUME_CONFIG, { ...options(), out, signal: controller.signal, onEvent })
  const newest = join(out, 'checkpoints', 'step-000004')
  writeFileSync(join(newest, 'policy', 'table.json'), 'x')
  await assert.rejects(resumeTraining(out, options()), {
    code: 'checkpoint',
    message: /step-000004 is damaged.*Remove/,
  })
  rmSync(newest, { recursive: true })
  await resumeTraining(out, options())
  assert.deepEqual(traces(out), traces(folder('whole')))
})
