import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crossEntropy } from '../../algorithms/index.js'
import { adapterSchema, readCheckpoint, type AdapterConfigInput } from '../../models/index.js'
import type { Completion, Policy, SampleRequest, TrainSequence } from '../types.js'
import { localPolicyFromWeights, type LocalPolicy } from './index.js'

const models = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))

async function open(
  model: string,
  adapter: AdapterConfigInput | { folder: string } | undefined,
  options: Parameters<typeof localPolicyFromWeights>[2] = {},
): Promise<LocalPolicy> {
  const { config, weights } = await readCheckpoint(join(models, model))
  const source = adapter && ('folder' in adapter ? adapter : { config: adapterSchema.parse(adapter), seed: 1 })
  return localPolicyFromWeights(config, weights, { workers: 2, rowLength: 32, adapter: source, ...options })
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
  for (let i = 0; i < steps; i++) await policy.update([lesson()], { loss: crossEntropy(), learningRate: 0.02 })
}

/** Differences of the logprobs that sampling reports and those of the same replies scored, reply by reply. */
async function differences(
  policy: Policy,
  requests: readonly SampleRequest[],
  replies: Completion[],
): Promise<number[][]> {
  const scores = await policy.score(replies.map((reply, i) => [...requests[i].tokens, ...reply.tokens]))
  return replies.map(({ logprobs }, i) =>
    logprobs.map((value, t) => Math.abs(value - scores[i].logprobs[requests[i].tokens.length + t])),
  )
}

const divergence = async (...all: Parameters<typeof differences>): Promise<number> =>
  Math.max(...(await differences(...all)).flat())

for (const model of ['llama', 'gpt2'])
  for (const kind of ['prompt', 'prefix'] as const) {
    const adapter = { kind, tokens: 5 }

    test(`${model}: logprobs under an adapter of peft are those of peft (${kind})`, async () => {
      const folder = join(models, 'prompts', `${kind}-${model}`)
      const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Record<
        'sequences' | 'logits',
        number[][]
      >
      const policy = await open(model, { folder })
      const scores = await policy.score(expected.sequences)
      expected.sequences.forEach((sequence, i) => {
        for (let t = 1; t < sequence.length; t++) {
          const row = expected.logits[i].slice((t - 1) * 40, t * 40)
          const logprob = row[sequence[t]] - Math.log(row.reduce((sum, value) => sum + Math.exp(value), 0))
          assert.ok(Math.abs(scores[i].logprobs[t] - logprob) < 1e-4, `sequence ${i}, token ${t}`)
        }
      })
      await policy.close()
    })

    test(`${model}: a ${kind} learns and leaves the base alone; copies are frozen`, async () => {
      const plain = await open(model, undefined)
      const policy = await open(model, adapter)
      const before = await total(plain)
      const began = await total(policy)
      assert.notEqual(began, before)
      const reference = await policy.snapshot()
      await teach(policy, 15)
      const after = await total(policy)
      assert.ok(after > began + 1, `${began} -> ${after}`)
      assert.equal(await total(reference), began)
      const base = await policy.base()
      assert.ok(Math.abs((await total(base)) - before) < 1e-3)
      assert.equal(await total(policy), after)
      await assert.rejects(() => reference.update([lesson()], { loss: crossEntropy(), learningRate: 0.01 }), /frozen/)
      await Promise.all([plain, policy, reference, base].map((each) => each.close()))
    })

    test(`${model}: under a ${kind}, sampling reports the logprobs that scoring finds, before and after updates`, async () => {
      const policy = await open(model, adapter, { workers: 1, slots: 5 })
      const requests = Array.from({ length: 12 }, (_, i) => ({
        id: `${i}`,
        // Some share a context, some are longer than others.
        tokens: i % 3 === 0 ? [1, 7, 3] : Array.from({ length: i }, (_, t) => (i + 5 * t) % 40),
        maxTokens: 4 + i,
        seed: i,
      }))
      for (const round of [0, 1, 2]) {
        const replies = await policy.sample(requests)
        const worst = await divergence(policy, requests, replies)
        assert.ok(worst < 1e-4, `round ${round}: ${worst}`)
        assert.ok(replies.every((reply, i) => reply.tokens.length === requests[i].maxTokens))
        await teach(policy, 3)
      }
      // A follow-up goes on in the cache of what it follows.
      const opened = requests.map(({ tokens: context, ...rest }) => ({ ...rest, tokens: [...context, 4] }))
      const asked = new Map<string, SampleRequest>()
      const replies = await policy.sample(opened, {
        next: async (reply) => {
          if (reply.id.endsWith('+')) return null
          const request = opened.find(({ id }) => id === reply.id)!
          const context = [...request.tokens, ...reply.tokens, 8, 6]
          const more = { ...request, id: `${reply.id}+`, tokens: context, maxTokens: 5 }
          asked.set(more.id, more)
          return more
        },
      })
      const followed = replies.filter(({ id }) => id.endsWith('+'))
      assert.equal(followed.length, opened.length)
      const worst = await divergence(
        policy,
        followed.map(({ id }) => asked.get(id)!),
        followed,
      )
      assert.ok(worst < 1e-4, `follow-ups: ${worst}`)
      await policy.close()
    })
  }

