import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Rotary } from '../rotary.js'
import { defineFamily } from './family.js'
import { activationOf, activationToJson, llamaSizes, size, sizesOf, sizesToJson, slidingOf } from './fields.js'
import { llamaNames, plainSwitches } from './llama.js'
import { longropeAttention, ropeFields, ropeToJson, rotaryOf, rotatedFraction } from './rope-fields.js'

/**
 * Phi-3, Phi-3.5 and Phi-4-mini: Llama with queries, keys and values in one projection, gate and up in another
 * (https://arxiv.org/abs/2404.14219). `resid_pdrop` and `embd_pdrop` are dropout: see foreign-fields.ts.
 */
export const phi3 = defineFamily({
  modelType: 'phi3',
  architecture: 'Phi3ForCausalLM',
  names: {
    ...llamaNames,
    queryKeyValue: { kind: 'stacked', fused: 'self_attn.qkv_proj' },
    feedForward: { kind: 'stacked', gateUp: 'mlp.gate_up_proj', down: 'mlp.down_proj' },
  },
  schema: z.looseObject({
    ...llamaSizes,
    ...ropeFields,
    rms_norm_eps: z.number().positive().default(1e-5),
    original_max_position_embeddings: size.default(4096),
    hidden_act: z.string().default('silu'),
    sliding_window: size.nullish(),
  }),
  config: (file, where) => {
    const sizes = sizesOf(file, where)
    const window = file.sliding_window
    const rotary = rotaryOf(file, { ...sizes, where, partial: true })
    if (rotary.scaling && rotary.scaling.kind !== 'longrope')
      throw new MyriadError(
        'checkpoint',
        `${where}: rotary scaling "${rotary.scaling.kind}" is not supported for phi3; supported are default, longrope`,
      )
    return {
      ...sizes,
      ...plainSwitches(sizes.headDimension),
      ...slidingOf({ layers: sizes.layers, window, types: undefined }, () => Boolean(window), where),
      norm: { kind: 'rms', epsilon: file.rms_norm_eps, offset: 0 },
      activation: activationOf('hidden_act', file.hidden_act, where),
      rotary,
    }
  },
  toJson: (config) => ({
    ...sizesToJson(config),
    ...phiRope(config, config.rotary!),
    hidden_act: activationToJson(config.activation),
    sliding_window: config.slidingWindow ?? null,
    // The id that transformers takes for granted must be in the vocabulary.
    ...(config.vocabularySize <= 32000 && { pad_token_id: null }),
  }),
})

/** Where Phi keeps them: the original context at the top, and no more than three fields in `rope_scaling` (transformers 4). */
function phiRope(config: DecoderConfig, rotary: Rotary): Record<string, unknown> {
  const json: Record<string, unknown> = {
    ...ropeToJson(rotary),
    partial_rotary_factor: rotatedFraction(rotary, config.headDimension),
  }
  if (rotary.scaling?.kind !== 'longrope') return json
  const { short, long, originalContext, attentionFactor } = rotary.scaling
  const usual = longropeAttention(config.contextLength / originalContext, originalContext)
  json['original_max_position_embeddings'] = originalContext
  json['rope_scaling'] = {
    type: 'longrope',
    short_factor: short,
    long_factor: long,
    ...(attentionFactor !== usual && { attention_factor: attentionFactor }),
  }
  return json
}
