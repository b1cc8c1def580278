import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crossEntropy } from '../../algorithms/index.js'
import { readCheckpoint } from '../../models/index.js'
import { localPolicyFromWeights } from './index.js'

// Made by transformers: tools/fixtures/decoder.py. Fixtures are read from the sources, tests run from dist.
const root = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))

interface Expected {
  sequences: number[][]
  logprobs: number[][]
  gradientNorm: number
}

// Policies keep longrope models within their original context, which this fixture goes past: src/models holds it.
const families = readdirSync(root).filter(
  (name) => name !== 'phi3-longrope' && existsSync(join(root, name, 'expected.json')),
)
for (const name of families) {
  test(`${name}: a checkpoint written by transformers has its logprobs and gradient here`, async () => {
    const folder = join(root, name)
    const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected
    const { config, weights } = await readCheckpoint(folder)
    const policy = localPolicyFromWeights(config, weights, { workers: 1, rowLength: 32 })
    const scores = await policy.score(expected.sequences)
    expected.logprobs.forEach((logprobs, i) =>
      logprobs.forEach((value, t) =>
        assert.ok(
          Math.abs(value - scores[i].logprobs[t]) < 1e-4,
          `sequence ${i}, token ${t}: ${scores[i].logprobs[t]}`,
        ),
      ),
    )
    const tokens = expected.sequences[2]
    const row = (value: number): Float32Array => new Float32Array(tokens.length).fill(value, 1)
    const sequence = {
      tokens,
      mask: new Uint8Array(tokens.length).fill(1, 1),
      logprobs: row(0),
      advantages: row(1),
      weights: row(1 / (tokens.length - 1)),
    }
    // Longer than the windows of those that slide; prompts of several lengths in one batch.
    const requests = expected.sequences.map((context, i) => ({
      id: `${i}`,
      tokens: context,
      maxTokens: 12,
      seed: i,
      temperature: 1,
    }))
    const replies = await policy.sample(requests)
    const scored = await policy.score(replies.map((reply, i) => [...expected.sequences[i], ...reply.tokens]))
    replies.forEach((reply, i) =>
      reply.logprobs.forEach((value, t) => {
        const other = scored[i].logprobs[expected.sequences[i].length + t]
        assert.ok(Math.abs(value - other) < 1e-4, `sampled token ${t} of reply ${i}: ${value}, scored ${other}`)
      }),
    )
    const { gradientNorm } = await policy.update([sequence], { loss: crossEntropy(), learningRate: 0 })
    const error = Math.abs(gradientNorm - expected.gradientNorm) / expected.gradientNorm
    assert.ok(error < 1e-3, `gradient norm ${gradientNorm}, transformers has ${expected.gradientNorm}`)
    await policy.close()
  })
}
