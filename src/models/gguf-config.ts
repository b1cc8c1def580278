import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import type { GgufHeader } from '../core/gguf.js'
import { ggufArchitectures } from './gguf-names.js'

// Floats are stored in single precision: 1e-5 must not become 0.000009999999747378752.
const number = z.union([
  z.number().transform((x) => (Number.isInteger(x) ? x : Number(x.toPrecision(7)))),
  z.bigint().transform(Number),
])

/**
 * The `config.json` that a GGUF file's metadata stands for, in Hugging Face's words.
 *
 * @param ropeFactors the tensor `rope_freqs.weight`, where there is one
 * @throws MyriadError 'checkpoint' for an architecture that is not read, or metadata that is missing
 */
export function ggufConfigJson(
  { file, metadata, tensors }: GgufHeader,
  ropeFactors?: Float32Array,
): Record<string, unknown> {
  const architecture = String(metadata['general.architecture'])
  if (!ggufArchitectures.includes(architecture))
    throw new MyriadError(
      'checkpoint',
      `${file}: architecture "${architecture}" is not supported; supported are ${ggufArchitectures.join(', ')}`,
    )
  const optional = (key: string): number | undefined => {
    const parsed = number.safeParse(metadata[`${architecture}.${key}`])
    return parsed.success ? parsed.data : undefined
  }
  const required = (key: string): number => {
    const value = optional(key)
    if (value === undefined) throw new MyriadError('checkpoint', `${file} lacks the metadata "${architecture}.${key}"`)
    return value
  }
  const text = (key: string): string | undefined => {
    const value = metadata[`${architecture}.${key}`]
    return typeof value === 'string' ? value : undefined
  }
  const embedding = tensors.get('token_embd.weight')
  if (embedding === undefined) throw new MyriadError('checkpoint', `${file} lacks the tensor "token_embd.weight"`)

  const heads = required('attention.head_count')
  const hidden = required('embedding_length')
  const layers = required('block_count')
  const context = required('context_length')
  const headDimension = optional('attention.key_length') ?? hidden / heads
  const common = {
    vocab_size: embedding.shape[0],
    tie_word_embeddings: !tensors.has('output.weight'),
    bos_token_id: tokenId(metadata, 'bos'),
    eos_token_id: tokenId(metadata, 'eos'),
  }
  if (architecture === 'gpt2')
    return {
      ...common,
      model_type: 'gpt2',
      n_embd: hidden,
      n_layer: layers,
      n_head: heads,
      n_positions: context,
      n_inner: required('feed_forward_length'),
      layer_norm_epsilon: required('attention.layer_norm_epsilon'),
      activation_function: 'gelu_new',
    }
  const theta = optional('rope.freq_base') ?? 10000
  const scaling = ropeScaling(file, { text, optional, required, tensors, context, theta }, ropeFactors)
  const rope = { rope_theta: theta, ...(scaling && { rope_scaling: scaling }) }
  const shape = {
    ...common,
    ...rope,
    hidden_size: hidden,
    intermediate_size: required('feed_forward_length'),
    num_hidden_layers: layers,
    num_attention_heads: heads,
    max_position_embeddings: context,
  }
  if (architecture === 'gptneox')
    return {
      ...shape,
      model_type: 'gpt_neox',
      layer_norm_eps: required('attention.layer_norm_epsilon'),
      rotary_pct: required('rope.dimension_count') / headDimension,
      rotary_emb_base: theta,
      use_parallel_residual: metadata['gptneox.use_parallel_residual'] ?? true,
      hidden_act: 'gelu',
    }
  const rms = {
    ...shape,
    model_type: architecture,
    num_key_value_heads: optional('attention.head_count_kv') ?? heads,
    head_dim: headDimension,
    rms_norm_eps: required('attention.layer_norm_rms_epsilon'),
  }
  if (architecture === 'phi3') {
    const dimensions = optional('rope.dimension_count') ?? headDimension
    return {
      ...rms,
      hidden_act: 'silu',
      original_max_position_embeddings: optional('rope.scaling.original_context_length') ?? context,
      ...(dimensions !== headDimension && { partial_rotary_factor: dimensions / headDimension }),
      sliding_window: optional('attention.sliding_window') || null,
    }
  }
  if (architecture === 'gemma2' || architecture === 'gemma3')
    return {
      ...rms,
      ...(architecture === 'gemma3' && { model_type: 'gemma3_text', rope_local_base_freq: 10000 }),
      hidden_activation: 'gelu_pytorch_tanh',
      sliding_window: required('attention.sliding_window'),
      attn_logit_softcapping: optional('attn_logit_softcapping') ?? null,
      final_logit_softcapping: optional('final_logit_softcapping') ?? null,
      // Not in the file: the two largest models divide by their own number, all others by the head's dimension.
      query_pre_attn_scalar: isLargestGemma(architecture, layers) ? hidden / heads : headDimension,
      ...(architecture === 'gemma3' && { sliding_window_pattern: 6 }),
    }
  const bias = tensors.has('blk.0.attn_q.bias')
  return {
    ...rms,
    hidden_act: 'silu',
    ...(architecture === 'llama' && { attention_bias: bias, mlp_bias: tensors.has('blk.0.ffn_up.bias') }),
  }
}

function isLargestGemma(architecture: string, layers: number): boolean {
  return layers === (architecture === 'gemma2' ? 46 : 62)
}

function tokenId(metadata: GgufHeader['metadata'], name: string): number | undefined {
  const parsed = number.safeParse(metadata[`tokenizer.ggml.${name}_token_id`])
  return parsed.success ? parsed.data : undefined
}

interface RopeSource {
  text: (key: string) => string | undefined
  optional: (key: string) => number | undefined
  required: (key: string) => number
  tensors: GgufHeader['tensors']
  context: number
  theta: number
}

function ropeScaling(file: string, source: RopeSource, factors?: Float32Array): Record<string, unknown> | undefined {
  const { text, optional, required, tensors, context } = source
  if (tensors.has('rope_factors_long.weight'))
    throw new MyriadError(
      'checkpoint',
      `${file}: rotary scaling "longrope" is not read from GGUF files; use the safetensors of this model`,
    )
  if (factors) return llama3Scaling(file, factors, source.theta)
  const type = text('rope.scaling.type')
  if (type === undefined || type === 'none') return undefined
  return {
    rope_type: type,
    factor: required('rope.scaling.factor'),
    ...(type === 'yarn' && {
      original_max_position_embeddings: optional('rope.scaling.original_context_length') ?? context,
    }),
  }
}

/**
 * Llama 3's rotary scaling. The file holds one divisor for every frequency, not the four numbers they come from; of these
 * Meta's models share all but the factor, so the divisors are computed from them and compared.
 */
function llama3Scaling(file: string, factors: Float32Array, theta: number): Record<string, unknown> {
  const factor = factors.reduce((a, b) => Math.max(a, b), 1)
  const [low, high, original] = [1, 4, 8192]
  const differs = factors.some((stored, i) => {
    const turns = (original * theta ** (-i / factors.length)) / (2 * Math.PI)
    const blend = Math.min(1, Math.max(0, (turns - low) / (high - low)))
    return Math.abs(stored - 1 / ((1 - blend) / factor + blend)) > 1e-3 * stored
  })
  if (differs)
    throw new MyriadError(
      'checkpoint',
      `${file}: the rotary divisors in "rope_freqs.weight" are not Llama 3's; use the safetensors of this model`,
    )
  return {
    rope_type: 'llama3',
    factor,
    low_freq_factor: low,
    high_freq_factor: high,
    original_max_position_embeddings: original,
  }
}
