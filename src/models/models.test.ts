import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { decoderConfigToJson, parameterCount, parseDecoderConfig, positionTables } from './index.js'

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

/** Fields of published models that matter, and some that do not; and how many weights their pages say they have. */
const published: Record<string, { file: Record<string, unknown>; weights: number }> = {
  'Llama 3.2 1B': {
    weights: 1_235_814_400,
    file: {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      attention_bias: false,
      attention_dropout: 0,
      bos_token_id: 128000,
      eos_token_id: 128001,
      head_dim: 64,
      hidden_act: 'silu',
      hidden_size: 2048,
      initializer_range: 0.02,
      intermediate_size: 8192,
      max_position_embeddings: 131072,
      mlp_bias: false,
      num_attention_heads: 32,
      num_hidden_layers: 16,
      num_key_value_heads: 8,
      pretraining_tp: 1,
      rms_norm_eps: 1e-5,
      rope_scaling: {
        factor: 32,
        high_freq_factor: 4,
        low_freq_factor: 1,
        original_max_position_embeddings: 8192,
        rope_type: 'llama3',
      },
      rope_theta: 500000,
      tie_word_embeddings: true,
      torch_dtype: 'bfloat16',
      use_cache: true,
      vocab_size: 128256,
    },
  },
  'SmolLM2 135M': {
    weights: 134_515_008,
    file: {
      model_type: 'llama',
      hidden_size: 576,
      intermediate_size: 1536,
      is_llama_config: true,
      max_position_embeddings: 8192,
      num_attention_heads: 9,
      num_hidden_layers: 30,
      num_key_value_heads: 3,
      rms_norm_eps: 1e-5,
      rope_interleaved: false,
      rope_scaling: null,
      rope_theta: 100000,
      tie_word_embeddings: true,
      vocab_size: 49152,
    },
  },
  'Mistral 7B v0.1': {
    weights: 7_241_732_096,
    file: {
      model_type: 'mistral',
      hidden_size: 4096,
      intermediate_size: 14336,
      max_position_embeddings: 32768,
      num_attention_heads: 32,
      num_hidden_layers: 32,
      num_key_value_heads: 8,
      rms_norm_eps: 1e-5,
      rope_theta: 10000,
      sliding_window: 4096,
      tie_word_embeddings: false,
      vocab_size: 32000,
    },
  },
  'Qwen2.5 0.5B': {
    weights: 494_032_768,
    file: {
      model_type: 'qwen2',
      hidden_size: 896,
      intermediate_size: 4864,
      max_position_embeddings: 32768,
      max_window_layers: 24,
      num_attention_heads: 14,
      num_hidden_layers: 24,
      num_key_value_heads: 2,
      rope_theta: 1e6,
      sliding_window: 32768,
      tie_word_embeddings: true,
      use_mrope: false,
      use_sliding_window: false,
      vocab_size: 151936,
    },
  },
  'Qwen3 0.6B': {
    weights: 596_049_920,
    file: {
      model_type: 'qwen3',
      attention_bias: false,
      head_dim: 128,
      hidden_size: 1024,
      intermediate_size: 3072,
      max_position_embeddings: 40960,
      max_window_layers: 28,
      num_attention_heads: 16,
      num_hidden_layers: 28,
      num_key_value_heads: 8,
      rope_scaling: null,
      rope_theta: 1e6,
      sliding_window: null,
      tie_word_embeddings: true,
      use_sliding_window: false,
      vocab_size: 151936,
    },
  },
  'Gemma 2 2B': {
    weights: 2_614_341_888,
    file: {
      model_type: 'gemma2',
      attention_bias: false,
      attn_logit_softcapping: 50,
      cache_implementation: 'hybrid',
      final_logit_softcapping: 30,
      head_dim: 256,
      hidden_act: 'gelu_pytorch_tanh',
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_size: 2304,
      intermediate_size: 9216,
      max_position_embeddings: 8192,
      num_attention_heads: 8,
      num_hidden_layers: 26,
      num_key_value_heads: 4,
      query_pre_attn_scalar: 256,
      rope_theta: 10000,
      sliding_window: 4096,
      vocab_size: 256000,
    },
  },
  'Gemma 3 1B': {
    weights: 999_885_952,
    file: {
      model_type: 'gemma3_text',
      attention_bias: false,
      attn_logit_softcapping: null,
      cache_implementation: 'hybrid',
      final_logit_softcapping: null,
      head_dim: 256,
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_size: 1152,
      intermediate_size: 6912,
      max_position_embeddings: 32768,
      num_attention_heads: 4,
      num_hidden_layers: 26,
      num_key_value_heads: 1,
      query_pre_attn_scalar: 256,
      rope_local_base_freq: 10000,
      rope_scaling: null,
      rope_theta: 1000000,
      sliding_window: 512,
      sliding_window_pattern: 6,
      vocab_size: 262144,
    },
  },
  'Phi-3 mini 4k': {
    weights: 3_821_079_552,
    file: {
      model_type: 'phi3',
      attention_bias: false,
      attention_dropout: 0,
      auto_map: { AutoConfig: 'configuration_phi3.Phi3Config' },
      embd_pdrop: 0,
      hidden_act: 'silu',
      hidden_size: 3072,
      intermediate_size: 8192,
      max_position_embeddings: 4096,
      num_attention_heads: 32,
      num_hidden_layers: 32,
      num_key_value_heads: 32,
      original_max_position_embeddings: 4096,
      resid_pdrop: 0,
      rms_norm_eps: 1e-5,
      rope_scaling: null,
      rope_theta: 10000,
      sliding_window: 2047,
      tie_word_embeddings: false,
      vocab_size: 32064,
    },
  },
  'GPT-2': {
    weights: 124_439_808,
    file: {
      model_type: 'gpt2',
      activation_function: 'gelu_new',
      attn_pdrop: 0.1,
      layer_norm_epsilon: 1e-5,
      n_ctx: 1024,
      n_embd: 768,
      n_head: 12,
      n_layer: 12,
      n_positions: 1024,
      summary_type: 'cls_index',
      task_specific_params: { 'text-generation': { do_sample: true, max_length: 50 } },
      vocab_size: 50257,
    },
  },
  'Pythia 70M': {
    weights: 70_426_624,
    file: {
      model_type: 'gpt_neox',
      hidden_act: 'gelu',
      hidden_size: 512,
      intermediate_size: 2048,
      layer_norm_eps: 1e-5,
      max_position_embeddings: 2048,
      num_attention_heads: 8,
      num_hidden_layers: 6,
      rotary_emb_base: 10000,
      rotary_pct: 0.25,
      tie_word_embeddings: false,
      use_parallel_residual: true,
      vocab_size: 50304,
    },
  },
}

