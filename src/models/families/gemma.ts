import { z } from 'zod'
import type { DecoderConfig } from '../decoder-config.js'
import { defineFamily, type Names } from './family.js'
import {
  activationOf,
  activationToJson,
  layerTypes,
  layerTypesToJson,
  llamaSizes,
  size,
  sizesOf,
  sizesToJson,
  slidingOf,
} from './fields.js'
import { llamaNames, plainSwitches } from './llama.js'
import { ropeFields, ropeObject, ropeToJson, rotaryFrom, rotaryOf } from './rope-fields.js'

/** A norm on either side of attention and of the feed-forward layer. */
const gemmaNames: Names = {
  ...llamaNames,
  attentionOutputNorm: 'post_attention_layernorm',
  feedForwardNorm: 'pre_feedforward_layernorm',
  feedForwardOutputNorm: 'post_feedforward_layernorm',
}

const cap = z.number().positive().nullish()

/** Fields of Gemma 2 and 3; defaults are transformers'. `hidden_act`, which older files have too, is not read there either. */
const gemmaFields = {
  ...llamaSizes,
  num_key_value_heads: size.nullish().default(4),
  head_dim: size.default(256),
  tie_word_embeddings: z.boolean().default(true),
  hidden_activation: z.string().nullish(),
  attention_bias: z.boolean().default(false),
  query_pre_attn_scalar: z.number().positive().default(256),
  sliding_window: size.nullish().default(4096),
  layer_types: layerTypes,
}

type GemmaFile = z.output<z.ZodObject<typeof gemmaFields>>

function gemma(
  file: GemmaFile,
  slides: (layer: number) => boolean,
  where: string,
): Omit<DecoderConfig, 'modelType' | 'rotary'> {
  const sizes = sizesOf(file, where)
  return {
    ...sizes,
    ...plainSwitches(sizes.headDimension),
    ...slidingOf({ layers: sizes.layers, window: file.sliding_window, types: file.layer_types }, slides, where),
    norm: { kind: 'rms', epsilon: file.rms_norm_eps, offset: 1 },
    activation: activationOf('hidden_activation', file.hidden_activation ?? 'gelu_pytorch_tanh', where),
    attentionBias: file.attention_bias,
    outputBias: file.attention_bias,
    scoreScale: file.query_pre_attn_scalar ** -0.5,
    embeddingScale: sizes.hiddenSize ** 0.5,
  }
}

function gemmaToJson(config: DecoderConfig): Record<string, unknown> {
  const activation = activationToJson(config.activation)
  return {
    ...sizesToJson(config),
    hidden_activation: activation,
    attention_bias: config.attentionBias,
    query_pre_attn_scalar: inverseSquare(config.scoreScale),
    sliding_window: config.slidingWindow ?? null,
    layer_types: layerTypesToJson(config),
  }
}

/**
 * A cap, unless it is what transformers takes for granted: JSON in JavaScript has no way to write 30.0, and transformers 5 does not
 * read 30 as one.
 */
function capToJson(field: string, value: number | undefined, usual?: number): Record<string, unknown> {
  return value === usual ? {} : { [field]: value ?? null }
}

/** The number whose inverse square root this is: whole if it may be. */
function inverseSquare(scale: number): number {
  const square = scale ** -2
  const whole = Math.round(square)
  return whole ** -0.5 === scale ? whole : square
}

/** Gemma 2: soft-caps, four norms a layer, every other layer slides (https://arxiv.org/abs/2408.00118). */
export const gemma2 = defineFamily({
  modelType: 'gemma2',
  architecture: 'Gemma2ForCausalLM',
  names: gemmaNames,
  schema: z.looseObject({
    ...gemmaFields,
    ...ropeFields,
    attn_logit_softcapping: cap.default(50),
    final_logit_softcapping: cap.default(30),
  }),
  config: (file, where) => {
    const config = gemma(file, (layer) => layer % 2 === 0, where)
    return {
      ...config,
      rotary: rotaryOf(file, { ...config, where }),
      ...(file.attn_logit_softcapping && { scoreSoftCap: file.attn_logit_softcapping }),
      ...(file.final_logit_softcapping && { logitSoftCap: file.final_logit_softcapping }),
    }
  },
  toJson: (config) => ({
    ...gemmaToJson(config),
    ...ropeToJson(config.rotary!),
    ...capToJson('attn_logit_softcapping', config.scoreSoftCap, 50),
    ...capToJson('final_logit_softcapping', config.logitSoftCap, 30),
  }),
})

/**
 * Gemma 3's text model: norms over heads in place of the soft-cap on scores; sliding layers rotate faster than the others
 * (https://arxiv.org/abs/2503.19786).
 */
export const gemma3 = defineFamily({
  modelType: 'gemma3_text',
  architecture: 'Gemma3ForCausalLM',
  names: { ...gemmaNames, queryNorm: 'self_attn.q_norm', keyNorm: 'self_attn.k_norm' },
  schema: z.looseObject({
    ...gemmaFields,
    final_logit_softcapping: cap,
    sliding_window_pattern: size.default(6),
    rope_theta: z.number().positive().nullish(),
    rope_local_base_freq: z.number().positive().nullish(),
    rope_scaling: ropeObject.nullish(),
    rope_parameters: z
      .strictObject({ full_attention: ropeObject.nullish(), sliding_attention: ropeObject.nullish() })
      .nullish(),
  }),
  config: (file, where) => {
    const config = gemma(file, (layer) => (layer + 1) % file.sliding_window_pattern !== 0, where)
    const full = { ...file.rope_parameters?.full_attention, ...file.rope_scaling }
    const sliding = file.rope_parameters?.sliding_attention ?? {}
    const context = { ...config, where }
    return {
      ...config,
      rotary: rotaryFrom(full, { ...context, theta: file.rope_theta ?? 1e6 }),
      ...(config.slidingWindow && {
        localRotary: rotaryFrom(sliding, { ...context, theta: file.rope_local_base_freq ?? 1e4 }),
      }),
      ...(file.final_logit_softcapping && { logitSoftCap: file.final_logit_softcapping }),
    }
  },
  toJson: (config) => {
    const full = ropeToJson(config.rotary!)
    const local = config.localRotary && ropeToJson(config.localRotary)
    // Transformers 4 has no word for scaled sliding layers.
    const nested = local?.['rope_scaling'] !== undefined
    return {
      ...gemmaToJson(config),
      ...capToJson('final_logit_softcapping', config.logitSoftCap),
      ...(nested
        ? { rope_parameters: { full_attention: flat(full), sliding_attention: flat(local) } }
        : { ...full, ...(local && { rope_local_base_freq: local['rope_theta'] }) }),
    }
  },
})

/** As transformers 5 has it: the base in the same object as the scaling. */
function flat({ rope_theta, rope_scaling }: Record<string, unknown>): Record<string, unknown> {
  return { rope_type: 'default', ...(rope_scaling as object | undefined), rope_theta }
}
