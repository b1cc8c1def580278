import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { decoderConfigToJson, parseDecoderConfig } from './index.js'

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
  assert.deepEqual([llama.attentionBias, llama.rotary?.theta, llama.headDimension], [false, 500, 4])
  const qwen2 = parseDecoderConfig({ ...base, model_type: 'qwen2', tie_word_embeddings: true })
  assert.deepEqual([qwen2.attentionBias, qwen2.outputBias, qwen2.tieEmbeddings], [true, false, true])
  const qwen3 = parseDecoderConfig({ ...base, model_type: 'qwen3', head_dim: 8, rope_parameters: { rope_theta: 1e6 } })
  assert.deepEqual([qwen3.attentionBias, qwen3.headDimension, qwen3.rotary?.theta], [false, 8, 1e6])
  for (const config of [llama, qwen2, qwen3]) assert.deepEqual(parseDecoderConfig(decoderConfigToJson(config)), config)
})

test('what is not supported is refused by name', () => {
  assert.match(refusal(() => parseDecoderConfig({ ...base, model_type: 'mamba' })), /"mamba".*llama, .*qwen2, qwen3/)
  assert.match(refusal(() => parseDecoderConfig({ ...base, model_type: 'llama', hidden_size: 'x' })), /"hidden_size"/)
  assert.match(
    refusal(() => parseDecoderConfig({ ...base, model_type: 'llama', rope_scaling: { rope_type: 'dynamic' } })),
    /dynamic/,
  )
})
