import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { listObjectives } from '../algorithms/registry.js'
import { openTestPolicy, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train } from './train.js'
import type { StepMetrics } from './types.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-methods-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** What a method cannot do without. */
const options: Record<string, object> = {
  lagrangian: { budget: 1 },
  'pid-lagrangian': { budget: 1 },
  'lagrangian-advantage-grpo': { budget: 1 },
  laconic: { budget: 1 },
  'reward-cost-grpo': { budget: 1 },
  'return-conditioned': { controls: [1, 2] },
}
/** Methods that learn from what the tasks here do not have: they say what it is. */
const refusals: Record<string, RegExp> = {
  'grpo-s': /needs the reward part "demonstration-likeness"/,
  'turn-weighted-sft': /no turn rewards/,
}

test('every method runs through the loop: two steps of optimizer steps with finite numbers', async () => {
  const learnt: string[] = []
  const methods = listObjectives().filter(({ kind }) => kind === 'method')
  for (const { name } of methods) {
    const out = join(root, name)
    const run = train(
      {
        ...TEST_CONFIG,
        name,
        steps: 2,
        groupsPerStep: 8,
        // Rewards that differ: where all tries fail alike some methods have nothing to learn.
        rewards: { task: 1, long: 0.1 },
        teacher: 'another',
        algorithm: { name, minibatches: 2, ...options[name] },
        evaluation: { problemsPerCell: 1, samples: 1, randomPlays: 0 },
      },
      {
        out,
        tasks: TEST_TASKS,
        rewards: [{ name: 'long', score: ({ replies }) => replies.join('').length }],
        openPolicy: (_, { values }) => openTestPolicy({ valueHead: values }),
        openTeacher: () => openTestPolicy(),
      },
    )
    if (refusals[name]) {
      await assert.rejects(run, refusals[name], name)
      continue
    }
    assert.equal((await run).skippedSteps, 0, name)
    const text = readFileSync(join(out, 'metrics.jsonl'), 'utf8').trim()
    for (const line of text.split('\n')) {
      const metrics = JSON.parse(line) as StepMetrics
      // What is not finite is null in JSON.
      for (const [key, value] of Object.entries(metrics))
        if (/^(loss|algorithm)\//.test(key)) assert.equal(typeof value, 'number', `${name}: ${key} is ${value}`)
      if (metrics.loss !== null) learnt.push(name)
    }
  }
  const idle = methods.map(({ name }) => name).filter((name) => !learnt.includes(name) && !refusals[name])
  assert.deepEqual(idle, [], 'no optimizer step in two')
})
