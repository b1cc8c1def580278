import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { clippedLoss, crossEntropy } from '../../algorithms/index.js'
import { createRandom, MyriadError } from '../../core/index.js'
import { initializeWeights, parseDecoderConfig, type DecoderConfig } from '../../models/index.js'
import type { Completion, Loss, SampleRequest, TrainSequence } from '../types.js'
import { localPolicyFromWeights, type LocalPolicy, type LocalPolicyOptions } from './index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-policy-'))
const open = new Set<LocalPolicy>()
after(async () => {
  for (const policy of open) await policy.close()
  rmSync(folder, { recursive: true })
})

/** A small random model with sharpened weights, so that its distributions are far from flat. */
function makeConfig(fields: Record<string, unknown> = {}): DecoderConfig {
  return parseDecoderConfig({
    model_type: 'qwen3',
    vocab_size: 61,
    hidden_size: 16,
    intermediate_size: 24,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    max_position_embeddings: 96,
    tie_word_embeddings: true,
    ...fields,
  })
}

function makePolicy(options: LocalPolicyOptions & { stopTokens?: number[]; config?: DecoderConfig } = {}): LocalPolicy {
  const config = options.config ?? makeConfig()
  const weights = initializeWeights(config, 5)
  for (const [name, data] of Object.entries(weights))
    if (!name.includes('norm')) data.forEach((w, i) => (data[i] = w * 12))
  const policy = localPolicyFromWeights(config, weights, { workers: 1, slots: 8, rowLength: 32, ...options })
  open.add(policy)
  return policy
}

function requests(count: number, seed: number, fields: Partial<SampleRequest> = {}): SampleRequest[] {
  const random = createRandom(seed)
  const prompts = Array.from({ length: Math.ceil(count / 3) }, () =>
    Array.from({ length: random.integer(1, 14) }, () => random.integer(0, 60)),
  )
  return Array.from({ length: count }, (_, i) => ({
    id: `${i}`,
    tokens: prompts[Math.floor(i / 3)],
    maxTokens: random.integer(1, 25),
    seed: random.integer(0, 1e9),
    ...fields,
  }))
}

/** Training sequences of sampled completions: the reply is trainable. */
function sequences(asked: readonly SampleRequest[], replies: readonly Completion[]): TrainSequence[] {
  const random = createRandom(11)
  return replies.map((reply) => {
    const context = asked.find((request) => request.id === reply.id)?.tokens ?? []
    const tokens = [...context, ...reply.tokens]
    const filled = (values: readonly number[]): Float32Array => Float32Array.from([...context.map(() => 0), ...values])
    return {
      tokens,
      mask: Uint8Array.from(tokens, (_, t) => (t >= context.length ? 1 : 0)),
      logprobs: filled(reply.logprobs),
      advantages: filled(reply.tokens.map(() => random.normal())),
      weights: filled(reply.tokens.map(() => 1 / 50)),
      referenceLogprobs: filled(reply.logprobs.map((value) => value + 0.3 * random.normal())),
    }
  })
}

for (const temperature of [1, 0.7, 0]) {
  test(`logprobs reported when sampling equal those computed on the same ids (temperature ${temperature})`, async () => {
    for (const fields of [
      {},
      { model_type: 'llama', head_dim: undefined, tie_word_embeddings: false, num_key_value_heads: 4 },
      { model_type: 'qwen2', head_dim: undefined },
    ]) {
      const policy = makePolicy({ config: makeConfig(fields), workers: 2 })
      const asked = requests(30, 2, { temperature })
      const replies = await policy.sample(asked)
      assert.deepEqual(
        replies.map((reply) => reply.id),
        asked.map((request) => request.id),
      )
      const scores = await policy.score(
        replies.map((reply, i) => [...asked[i].tokens, ...reply.tokens]),
        { temperature },
      )
      replies.forEach((reply, i) => {
        assert.equal(reply.tokens.length, asked[i].maxTokens)
        reply.logprobs.forEach((value, t) => {
          const scored = scores[i].logprobs[asked[i].tokens.length + t]
          assert.ok(Math.abs(value - scored) < 1e-4, `reply ${i}, token ${t}: sampled ${value}, scored ${scored}`)
        })
      })
      await policy.close()
    }
  })
}

