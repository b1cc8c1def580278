import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { crossEntropy } from '../../algorithms/index.js'
import { adapterSchema, readAdapter, readCheckpoint } from '../../models/index.js'
import type { Loss } from '../types.js'
import type { LocalPolicy } from './index.js'
import { batchOf, everything, fixtures, folder, open, vocabulary } from './testing.js'

/** Squares of what the head is off by. */
const valueLoss: Loss = {
  name: 'value',
  reads: { values: true },
  evaluate: ({ values, returns, weights }) => ({
    value: weights.reduce((sum, weight, t) => sum + (weight * (values![t] - returns![t]) ** 2) / 2, 0),
    gradient: new Float64Array(weights.length),
    valueGradient: weights.map((weight, t) => weight * (values![t] - returns![t])),
    metrics: {},
  }),
}

test('a value head says 0 at first, and learns a constant', async () => {
  for (const adapter of [undefined, { config: adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 }), seed: 1 }]) {
    const policy = await open({ valueHead: true, adapter })
    const batch = batchOf(12).map((sequence) => ({ ...sequence, returns: sequence.returns!.map(() => 0.7) }))
    const tokens = batch.map((sequence) => sequence.tokens)
    const [first] = await policy.score(tokens, { values: true })
    assert.deepEqual([...first.values!], [...first.values!].fill(0))
    for (let i = 0; i < 60; i++) await policy.update(batch, { loss: valueLoss, learningRate: 0.02 })
    const scores = await policy.score(tokens, { values: true, masks: batch.map(({ mask }) => mask) })
    scores.forEach(({ values }, i) =>
      values!.forEach((value, t) =>
        assert.ok(Math.abs(value - (batch[i].mask[t] ? 0.7 : 0)) < 0.05, `sequence ${i}, token ${t}: ${value}`),
      ),
    )
    assert.equal((await policy.score(tokens))[0].values, undefined)
  }
})

test('the value of a token is that of the state before it: it does not depend on the token', async () => {
  const policy = await open({ valueHead: true })
  const batch = batchOf(13)
  await policy.update(batch, { loss: valueLoss, learningRate: 0.05 })
  const { tokens } = batch[2]
  const changed = [...tokens.slice(0, -1), (tokens.at(-1)! + 1) % vocabulary]
  const [one, other] = await policy.score([tokens, changed], { values: true })
  const last = tokens.length - 1
  assert.ok(Math.abs(one.values![last]) > 1e-3)
  assert.ok(Math.abs(one.values![last] - other.values![last]) < 1e-5)
  const earlier = [...tokens.slice(0, -2), (tokens.at(-2)! + 1) % vocabulary, tokens.at(-1)!]
  const [moved] = await policy.score([earlier], { values: true })
  assert.ok(Math.abs(one.values![last] - moved.values![last]) > 1e-4)
})

test('a policy with a value head is saved, read as a plain model, and goes on exactly where it stood', async () => {
  const config = adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 })
  for (const adapter of [undefined, { config, seed: 1 }]) {
    const at = join(folder, adapter ? 'head-adapter' : 'head')
    const options = { valueHead: true, adapter, workers: 2 }
    const policy = await open(options)
    const batch = batchOf(14)
    const loss = everything({ values: true })
    const step = async (of: LocalPolicy): Promise<unknown> => {
      const { loss: value, gradientNorm } = await of.update(batch, { loss, learningRate: 0.01 })
      return [value, gradientNorm, (await of.score([batch[0].tokens], { values: true }))[0].values]
    }
    await step(policy)
    await policy.save(at, { optimizer: true })
    const [saved] = await policy.score([batch[0].tokens], { values: true })
    const expected = [await step(policy), await step(policy)]
    const resumed = await open(options)
    await resumed.load(at)
    assert.deepEqual([await step(resumed), await step(resumed)], expected)
    if (adapter) readAdapter(at, (await readCheckpoint(join(fixtures, 'llama'))).config)
    else await readCheckpoint(at)
    if (adapter) {
      const reopened = await open({ valueHead: true, adapter: { folder: at } })
      const [again] = await reopened.score([batch[0].tokens], { values: true })
      again.values!.forEach((value, t) => assert.ok(Math.abs(value - saved.values![t]) < 1e-5))
    }
    const headless = await open({ adapter })
    await assert.rejects(() => headless.load(at), /holds a value head: open the policy with valueHead/)
    await headless.save(join(folder, 'headless'), { optimizer: true })
    await assert.rejects(() => resumed.load(join(folder, 'headless')), /holds no value head: open the policy without/)
  }
})

test('crossEntropy of a policy with a value head leaves the head as it is', async () => {
  const policy = await open({ valueHead: true })
  const batch = batchOf(16)
  await policy.update(batch, { loss: crossEntropy(), learningRate: 0.05 })
  const [{ values }] = await policy.score([batch[0].tokens], { values: true })
  assert.ok(values!.every((value) => value === 0))
})
