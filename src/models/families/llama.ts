import { z } from 'zod'
import type { DecoderConfig } from '../decoder-config.js'
import { defineFamily, type Names } from './family.js'
import { activationOf, activationToJson, fullAttention, llamaSizes, sizesOf, sizesToJson } from './fields.js'
import { ropeFields, ropeToJson, rotaryOf } from './rope-fields.js'

/** Names that Mistral and Qwen have in common with Llama. */
export const llamaNames: Names = {
  tokens: 'model.embed_tokens',
  layers: 'model.layers',
  attentionNorm: 'input_layernorm',
  queryKeyValue: {
    kind: 'separate',
    query: 'self_attn.q_proj',
    key: 'self_attn.k_proj',
    value: 'self_attn.v_proj',
  },
  attentionOutput: 'self_attn.o_proj',
  feedForwardNorm: 'post_attention_layernorm',
  feedForward: { kind: 'gated', gate: 'mlp.gate_proj', up: 'mlp.up_proj', down: 'mlp.down_proj' },
  finalNorm: 'model.norm',
  head: 'lm_head',
}

/** What a decoder has unless its family says otherwise: no biases, no caps, no scales. */
export function plainSwitches(
  headDimension: number,
): Pick<
  DecoderConfig,
  | 'attentionBias'
  | 'outputBias'
  | 'mlpBias'
  | 'scoreScale'
  | 'scoreScaleByLayer'
  | 'embeddingScale'
  | 'parallelResidual'
> {
  return {
    attentionBias: false,
    outputBias: false,
    mlpBias: false,
    scoreScale: 1 / Math.sqrt(headDimension),
    scoreScaleByLayer: false,
    embeddingScale: 1,
    parallelResidual: false,
  }
}

/** Llama 1 to 3 and SmolLM: RMSNorm, rotary embedding, grouped-query attention, SwiGLU (Touvron et al. 2023). */
export const llama = defineFamily({
  modelType: 'llama',
  architecture: 'LlamaForCausalLM',
  names: llamaNames,
  schema: z.looseObject({
    ...llamaSizes,
    ...ropeFields,
    hidden_act: z.string().default('silu'),
    attention_bias: z.boolean().default(false),
    mlp_bias: z.boolean().default(false),
  }),
  config: (file, where) => {
    const sizes = sizesOf(file, where)
    return {
      ...sizes,
      ...plainSwitches(sizes.headDimension),
      norm: { kind: 'rms', epsilon: file.rms_norm_eps, offset: 0 },
      activation: activationOf('hidden_act', file.hidden_act, where),
      rotary: rotaryOf(file, { ...sizes, where }),
      attention: fullAttention(sizes.layers),
      attentionBias: file.attention_bias,
      outputBias: file.attention_bias,
      mlpBias: file.mlp_bias,
    }
  },
  toJson: (config) => ({
    ...sizesToJson(config),
    ...ropeToJson(config.rotary!),
    hidden_act: activationToJson(config.activation),
    attention_bias: config.attentionBias,
    mlp_bias: config.mlpBias,
  }),
})
