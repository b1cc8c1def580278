import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { TrainConfigInput } from './config.js'
import { train } from './train.js'
import type { StepMetrics } from './types.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-base-'))
after(() => rmSync(root, { recursive: true, force: true }))
const model = fileURLToPath(new URL('../../models/base', import.meta.url))

/** The metrics of a few steps of a method on the model that comes with Myriad. */
async function stepsOf(name: string, steps: number, more: Partial<TrainConfigInput> = {}): Promise<StepMetrics[]> {
  const out = join(root, name)
  const config: TrainConfigInput = {
    name,
    model,
    tasks: [
      { id: 'larger', languages: ['en', 'sw'] },
      { id: 'facts', languages: ['sw'] },
    ],
    steps,
    warmupSteps: 0,
    groupsPerStep: 4,
    samplesPerProblem: 4,
    algorithm: { name },
    evaluation: { problemsPerCell: 1, samples: 1, randomPlays: 0 },
    ...more,
  }
  assert.equal((await train(config, { out })).skippedSteps, 0)
  const lines = readFileSync(join(out, 'metrics.jsonl'), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as StepMetrics)
}

test('values: PPO begins with a head that says 0', async () => {
  const [first] = await stepsOf('ppo', 1)
  assert.equal(first['loss/ratio'], 1)
  assert.ok(first['loss/valueError'] > 0 && first.gradientNorm! > 0)
})

test('a reference that follows: the divergence is 0 at first, and not after a step', async () => {
  const [first, second] = await stepsOf('t1', 2)
  assert.ok(Math.abs(first['loss/kl']) < 1e-6 && second['loss/kl'] > 1e-6)
})

test('a teacher and alternatives: nothing is learnt from a teacher that is the model itself', async () => {
  const [first] = await stepsOf('gkd', 1, { teachers: { default: model } })
  assert.ok(Math.abs(first['loss/divergence']) < 1e-6)
  assert.equal(first['algorithm/demonstrations'], 4)
})

test('demonstrations are written as the model speaks: those of facts it has read are likely', async () => {
  const [first] = await stepsOf('sft', 1, { tasks: [{ id: 'facts', difficulty: [0, 0], languages: ['sw'] }] })
  assert.equal(first['algorithm/demonstrations'], 4)
  // A model that knew nothing would be at ln 3072 = 8 nats a token.
  assert.ok(first.loss! > 0 && first.loss! < 1.5, `${first.loss} nats a token`)
})

test('a privileged teacher: the model told the solution differs from the model', async () => {
  const [first] = await stepsOf('sdpo', 1)
  assert.equal(first['loss/privileged'], 1)
  assert.ok(first.gradientNorm! > 0)
})

test('comparisons on an adapter begin at ln 2: the reference is the bare model', async () => {
  const adapter = { kind: 'lora', rank: 4, alpha: 8, targets: 'all-linear' } as const
  const [first] = await stepsOf('dpo', 1, { adapter })
  assert.ok(Math.abs(first.loss! - Math.log(2)) < 1e-6)
})
