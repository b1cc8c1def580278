import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTestPolicy, RESUME_CONFIG, TEST_TASKS } from './testing.js'
import { resumeTraining, train, type TrainOptions } from './train.js'
import type { TrainEvent } from './types.js'

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
