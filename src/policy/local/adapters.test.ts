import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crossEntropy } from '../../algorithms/index.js'
import { adapterSchema, readCheckpoint, type LoraConfigInput } from '../../models/index.js'
import type { Policy, TrainSequence } from '../types.js'
import { localPolicyFromWeights, openLocalPolicy, type LocalPolicy } from './index.js'

const model = fileURLToPath(new URL('../../../src/models/fixtures/llama', import.meta.url))
const lora = (options: Partial<LoraConfigInput> = {}): ReturnType<typeof adapterSchema.parse> =>
  adapterSchema.parse({ kind: 'lora', rank: 4, alpha: 8, ...options })

async function open(options: Parameters<typeof localPolicyFromWeights>[2] = {}): Promise<LocalPolicy> {
  const { config, weights } = await readCheckpoint(model)
  return localPolicyFromWeights(config, weights, { workers: 2, rowLength: 32, ...options })
}

const tokens = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 3]

function lesson(): TrainSequence {
  const row = (value: number): Float32Array => new Float32Array(tokens.length).fill(value, 1)
  return {
    tokens,
    mask: new Uint8Array(tokens.length).fill(1, 1),
    logprobs: row(0),
    advantages: row(1),
    weights: row(1 / (tokens.length - 1)),
  }
}

const total = async (policy: Policy): Promise<number> =>
  (await policy.score([tokens]))[0].logprobs.reduce((sum, value) => sum + value, 0)

const teach = async (policy: Policy, steps: number): Promise<void> => {
  for (let i = 0; i < steps; i++) await policy.update([lesson()], { loss: crossEntropy(), learningRate: 0.01 })
}

for (const options of [{}, { dora: true }, { rankStabilized: true, targets: ['q_proj', 'v_proj'] }, { dropout: 0.2 }])
  test(`an adapter ${JSON.stringify(options)} begins as its base, learns, and leaves the base alone`, async () => {
    const plain = await open()
    const policy = await open({ adapter: { config: lora(options), seed: 1 } })
    const before = await total(plain)
    assert.ok(Math.abs((await total(policy)) - before) < 1e-3)
    const reference = await policy.snapshot()
    await teach(policy, 10)
    const after = await total(policy)
    assert.ok(after > before + 1, `${before} -> ${after}`)
    assert.ok(Math.abs((await total(reference)) - before) < 1e-3)
    const base = await policy.base()
    assert.ok(Math.abs((await total(base)) - before) < 1e-3)
    assert.equal(await total(policy), after)
    await assert.rejects(() => reference.update([lesson()], { loss: crossEntropy(), learningRate: 0.01 }), /frozen/)
    await policy.close()
    // The threads go on until the last policy on them is closed.
    assert.ok(Math.abs((await total(base)) - before) < 1e-3)
    await Promise.all([plain.close(), reference.close(), base.close()])
  })

test('two adapters over one base learn apart', async () => {
  const first = await open({ adapter: { config: lora(), seed: 1 } })
  const second = await first.withAdapter({ config: lora({ rank: 2 }), seed: 2 })
  const before = await total(second)
  await teach(first, 5)
  assert.equal(await total(second), before)
  await teach(second, 5)
  assert.ok((await total(second)) > before + 0.5)
  assert.notEqual(await total(first), await total(second))
  await Promise.all([first.close(), second.close()])
})

test('an adapter is saved as two small files, opened again, and trained on as if it had never stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-adapter-'))
  try {
    const policy = await open({ adapter: { config: lora(), seed: 1 } })
    await teach(policy, 3)
    await policy.save(join(folder, 'half'), { optimizer: true })
    await policy.save(join(folder, 'final'))
    assert.deepEqual(readdirSync(join(folder, 'final')).sort(), ['adapter_config.json', 'adapter_model.safetensors'])
    const opened = await open({ adapter: { folder: join(folder, 'final') } })
    assert.equal(await total(opened), await total(policy))
    const resumed = await open({ adapter: { config: lora(), seed: 99 } })
    await resumed.load(join(folder, 'half'))
    const louder = await open({ adapter: { config: lora({ alpha: 16 }), seed: 1 } })
    await assert.rejects(() => louder.load(join(folder, 'half')), /ranks or scales/)
    await louder.close()
    await Promise.all([teach(policy, 2), teach(resumed, 2)])
    assert.equal(await total(resumed), await total(policy))
    await Promise.all([policy.close(), opened.close(), resumed.close()])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const requests = Array.from({ length: 12 }, (_, i) => ({ id: `${i}`, tokens: [1 + i, 7, 3], maxTokens: 16, seed: i }))

/** Mean difference of the logprobs sampled from and those of the float32 model. */
async function divergence(policy: Policy): Promise<number> {
  const replies = await policy.sample(requests)
  const scores = await policy.score(replies.map((reply, i) => [...requests[i].tokens, ...reply.tokens]))
  const differences = replies.flatMap(({ logprobs }, i) =>
    logprobs.map((value, t) => Math.abs(value - scores[i].logprobs[requests[i].tokens.length + t])),
  )
  return differences.reduce((sum, value) => sum + value, 0) / differences.length
}

test('sampling in few bits differs a little, by bits; it sees updates of the weights and of an adapter', async () => {
  const adapter = { config: lora(), seed: 1 }
  const [exact, eight, four, trained] = await Promise.all([
    open({ adapter }),
    open({ adapter, samplingBits: 8 }),
    open({ adapter, samplingBits: 4 }),
    open({ samplingBits: 8 }),
  ])
  assert.ok((await divergence(exact)) < 1e-4)
  const [of8, of4, ofTrained] = [await divergence(eight), await divergence(four), await divergence(trained)]
  assert.ok(of8 > 1e-4 && of8 < 0.1, `8 bits: ${of8}`)
  assert.ok(of4 > of8 && of4 < 0.5, `4 bits: ${of4}`)
  assert.ok(ofTrained > 1e-4 && ofTrained < 0.1, `8 bits of trained weights: ${ofTrained}`)
  for (const policy of [exact, eight, trained]) {
    await teach(policy, 8)
    const moved = await divergence(policy)
    assert.ok(moved < 0.15, `after training: ${moved}`)
  }
  await Promise.all([exact, eight, four, trained].map((policy) => policy.close()))
  const whole = await open({ samplingBits: 4 })
  await assert.rejects(() => whole.sample(requests), /4 bits needs? weights that stay as they are/)
  await whole.close()
})

test('activations computed again give the same gradient', async () => {
  const [kept, again] = await Promise.all([open(), open({ recompute: true })])
  const update = (policy: Policy) => policy.update([lesson()], { loss: crossEntropy(), learningRate: 0.001 })
  const [one, other] = await Promise.all([update(kept), update(again)])
  assert.ok(Math.abs(one.gradientNorm - other.gradientNorm) < 1e-5 * one.gradientNorm)
  await Promise.all([kept.close(), again.close()])
})

test('what cannot be trained or sampled is refused when the policy is opened, before any thread is started', async () => {
  const refused = async (adapter: ReturnType<typeof lora>, message: RegExp): Promise<void> =>
    assert.rejects(open({ adapter: { config: adapter } }), { code: 'usage', message })
  await refused(lora({ rankPattern: { qproj: 2 } }), /rankPattern "qproj" matches none/)
  const prompt = adapterSchema.parse({ kind: 'prompt', tokens: 2, init: [1_000_000] })
  await refused(prompt, /token 1000000, outside the vocabulary/)
  await assert.rejects(openLocalPolicy(model, { samplingBits: 4 }), {
    code: 'usage',
    message: /4 bits needs weights that stay as they are: train an adapter/,
  })
})
