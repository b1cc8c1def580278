import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'

/**
 * The shape of a decoder-only transformer: RMSNorm, rotary embedding, grouped-query attention, SwiGLU. The switches cover
 * Llama and SmolLM2 (none), Qwen2 and Qwen2.5 (`attentionBias`), Qwen3 (`queryKeyNorm`).
 */
export interface DecoderConfig {
  modelType: 'llama' | 'qwen2' | 'qwen3'
  vocabularySize: number
  hiddenSize: number
  intermediateSize: number
  layers: number
  heads: number
  keyValueHeads: number
  headDimension: number
  /** Longest context in tokens. */
  contextLength: number
  rmsNormEpsilon: number
  ropeTheta: number
  /** The output projection is the embedding table. */
  tieEmbeddings: boolean
  /** Biases on q, k and v. */
  attentionBias: boolean
  /** A bias on the attention's output projection too (Llama's `attention_bias`). */
  outputBias: boolean
  mlpBias: boolean
  /** RMSNorm over each head of q and k before the rotation. */
  queryKeyNorm: boolean
}

const size = z.number().int().positive()
const ropeParameters = z.looseObject({ rope_theta: z.number().positive().optional(), rope_type: z.string().optional() })

const fileSchema = z.looseObject({
  model_type: z.string(),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  max_position_embeddings: size,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().optional(),
  rope_parameters: ropeParameters.nullish(),
  rope_scaling: ropeParameters.nullish(),
  tie_word_embeddings: z.boolean().optional(),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  hidden_act: z.string().default('silu'),
  use_sliding_window: z.boolean().default(false),
})

const supported = ['llama', 'qwen2', 'qwen3'] as const

/**
 * Reads Hugging Face's `config.json` fields into a {@link DecoderConfig}.
 *
 * @param where the file's name, for messages
 * @throws MyriadError 'checkpoint' naming the field, or the architecture and those that are supported
 */
export function parseDecoderConfig(json: unknown, where = 'config.json'): DecoderConfig {
  const parsed = fileSchema.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
    throw new MyriadError('checkpoint', `${where} is not a decoder configuration: ${problems.join('; ')}`)
  }
  const file = parsed.data
  const modelType = supported.find((type) => type === file.model_type)
  if (modelType === undefined) {
    throw new MyriadError(
      'checkpoint',
      `${where}: model type "${file.model_type}" is not supported; supported are ${supported.join(', ')}`,
    )
  }
  if (file.hidden_act !== 'silu')
    throw new MyriadError('checkpoint', `${where}: "hidden_act" must be "silu", got "${file.hidden_act}"`)
  if (file.use_sliding_window)
    throw new MyriadError('checkpoint', `${where}: sliding-window attention ("use_sliding_window") is not supported`)
  const rope = file.rope_parameters ?? file.rope_scaling
  const ropeType = rope?.rope_type ?? (typeof rope?.['type'] === 'string' ? rope['type'] : 'default')
  if (ropeType !== 'default')
    throw new MyriadError('checkpoint', `${where}: rotary scaling "${ropeType}" is not supported; only "default" is`)
  const heads = file.num_attention_heads
  const keyValueHeads = file.num_key_value_heads ?? heads
  if (heads % keyValueHeads !== 0)
    throw new MyriadError(
      'checkpoint',
      `${where}: ${heads} attention heads cannot share ${keyValueHeads} key/value heads evenly`,
    )
  const headDimension = file.head_dim ?? file.hidden_size / heads
  if (!Number.isInteger(headDimension) || headDimension % 2 !== 0)
    throw new MyriadError(
      'checkpoint',
      `${where}: the head dimension must be an even integer, got ${headDimension} ("hidden_size" / "num_attention_heads")`,
    )
  return {
    modelType,
    vocabularySize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    layers: file.num_hidden_layers,
    heads,
    keyValueHeads,
    headDimension,
    contextLength: file.max_position_embeddings,
    rmsNormEpsilon: file.rms_norm_eps,
    ropeTheta: rope?.rope_theta ?? file.rope_theta ?? 10000,
    tieEmbeddings: file.tie_word_embeddings ?? false,
    attentionBias: modelType === 'qwen2' ? true : file.attention_bias,
    outputBias: modelType === 'qwen2' ? false : file.attention_bias,
    mlpBias: modelType === 'llama' ? file.mlp_bias : false,
    queryKeyNorm: modelType === 'qwen3',
  }
}

/** The `config.json` of a configuration, as transformers reads it. Inverse of {@link parseDecoderConfig}. */
export function decoderConfigToJson(config: DecoderConfig): Record<string, unknown> {
  const architecture = { llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM', qwen3: 'Qwen3ForCausalLM' }
  return {
    architectures: [architecture[config.modelType]],
    model_type: config.modelType,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headDimension,
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.rmsNormEpsilon,
    rope_theta: config.ropeTheta,
    hidden_act: 'silu',
    tie_word_embeddings: config.tieEmbeddings,
    attention_bias: config.modelType === 'qwen2' ? undefined : config.attentionBias,
    mlp_bias: config.modelType === 'llama' ? config.mlpBias : undefined,
    torch_dtype: 'float32',
  }
}

/** Reads `config.json` of a model folder. */
export function readDecoderConfig(folder: string): DecoderConfig {
  const file = join(folder, 'config.json')
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}: is ${folder} a model folder?`, { cause: error })
  }
  return parseDecoderConfig(json, file)
}
