import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MyriadError } from '../core/index.js'
import type { Policy } from '../policy/types.js'
import { loadCheckpoint } from './checkpoint.js'
import { parseConfig } from './config.js'
import { openRun } from './run-folder.js'
import { openTestPolicy, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train, type TrainOptions } from './train.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-run-folder-'))
after(() => rmSync(root, { recursive: true, force: true }))
const config = { ...TEST_CONFIG, steps: 1 }

/** A policy whose first sampling fails, as programs do that turn out not to be possible when they are compiled. */
const failing: TrainOptions['openPolicy'] = async () => {
  const { policy, chat } = await openTestPolicy()
  const sample = (): Promise<never> => Promise.reject(new MyriadError('usage', 'not with this model'))
  return { policy: Object.assign(policy, { sample }), chat }
}

test('a run that fails before anything came of it leaves nothing in the way of the corrected one', async () => {
  const out = join(root, 'runs', 'corrected')
  const options: TrainOptions = { out, tasks: TEST_TASKS }
  await assert.rejects(train(config, { ...options, openPolicy: failing }), /not with this model/)
  assert.ok(!existsSync(out))
  await train({ ...config, learningRate: 0.1 }, { ...options, openPolicy: () => openTestPolicy() })
  // What is there is a run, which failing to resume it does not take away.
  rmSync(join(out, 'summary.json'))
  const again = { ...options, resume: true, openPolicy: failing }
  await assert.rejects(train({ ...config, learningRate: 0.1 }, again), /not with this model/)
  assert.ok(existsSync(join(out, 'config.json')))
})

test('a folder that was there before stays, with what was in it', async () => {
  const out = join(root, 'mine')
  mkdirSync(out)
  await assert.rejects(train(config, { out, tasks: TEST_TASKS, openPolicy: failing }), /not with this model/)
  assert.deepEqual(readdirSync(out), [])
})

test('a run goes on over the model it was begun on, and no other', async () => {
  const path = join(root, 'based')
  const parsed = parseConfig(config)
  await (await openRun(path, parsed, false, 'sha256:one')).begin()
  await openRun(path, parsed, true, 'sha256:one')
  await assert.rejects(openRun(path, parsed, true, 'sha256:other'), {
    code: 'usage',
    message: /none has changed since the run in .*based was begun on it.*Put the model back/,
  })
  rmSync(join(path, 'base.json')) // as runs of earlier versions are
  await openRun(path, parsed, true, 'sha256:other')
})

test('a damaged checkpoint is told in whole sentences, with what helps here', async () => {
  const out = join(root, 'damaged')
  const damaged = 'model.safetensors is damaged: it was cut short; fetch or write it again'
  const { policy } = await openTestPolicy()
  const refuse = async (message: RegExp): Promise<void> => {
    const load: Policy['load'] = () => Promise.reject(new MyriadError('checkpoint', damaged))
    await assert.rejects(loadCheckpoint(out, Object.assign(policy, { load })), { code: 'checkpoint', message })
  }
  const options = { out, tasks: TEST_TASKS, openPolicy: () => openTestPolicy() }
  await train({ ...config, steps: 2, checkpointEvery: 1 }, options)
  await refuse(/cut short\. Remove .*step-000002 to resume from the checkpoint before it, of step 1\.$/)
  rmSync(join(out, 'checkpoints', 'step-000002'), { recursive: true })
  await refuse(
    /step-000001 is damaged: .* cut short\. It is the only one: remove .*step-000001 to resume from the begin/,
  )
})