for (const [name, { file, weights }] of Object.entries(published))
  test(`${name} is read, has as many weights as its page says, and is written as it was`, () => {
    const config = parseDecoderConfig(file)
    assert.equal(parameterCount(config), weights)
    assert.deepEqual(parseDecoderConfig(JSON.parse(JSON.stringify(decoderConfigToJson(config)))), config)
  })

test('which layers slide', () => {
  const slidingOf = (name: string): { window?: number; layers: number[] } => {
    const { attention, slidingWindow } = parseDecoderConfig(published[name].file)
    return { window: slidingWindow, layers: attention.flatMap((kind, i) => (kind === 'sliding' ? [i] : [])) }
  }
  assert.deepEqual(slidingOf('Llama 3.2 1B'), { window: undefined, layers: [] })
  assert.deepEqual(slidingOf('Qwen2.5 0.5B'), { window: undefined, layers: [] })
  assert.equal(slidingOf('Mistral 7B v0.1').layers.length, 32)
  assert.deepEqual(slidingOf('Gemma 2 2B').layers.slice(0, 3), [0, 2, 4])
  const windowed = parseDecoderConfig({ ...base, model_type: 'qwen2', use_sliding_window: true, max_window_layers: 1 })
  assert.deepEqual([windowed.attention, windowed.slidingWindow], [['full', 'sliding'], 4096])
  const gemma3 = slidingOf('Gemma 3 1B')
  assert.equal(gemma3.window, 512)
  assert.deepEqual(
    [4, 5, 6, 11].map((i) => gemma3.layers.includes(i)),
    [true, false, true, false],
  )
})

test('transformers 5 says the same in other words', () => {
  const { file } = published['Gemma 3 1B']
  const { rope_theta, rope_local_base_freq, rope_scaling, sliding_window_pattern, ...rest } = file
  const five = {
    ...rest,
    dtype: 'bfloat16',
    rope_parameters: {
      full_attention: { rope_type: 'default', rope_theta },
      sliding_attention: { rope_type: 'default', rope_theta: rope_local_base_freq },
    },
    layer_types: Array.from({ length: 26 }, (_, i) => `${(i + 1) % 6 === 0 ? 'full' : 'sliding'}_attention`),
  }
  assert.equal(rope_scaling ?? sliding_window_pattern, 6)
  assert.deepEqual(parseDecoderConfig(five), parseDecoderConfig(file))
  const pythia = published['Pythia 70M'].file
  const { rotary_pct, rotary_emb_base, ...others } = pythia
  const rope_parameters = { rope_type: 'default', rope_theta: rotary_emb_base, partial_rotary_factor: rotary_pct }
  assert.deepEqual(parseDecoderConfig({ ...others, rope_parameters }), parseDecoderConfig(pythia))
})