test('sampled frequencies are the probabilities the model states', async () => {
  const policy = makePolicy({ slots: 64 })
  const draws = 4000
  const asked = Array.from({ length: draws }, (_, i) => ({ id: `${i}`, tokens: [3, 1, 4], maxTokens: 1, seed: i }))
  const counts = new Map<number, { count: number; probability: number }>()
  for (const { tokens, logprobs } of await policy.sample(asked)) {
    const entry = counts.get(tokens[0]) ?? { count: 0, probability: Math.exp(logprobs[0]) }
    counts.set(tokens[0], { ...entry, count: entry.count + 1 })
  }
  for (const { count, probability } of counts.values()) {
    const spread = Math.sqrt((probability * (1 - probability)) / draws)
    assert.ok(Math.abs(count / draws - probability) < 5 * spread + 1e-9, `${count} of ${draws}, stated ${probability}`)
  }
})

test("a request's tokens do not depend on what is sampled beside it", async () => {
  const policy = makePolicy()
  const asked = requests(20, 4)
  const together = await policy.sample(asked)
  for (const i of [0, 7, 19]) assert.deepEqual((await policy.sample([asked[i]]))[0].tokens, together[i].tokens)
  assert.deepEqual(await policy.sample(asked), together)
})

test('filters and allowed tokens hold, and mix with plain requests in one batch', async () => {
  const policy = makePolicy()
  const asked = requests(12, 6).map((request, i) =>
    i % 2 ? { ...request, allowedTokens: [5, 6, 7], topK: 2 } : request,
  )
  const replies = await policy.sample(asked)
  replies.forEach((reply, i) => i % 2 && assert.ok(reply.tokens.every((token) => [5, 6, 7].includes(token))))
  const plain = await policy.sample(asked.filter((_, i) => i % 2 === 0))
  plain.forEach((reply, i) => assert.equal(reply.tokens.length, replies[2 * i].tokens.length))
  const top1 = await policy.sample(requests(6, 8, { topK: 1 }))
  const greedy = await policy.sample(requests(6, 8, { temperature: 0 }))
  assert.deepEqual(
    top1.map((reply) => reply.tokens),
    greedy.map((reply) => reply.tokens),
  )
})

test('stop tokens end a reply and belong to it; limits are named', async () => {
  const policy = makePolicy({ stopTokens: [9, 10, 11, 12, 13, 14, 15, 16, 17, 18] })
  const replies = await policy.sample(requests(30, 9, { maxTokens: 40 }))
  const stopped = replies.filter((reply) => reply.stopReason === 'stop')
  assert.ok(stopped.length > 5)
  for (const { tokens } of stopped) tokens.forEach((t, i) => assert.equal(t >= 9 && t <= 18, i === tokens.length - 1))
  const full = Array.from({ length: 94 }, () => 1)
  const [context] = await policy.sample([{ id: 'x', tokens: full, maxTokens: 40, seed: 1, allowedTokens: [1] }])
  assert.deepEqual([context.stopReason, context.tokens.length], ['context', 2])
  const [none] = await policy.sample([{ id: 'x', tokens: [...full, 1, 1], maxTokens: 40, seed: 1 }])
  assert.deepEqual([none.stopReason, none.tokens.length], ['context', 0])
})

test('follow-ups go on from what their slot has read: same ids and logprobs as read afresh', async () => {
  const policy = makePolicy({ workers: 2 })
  const asked = requests(25, 12)
  const turns: { request: SampleRequest; completion: Completion }[] = []
  const current = new Map(asked.map((request) => [request.id, request]))
  await policy.sample(asked, {
    next: async (completion) => {
      const request = current.get(completion.id)
      assert.ok(request)
      turns.push({ request, completion })
      const turn = Number(completion.id.split('+')[1] ?? 0) + 1
      if (turn > 3 || Number(completion.id.split('+')[0]) % 4 === 0) return null
      const followUp = {
        ...request,
        id: `${completion.id.split('+')[0]}+${turn}`,
        tokens: [...request.tokens, ...completion.tokens, 30 + turn, 40],
        maxTokens: 4,
        seed: request.seed + turn,
      }
      current.set(followUp.id, followUp)
      return followUp
    },
  })
  assert.ok(turns.length > 60)
  const scores = await policy.score(turns.map(({ request, completion }) => [...request.tokens, ...completion.tokens]))
  turns.forEach(({ request, completion }, i) =>
    completion.logprobs.forEach((value, t) =>
      assert.ok(Math.abs(value - scores[i].logprobs[request.tokens.length + t]) < 1e-4),
    ),
  )
})

