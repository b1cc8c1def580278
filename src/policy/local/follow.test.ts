import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { adapterSchema, readAdapter, readCheckpoint, readSafetensors, type Weights } from '../../models/index.js'
import type { LocalPolicy } from './index.js'
import { batchOf, everything, fixtures, folder, open, opened } from './testing.js'

test('a frozen copy follows its policy: each weight is the average, rounded once, on every replica', async () => {
  const lora = adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 })
  for (const adapter of [undefined, { config: lora, seed: 1 }]) {
    const policy = await open({ workers: 2, adapter, valueHead: true })
    const { config } = await readCheckpoint(join(fixtures, 'llama'))
    const weightsOf = async (of: LocalPolicy): Promise<Weights> => {
      const at = join(folder, 'followed')
      await of.save(at)
      const { tensors } = readSafetensors(join(at, 'value_head.safetensors'))
      const head = Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, data]))
      return { ...(adapter ? readAdapter(at, config).weights : (await readCheckpoint(at)).weights), ...head }
    }
    const batch = batchOf(15)
    await policy.update(batch, { loss: everything({ values: true }), learningRate: 0.02 })
    const average = await policy.snapshot()
    opened.push(average)
    let expected = await weightsOf(average)
    for (const rate of [0.1, 0.25]) {
      await policy.update(batch, { loss: everything({ values: true }), learningRate: 0.02 })
      await average.follow(policy, rate)
      const now = await weightsOf(policy)
      const before = expected
      expected = Object.fromEntries(
        Object.entries(before).map(([name, own]) => [
          name,
          own.map((value, i) => (1 - rate) * value + rate * now[name][i]),
        ]),
      )
      const followed = await weightsOf(average)
      assert.deepEqual(followed, expected)
      assert.ok(Object.keys(followed).some((name) => followed[name].some((value, i) => value !== before[name][i])))
    }
    // Whichever replica scores: so many sequences are dealt to both.
    const { tokens } = batch[2]
    const copies = Array.from({ length: 40 }, () => tokens)
    const scores = await average.score(copies, { values: true })
    for (const { logprobs, values } of scores) {
      logprobs.forEach((value, t) => assert.ok(Math.abs(value - scores[0].logprobs[t]) < 1e-5))
      values!.forEach((value, t) => assert.ok(Math.abs(value - scores[0].values![t]) < 1e-5))
    }
    await average.follow(policy, 1)
    assert.deepEqual(await average.score([tokens]), await policy.score([tokens]))
    const untouched = await policy.score([tokens])
    await average.follow(policy, 0)
    assert.deepEqual(await policy.score([tokens]), untouched)
    await assert.rejects(() => policy.follow(average, 0.1), /not a frozen copy/)
    await assert.rejects(() => average.follow(policy, 1.5), /rate is 1.5/)
    const stranger = await open()
    await assert.rejects(() => average.follow(stranger, 0.1), /follows the policy it was taken of/)
    const base = await policy.base()
    await assert.rejects(() => base.follow(policy, 0.1), /not a frozen copy/)
    await base.close()
  }
})
