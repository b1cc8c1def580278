import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { machineMemory, memoryNeeded, parameterCount, parseDecoderConfig, requireMemory } from './index.js'

// SmolLM2-135M: 134,515,008 parameters by its model card.
const config = parseDecoderConfig({
  model_type: 'llama',
  vocab_size: 49152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  max_position_embeddings: 8192,
  tie_word_embeddings: true,
})

test('weights, gradients and moments are counted to the byte, for every worker', () => {
  assert.equal(parameterCount(config), 134_515_008)
  const { bytes, parts } = memoryNeeded(config, { workers: 2, train: 'all' })
  assert.equal(parts.weights, 134_515_008 * 4 * 2)
  assert.equal(parts.gradients, 134_515_008 * 8 * 2)
  assert.equal(parts['optimizer state'], 134_515_008 * 8 * 2)
  assert.equal(
    bytes,
    Object.values(parts).reduce((a, b) => a + b),
  )
  assert.equal(memoryNeeded(config, { workers: 2, sharedWeights: true }).parts.weights, 134_515_008 * 4)
  assert.deepEqual(Object.keys(memoryNeeded(config).parts), ['threads', 'weights', 'loading'])
})

test('what was measured is what is said, to a tenth', () => {
  // Largest resident set of one worker that trained SmolLM2-135M whole, at so many tokens a pass.
  for (const [tokenBudget, measured, logitChunk] of [
    [1024, 6104e6],
    [512, 4510e6],
    [256, 3989e6],
    [1024, 5227e6, 512],
  ]) {
    const { bytes } = memoryNeeded(config, { train: 'all', tokenBudget, logitChunk })
    assert.ok(Math.abs(bytes / measured - 1) < 0.1, `${tokenBudget}: ${bytes}, measured ${measured}`)
  }
})

test('adapters, recomputation, chunks and shorter batches take less', () => {
  const full = memoryNeeded(config, { train: 'all' })
  const adapters = memoryNeeded(config, { train: { adapterParameters: 1_000_000 } })
  assert.equal(adapters.parts.gradients, 8_000_000)
  assert.ok(adapters.bytes < full.bytes - 133_000_000 * 16)
  const activations = (plan: object): number => memoryNeeded(config, { train: 'all', ...plan }).parts.activations
  assert.ok(activations({ recompute: true }) < activations({}))
  assert.ok(activations({ logitChunk: 128 }) < activations({}))
  assert.equal(activations({ tokenBudget: 1024 }) * 2, activations({}))
  // 30 layers x 3 heads x 64, keys and values, 4 bytes: 46,080 bytes a token.
  assert.equal(memoryNeeded(config, { slots: 8, sequenceTokens: 100 }).parts['keys and values'], 46_080 * 800)
})

test('too little memory is refused before loading, with how much is needed, for what, and how much there is', () => {
  const need = memoryNeeded(config, { workers: 2, train: 'all' })
  requireMemory('SmolLM2', need, { available: need.bytes, total: 16e9 })
  assert.throws(
    () => requireMemory('SmolLM2', need, { available: 2e9, total: 4e9 }),
    (error) =>
      error instanceof MyriadError &&
      error.code === 'device' &&
      /^SmolLM2 needs about \d+\.\d GB of memory \(activations .*optimizer state 2\.2 GB.*weights 1\.1 GB.*\); 2\.0 GB of 4\.0 GB are free: use fewer workers/.test(
        error.message,
      ),
  )
})

test('the machine has some memory, and no more than all of it', () => {
  const { available, total } = machineMemory()
  assert.ok(available > 0 && available <= total)
})