test('an unsupported architecture is refused with the list of those that are', () => {
  assert.match(
    refusal(() => parseDecoderConfig({ ...base, model_type: 'mamba' })),
    /"mamba".*llama, mistral, qwen2, qwen3, gemma2, gemma3_text, phi3, gpt2, gpt_neox/,
  )
  assert.match(
    refusal(() => parseDecoderConfig({ ...base })),
    /"model_type"/,
  )
})

const llama = { ...base, model_type: 'llama' }
const gemma3 = published['Gemma 3 1B'].file
const refused: [what: Record<string, unknown>, message: RegExp][] = [
  [{ ...llama, hidden_size: 'x' }, /"hidden_size"/],
  [{ ...llama, hidden_act: 'quick_gelu' }, /"hidden_act" is "quick_gelu".*silu/],
  [{ ...llama, num_key_value_heads: 3 }, /4 attention heads cannot share 3/],
  [{ ...llama, num_attention_heads: 3, num_key_value_heads: 3 }, /hidden size 16 does not divide into 3/],
  [{ ...llama, head_dim: 5 }, /even number of dimensions, got 5/],
  [{ ...llama, rope_scaling: { rope_type: 'dynamic', factor: 2 } }, /"dynamic" is not supported; supported are .*yarn/],
  [{ ...llama, rope_scaling: { rope_type: 'linear' } }, /"linear" needs "factor"/],
  [{ ...llama, rope_scaling: { type: 'longrope', short_factor: [1], long_factor: [1] } }, /must have 2 numbers/],
  [{ ...llama, partial_rotary_factor: 0.5 }, /"partial_rotary_factor" is 0.5/],
  [{ ...llama, rope_interleaved: true }, /"rope_interleaved" is true.*"llama"/],
  [{ ...llama, sliding_window: 8 }, /"sliding_window" is 8/],
  [{ ...llama, num_local_experts: 8 }, /"num_local_experts"/],
  [{ ...llama, quantization_config: { quant_method: 'gptq' } }, /"quantization_config" is {"quant_method":"gptq"}/],
  [{ ...llama, logits_scaling: 8 }, /"logits_scaling"/],
  [{ ...base, model_type: 'mistral', attention_bias: true }, /"attention_bias"/],
  [
    { ...base, model_type: 'qwen2', layer_types: ['sliding_attention', 'full_attention'] },
    /"sliding_window" does not say/,
  ],
  [{ ...base, model_type: 'qwen3', layer_types: ['full_attention'] }, /"layer_types" names 1 layers of 2/],
  [{ ...base, model_type: 'qwen3', layer_types: ['chunked_attention', 'full_attention'] }, /"layer_types.0"/],
  [{ ...gemma3, attn_logit_softcapping: 50 }, /"attn_logit_softcapping" is 50/],
  [{ ...gemma3, use_bidirectional_attention: true }, /"use_bidirectional_attention"/],
  [{ ...gemma3, rope_parameters: { rope_theta: 5 } }, /"rope_parameters"/],
  [{ ...published['GPT-2'].file, add_cross_attention: true }, /"add_cross_attention"/],
  [{ ...published['Phi-3 mini 4k'].file, rope_scaling: { rope_type: 'linear', factor: 2 } }, /"linear".*phi3/],
]

test('a field that changes the computation in a way we do not is refused by name', () => {
  for (const [file, message] of refused)
    assert.match(
      refusal(() => parseDecoderConfig(file)),
      message,
    )
})

test('longrope turns otherwise in a sequence that is longer than the original context', () => {
  const config = parseDecoderConfig({
    ...published['Phi-3 mini 4k'].file,
    max_position_embeddings: 131072,
    rope_scaling: {
      type: 'longrope',
      short_factor: Array.from({ length: 48 }, () => 1),
      long_factor: Array.from({ length: 48 }, () => 4),
    },
  })
  // sqrt(1 + ln(32) / ln(4096)), equation of the Phi-3 report.
  const amplitude = Math.sqrt(1 + Math.log(32) / Math.log(4096))
  const at = (length: number): number => positionTables(config, length).sin![48]
  assert.ok(Math.abs(at(4096) - amplitude * Math.sin(1)) < 1e-6)
  assert.ok(Math.abs(at(4097) - amplitude * Math.sin(1 / 4)) < 1e-6)
})
