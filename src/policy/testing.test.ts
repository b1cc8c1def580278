import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTabularPolicy, createTestChat } from './testing.js'
import type { Loss, Policy, TrainSequence } from './types.js'

const chat = createTestChat('abcd?')
const make = (): Policy => createTabularPolicy({ chat, contextLength: 12 })
const likelihood: Loss = {
  name: 'likelihood',
  evaluate: ({ logprobs, weights }) => ({
    value: -logprobs.reduce((sum, logprob, t) => sum + weights[t] * logprob, 0),
    gradient: weights.map((weight) => -weight),
    metrics: {},
  }),
}
const prompt = chat.prompt([{ role: 'user', content: 'ab' }])

function lesson(tokens: readonly number[], logprobs: readonly number[]): TrainSequence {
  const all = [...prompt, ...tokens]
  const fill = (value: number): Float32Array => Float32Array.from(all, (_, t) => (t < prompt.length ? 0 : value))
  const old = Float32Array.from(all, (_, t) => logprobs[t - prompt.length] ?? 0)
  return { tokens: all, mask: Uint8Array.from(fill(1)), logprobs: old, advantages: fill(1), weights: fill(0.1) }
}

test('what sampling reports is what scoring computes', async () => {
  const policy = make()
  const [completion] = await policy.sample([{ id: 'x', tokens: prompt, maxTokens: 5, seed: 3, temperature: 0.7 }])
  const [scored] = await policy.score([[...prompt, ...completion.tokens]], { temperature: 0.7 })
  completion.logprobs.forEach((logprob, i) => assert.ok(Math.abs(logprob - scored.logprobs[prompt.length + i]) < 1e-6))
})

test('an update raises the probability of what it is taught; a snapshot stays; save and load give it back', async () => {
  const policy = make()
  const [{ tokens, logprobs }] = await policy.sample([{ id: 'x', tokens: prompt, maxTokens: 3, seed: 3 }])
  const frozen = await policy.snapshot()
  const options = { loss: likelihood, learningRate: 0.1 }
  const result = await policy.update([lesson(tokens, logprobs)], options)
  assert.ok(result.applied && result.gradientNorm > 0)
  assert.equal(policy.version, 1)
  const total = async (of: Policy): Promise<number> =>
    (await of.score([[...prompt, ...tokens]]))[0].logprobs.slice(prompt.length).reduce((a, b) => a + b, 0)
  assert.ok((await total(policy)) > (await total(frozen)))
  const folder = join(mkdtempSync(join(tmpdir(), 'myriad-table-')), 'saved')
  await policy.save(folder, { optimizer: true })
  const restored = make()
  await restored.load(folder)
  for (const one of [policy, restored]) await one.update([lesson(tokens, logprobs)], options)
  assert.equal(await total(restored), await total(policy))
  assert.equal(restored.version, 2)
  rmSync(folder, { recursive: true })
})

test('limits, stops and filters of a request are kept', async () => {
  const policy = make()
  const reply = async (more: object): Promise<[string, number]> => {
    const [one] = await policy.sample([{ id: 'x', tokens: prompt, maxTokens: 100, seed: 1, ...more }])
    return [one.stopReason, one.tokens.length]
  }
  const a = chat.tokenizer.encode('a')[0]
  assert.deepEqual(await reply({ allowedTokens: [a] }), ['context', 12 - prompt.length])
  assert.deepEqual(await reply({ allowedTokens: [a], maxTokens: 2 }), ['length', 2])
  assert.deepEqual(await reply({ allowedTokens: [a], stopStrings: ['aaa'] }), ['stop', 3])
  assert.deepEqual(await reply({ allowedTokens: [a], stopTokens: [a] }), ['stop', 1])
  assert.deepEqual(await reply({ allowedTokens: [a, 1], topK: 1, temperature: 0 }), ['stop', 1])
})

test('every slope an objective answers reaches the table: its gradient is the slope of its value', async () => {
  const policy = createTabularPolicy({ chat, contextLength: 12, valueHead: true })
  const [{ tokens, logprobs }] = await policy.sample([{ id: 'x', tokens: prompt, maxTokens: 3, seed: 3 }])
  const one = lesson(tokens, logprobs)
  const ids = Int32Array.from({ length: one.tokens.length * 2 }, (_, i) => (i % 5 === 0 ? -1 : i % 11))
  const batch = [{ ...one, alternatives: { count: 2, ids, logprobs: new Float32Array(ids.length) } }]
  const loss: Loss = {
    name: 'squares',
    reads: { entropy: true, values: true, alternatives: true },
    evaluate: ({ logprobs: of, entropy, values, alternatives }) => {
      const others = alternatives!.logprobs
      const square = (all: Float64Array): number => all.reduce((sum, value) => sum + value * value, 0) / 2
      return {
        value:
          square(of) +
          square(entropy!) +
          values!.reduce((sum, value) => sum + (value - 1) ** 2, 0) / 2 +
          square(others),
        gradient: of,
        entropyGradient: entropy,
        valueGradient: values!.map((value) => value - 1),
        alternativesGradient: others,
        metrics: {},
      }
    },
  }
  const options = { loss, temperature: 0.7, learningRate: 0.3, clipNorm: 1e9 }
  await policy.update(batch, options)
  const folder = join(mkdtempSync(join(tmpdir(), 'myriad-table-')), 'saved')
  await policy.save(folder, { optimizer: true })
  const file = join(folder, 'table.json')
  const saved = readFileSync(file, 'utf8')
  const valueAt = async (row: number, column: number, distance: number): Promise<number> => {
    const table = JSON.parse(saved) as { rows: [number, number[], number[], number[]][] }
    table.rows[row][1][column] += distance
    writeFileSync(file, JSON.stringify(table))
    await policy.load(folder)
    return (await policy.update(batch, { ...options, learningRate: 0 })).loss
  }
  const { rows } = JSON.parse(saved) as { rows: [number, number[]][] }
  let squares = 0
  for (const [row, [, logits]] of rows.entries())
    for (const column of logits.keys())
      squares += (((await valueAt(row, column, 0.01)) - (await valueAt(row, column, -0.01))) / 0.02) ** 2
  await valueAt(0, 0, 0)
  const { gradientNorm } = await policy.update(batch, { ...options, learningRate: 0 })
  assert.ok(Math.abs(Math.sqrt(squares) - gradientNorm) < 1e-3 * gradientNorm, `${gradientNorm}, ${Math.sqrt(squares)}`)
  const before = await policy.snapshot()
  await policy.update(batch, options)
  const value = async (of: Policy): Promise<number> =>
    (await of.score([one.tokens], { values: true }))[0].values![prompt.length]
  const [from, to] = [await value(before), await value(policy)]
  await before.follow!(policy, 0.25)
  assert.ok(from !== to && Math.abs((await value(before)) - (0.75 * from + 0.25 * to)) < 1e-6)
  await assert.rejects(() => make().score([one.tokens], { values: true }), /valueHead: true/)
  rmSync(folder, { recursive: true })
})
