import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openTestPolicy, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train, type TrainOptions } from './train.js'
import type { StepMetrics, TrainEvent } from './types.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-train-'))
after(() => rmSync(root, { recursive: true, force: true }))
const options = (out: string): TrainOptions => ({
  out: join(root, out),
  tasks: TEST_TASKS,
  openPolicy: () => openTestPolicy(),
})
const stepsOf = (out: string): StepMetrics[] =>
  readFileSync(join(root, out, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StepMetrics)

test('a run learns, and leaves its folder behind', async () => {
  const events: TrainEvent[] = []
  const summary = await train({ ...TEST_CONFIG, steps: 60 }, { ...options('learns'), onEvent: (e) => events.push(e) })
  const success = (rows: typeof summary.evaluation.before): number =>
    rows.find((row) => row.task === 'climb' && row.decoding === 'sampled')!.success
  assert.ok(success(summary.evaluation.before) < 0.2)
  assert.ok(success(summary.evaluation.after!) > 0.8, String(success(summary.evaluation.after!)))
  const steps = stepsOf('learns')
  assert.equal(steps.length, 60)
  assert.ok(steps[59].tasks.echo.success > 0.8, JSON.stringify(steps[59]))
  console.log(JSON.stringify(steps[59]), JSON.stringify(summary))
})
