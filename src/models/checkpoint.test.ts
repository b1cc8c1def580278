import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MyriadError } from '../core/index.js'
import {
  initializeWeights,
  parameterCount,
  parseDecoderConfig,
  readCheckpoint,
  readSafetensors,
  writeCheckpoint,
  writeSafetensors,
} from './index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-checkpoint-'))
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

async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading
  } catch (error) {
    assert.ok(error instanceof MyriadError)
    return error.message
  }
  return assert.fail('nothing was refused')
}

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

test('a damaged checkpoint is refused with the file and the tensor', async () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const weights = initializeWeights(config, 1)
  assert.equal(Object.values(weights).reduce((sum, data) => sum + data.length, 0), parameterCount(config))
  const model = join(folder, 'model')
  writeCheckpoint(model, config, weights)
  assert.deepEqual((await readCheckpoint(model)).weights, weights)
  writeCheckpoint(model, config, weights, { dtype: 'F16' })
  const file = join(model, 'model.safetensors')
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length - 10))
  assert.match(await refusal(readCheckpoint(model)), /model\.safetensors.*"lm_head\.weight".*cut short/)
  writeFileSync(file, bytes.subarray(0, 4))
  assert.match(await refusal(readCheckpoint(model)), /4 bytes/)
  writeFileSync(file, Buffer.from(bytes).fill(0x7b, 8, 40))
  assert.match(await refusal(readCheckpoint(model)), /not JSON/)
  const { 'model.norm.weight': _, ...lacking } = weights
  writeSafetensors(
    file,
    Object.fromEntries(Object.entries(lacking).map(([name, data]) => [name, { shape: [data.length], data }])),
  )
  assert.match(await refusal(readCheckpoint(model)), /embed_tokens.weight" has shape \[800\]/)
  weights['model.norm.weight'][3] = NaN
  writeCheckpoint(model, config, weights)
  assert.match(await refusal(readCheckpoint(model)), /model\.norm\.weight" holds NaN at 3/)
})