test('the compiled clipped loss has the gradient of the pure function, with and without a KL term', async () => {
  const asked = requests(16, 14)
  for (const kl of [
    { klCoefficient: 0, klEstimator: 'k3' as const },
    { klCoefficient: 0.4, klEstimator: 'k1' as const },
    { klCoefficient: 0.4, klEstimator: 'k2' as const },
    { klCoefficient: 0.4, klEstimator: 'k3' as const },
  ]) {
    const loss = clippedLoss({ clipLow: 0.1, clipHigh: 0.2, ...kl })
    const pure: Loss = { name: loss.name, evaluate: loss.evaluate }
    const norms: number[] = []
    for (const chosen of [loss, pure]) {
      const policy = makePolicy({ workers: 2 })
      const batch = sequences(asked, await policy.sample(asked))
      // Off-policy: some ratios are outside the clip range.
      batch.forEach(({ logprobs }) => logprobs.forEach((value, t) => (logprobs[t] = value + 0.25 * Math.sin(t))))
      const result = await policy.update(batch, { loss: chosen, learningRate: 0.01 })
      assert.equal(result.applied, true)
      if (kl.klCoefficient === 0) assert.ok(result.metrics.clipFraction > 0.05 && result.metrics.clipFraction < 0.8)
      norms.push(result.gradientNorm)
      const after = await policy.score([batch[0].tokens])
      norms.push(after[0].logprobs.reduce((a, b) => a + b))
      await policy.close()
    }
    assert.ok(Math.abs(norms[0] - norms[2]) < 1e-4 * norms[2], `gradient norms ${norms[0]} and ${norms[2]}`)
    assert.ok(Math.abs(norms[1] - norms[3]) < 1e-2, `after one step ${norms[1]} and ${norms[3]}`)
  }
})

test('one replica and two take the same step', async () => {
  const asked = requests(20, 15)
  const outcomes: number[][] = []
  for (const workers of [1, 2]) {
    const policy = makePolicy({ workers })
    const batch = sequences(asked, await policy.sample(asked))
    const result = await policy.update(batch, { loss: crossEntropy(), learningRate: 0.01 })
    outcomes.push([result.gradientNorm, result.loss])
    await policy.close()
  }
  outcomes[0].forEach((value, i) => assert.ok(Math.abs(value - outcomes[1][i]) < 1e-4 * Math.abs(value)))
})

test('a saved policy goes on exactly where it stood', async () => {
  const asked = requests(10, 16)
  const policy = makePolicy({ workers: 2 })
  const step = async (target: LocalPolicy): Promise<number> => {
    const batch = sequences(asked, await target.sample(asked))
    return (await target.update(batch, { loss: crossEntropy(), learningRate: 0.01 })).loss
  }
  await step(policy)
  await policy.save(join(folder, 'saved'), { optimizer: true })
  const expected = [await step(policy), await step(policy)]
  const other = makePolicy({ workers: 2 })
  await other.load(join(folder, 'saved'))
  assert.equal(other.version, 1)
  assert.deepEqual([await step(other), await step(other)], expected)
})

test('a snapshot stays what it was', async () => {
  const asked = requests(6, 17)
  const policy = makePolicy()
  const frozen = await policy.snapshot()
  const before = await frozen.score([asked[0].tokens])
  await policy.update(sequences(asked, await policy.sample(asked)), { loss: crossEntropy(), learningRate: 0.1 })
  assert.deepEqual(await frozen.score([asked[0].tokens]), before)
  assert.notDeepEqual(await policy.score([asked[0].tokens]), before)
  await frozen.close()
})

test('a gradient that is not finite changes nothing', async () => {
  const policy = makePolicy()
  const asked = requests(6, 18)
  const batch = sequences(asked, await policy.sample(asked))
  const before = await policy.score([asked[0].tokens])
  const spoilt: Loss = {
    name: 'spoilt',
    evaluate: ({ logprobs }) => ({ value: 0, gradient: new Float64Array(logprobs.length).fill(NaN), metrics: {} }),
  }
  const result = await policy.update(batch, { loss: spoilt, learningRate: 0.1 })
  assert.equal(result.applied, false)
  batch[0].advantages.fill(NaN)
  await assert.rejects(policy.update(batch, { loss: crossEntropy(), learningRate: 0.1 }), {
    code: 'numeric',
    message: /advantage NaN/,
  })
  assert.equal(policy.version, 0)
  assert.deepEqual(await policy.score([asked[0].tokens]), before)
})

test('hopeless requests are refused by name', async () => {
  const policy = makePolicy()
  const refused = async (fields: Partial<SampleRequest>): Promise<string> => {
    try {
      await policy.sample([{ id: 'mine', tokens: [1], maxTokens: 2, seed: 1, ...fields }])
    } catch (error) {
      assert.ok(error instanceof MyriadError && error.code === 'usage')
      return error.message
    }
    return assert.fail('not refused')
  }
  assert.match(await refused({ tokens: [] }), /"mine" has no tokens/)
  assert.match(await refused({ tokens: [61] }), /token 61 is outside the vocabulary of 61/)
  assert.match(await refused({ allowedTokens: [] }), /allowedTokens is empty/)
})