test('the virtual tokens take their share of the context', async () => {
  const policy = await open('gpt2', { kind: 'prompt', tokens: 8 }, { workers: 1 })
  assert.equal(policy.contextLength, 56)
  const base = await policy.base()
  const snapshot = await policy.snapshot()
  const other = await policy.withAdapter({ config: adapterSchema.parse({ kind: 'prefix', tokens: 3 }) })
  assert.deepEqual(
    [base, snapshot, other].map(({ contextLength }) => contextLength),
    [64, 56, 61],
  )
  const request = { id: '0', tokens: [1, 2, 3], maxTokens: 100, seed: 3 }
  for (const [each, length] of [
    [policy, 56],
    [base, 64],
    [other, 61],
  ] as const) {
    const [reply] = await each.sample([request])
    assert.equal(reply.stopReason, 'context')
    assert.equal(reply.tokens.length, length - 3)
    assert.ok((await divergence(each, [request], [reply])) < 1e-4)
  }
  await Promise.all([policy, base, snapshot, other].map((each) => each.close()))
})

test('sequences packed into a row, with a shared beginning, score as they do alone', async () => {
  const policy = await open('llama', { kind: 'prefix', tokens: 4 }, { workers: 1, rowLength: 64 })
  const sequences = [[...tokens.slice(0, 6), 1, 2], tokens, [7, 8, 9], [...tokens.slice(0, 6), 30]]
  const masks = sequences.map((sequence, i) => new Uint8Array(sequence.length).fill(1, i === 2 ? 1 : 6))
  const together = await policy.score(sequences, { masks })
  for (const [i, sequence] of sequences.entries()) {
    const [alone] = await policy.score([sequence], { masks: [masks[i]] })
    alone.logprobs.forEach((value, t) => assert.ok(Math.abs(value - together[i].logprobs[t]) < 1e-4))
  }
  await policy.close()
})

test('activations computed again give the same gradient', async () => {
  for (const kind of ['prompt', 'prefix'] as const) {
    const policies = await Promise.all([open('llama', { kind }), open('llama', { kind }, { recompute: true })])
    const [one, other] = await Promise.all(
      policies.map((policy) => policy.update([lesson()], { loss: crossEntropy(), learningRate: 0.001 })),
    )
    assert.ok(Math.abs(one.gradientNorm - other.gradientNorm) < 1e-5 * one.gradientNorm)
    await Promise.all(policies.map((policy) => policy.close()))
  }
})

test('virtual tokens are saved as two small files, opened again, and trained on as if they had never stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-prompt-'))
  try {
    for (const kind of ['prompt', 'prefix'] as const) {
      const policy = await open('llama', { kind })
      await teach(policy, 3)
      await policy.save(join(folder, kind, 'half'), { optimizer: true })
      await policy.save(join(folder, kind, 'final'))
      const files = readdirSync(join(folder, kind, 'final')).sort()
      assert.deepEqual(files, ['adapter_config.json', 'adapter_model.safetensors'])
      const opened = await open('llama', { folder: join(folder, kind, 'final') })
      assert.equal(await total(opened), await total(policy))
      const resumed = await open('llama', { kind })
      await resumed.load(join(folder, kind, 'half'))
      await Promise.all([teach(policy, 2), teach(resumed, 2)])
      assert.equal(await total(resumed), await total(policy))
      await Promise.all([policy.close(), opened.close(), resumed.close()])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('sampling in 8 bits reads the virtual tokens exactly, and what follows nearly', async () => {
  const policy = await open('llama', { kind: 'prefix' }, { samplingBits: 8 })
  const requests = Array.from({ length: 6 }, (_, i) => ({ id: `${i}`, tokens: [1 + i, 7, 3], maxTokens: 12, seed: i }))
  const found = await differences(policy, requests, await policy.sample(requests))
  assert.ok(found.every(([first]) => first < 1e-4))
  const mean = found.flat().reduce((sum, value) => sum + value, 0) / found.flat().length
  assert.ok(mean > 1e-4 && mean < 0.15, `${mean}`)
  await policy.close()
})

test('models with sliding windows are refused', async () => {
  await assert.rejects(() => open('mistral', { kind: 'prompt' }), /mistral: its layers see a window only/)
})
