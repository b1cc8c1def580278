import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MyriadError } from '../core/index.js'
import {
  decoderConfigToJson,
  initializeWeights,
  parameterCount,
  parseDecoderConfig,
  readCheckpoint,
  readSafetensors,
  writeCheckpoint,
  writeSafetensors,
} from './index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-models-'))
after(() => rmSync(folder, { recursive: true }))

const base = {
  vocab_size: 50,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
}

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof MyriadError)
    return error.message
  }
  return assert.fail('nothing was refused')
}

test("Hugging Face's fields decide the switches of each family", () => {
  const llama = parseDecoderConfig({ ...base, model_type: 'llama', rope_theta: 500 })
  assert.deepEqual([llama.attentionBias, llama.queryKeyNorm, llama.ropeTheta, llama.headDimension], [false, false, 500, 4])
  const qwen2 = parseDecoderConfig({ ...base, model_type: 'qwen2', tie_word_embeddings: true })
  assert.deepEqual([qwen2.attentionBias, qwen2.outputBias, qwen2.tieEmbeddings], [true, false, true])
  const qwen3 = parseDecoderConfig({ ...base, model_type: 'qwen3', head_dim: 8, rope_parameters: { rope_theta: 1e6 } })
  assert.deepEqual([qwen3.queryKeyNorm, qwen3.headDimension, qwen3.ropeTheta], [true, 8, 1e6])
  for (const config of [llama, qwen2, qwen3]) assert.deepEqual(parseDecoderConfig(decoderConfigToJson(config)), config)
})

test('what is not supported is refused by name', () => {
  assert.match(refusal(() => parseDecoderConfig({ ...base, model_type: 'mamba' })), /"mamba".*llama, qwen2, qwen3/)
  assert.match(refusal(() => parseDecoderConfig({ ...base, model_type: 'llama', hidden_size: 'x' })), /"hidden_size"/)
  assert.match(
    refusal(() => parseDecoderConfig({ ...base, model_type: 'llama', rope_scaling: { rope_type: 'yarn' } })),
    /yarn/,
  )
})

test('safetensors survive a round trip, in float32 exactly and in float16 to half precision', () => {
  const data = Float32Array.of(0, -0, 1, -1.5, 65504, 1e-7, 6e-8, 3.14159, 1e6, NaN, -Infinity)
  const file = join(folder, 'x.safetensors')
  writeSafetensors(file, { a: { shape: [data.length], data } }, { metadata: { note: 'ok' } })
  const full = readSafetensors(file)
  assert.deepEqual(full.tensors.a.data, data)
  assert.equal(full.metadata.note, 'ok')
  writeSafetensors(file, { a: { shape: [data.length], data } }, { dtype: 'F16' })
  const half = readSafetensors(file).tensors.a.data
  // Values from numpy: np.float16([...]).astype(np.float32)
  const expected = [0, -0, 1, -1.5, 65504, 1.1920929e-7, 5.9604645e-8, 3.140625, Infinity, NaN, -Infinity]
  assert.deepEqual(half, Float32Array.from(expected))
})

test('a damaged checkpoint is refused with the file and the tensor', () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const weights = initializeWeights(config, 1)
  assert.equal(Object.values(weights).reduce((sum, data) => sum + data.length, 0), parameterCount(config))
  const model = join(folder, 'model')
  writeCheckpoint(model, config, weights)
  assert.deepEqual(readCheckpoint(model).weights, weights)
  writeCheckpoint(model, config, weights, { dtype: 'F16' })
  const file = join(model, 'model.safetensors')
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length - 10))
  assert.match(refusal(() => readCheckpoint(model)), /model\.safetensors.*"lm_head\.weight".*cut short/)
  writeFileSync(file, bytes.subarray(0, 4))
  assert.match(refusal(() => readCheckpoint(model)), /4 bytes/)
  writeFileSync(file, Buffer.from(bytes).fill(0x7b, 8, 40))
  assert.match(refusal(() => readCheckpoint(model)), /not JSON/)
  const { 'model.norm.weight': _, ...lacking } = weights
  writeSafetensors(
    file,
    Object.fromEntries(Object.entries(lacking).map(([name, data]) => [name, { shape: [data.length], data }])),
  )
  assert.match(refusal(() => readCheckpoint(model)), /embed_tokens.weight" has shape \[800\]/)
  weights['model.norm.weight'][3] = NaN
  writeCheckpoint(model, config, weights)
  assert.match(refusal(() => readCheckpoint(model)), /model\.norm\.weight" holds NaN at 3/)
})
