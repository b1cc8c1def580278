import { z } from 'zod'
import { defineFamily, type Family } from './family.js'
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
import { ropeFields, ropeToJson, rotaryOf } from './rope-fields.js'

const schema = z.looseObject({
  ...llamaSizes,
  ...ropeFields,
  // What transformers takes for granted in a file that does not mention it: here, and below.
  num_key_value_heads: size.nullish().default(32),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().default(false),
  use_sliding_window: z.boolean().default(false),
  sliding_window: size.nullish().default(4096),
  max_window_layers: z.number().int().nonnegative().default(28),
  layer_types: layerTypes,
})

function qwen(modelType: 'qwen2' | 'qwen3', architecture: string): Family {
  const heads = { queryNorm: 'self_attn.q_norm', keyNorm: 'self_attn.k_norm' }
  return defineFamily({
    modelType,
    architecture,
    names: modelType === 'qwen3' ? { ...llamaNames, ...heads } : llamaNames,
    schema,
    config: (file, where) => {
      // Not the hidden size divided by the heads.
      const sizes = sizesOf(modelType === 'qwen3' ? { ...file, head_dim: file.head_dim ?? 128 } : file, where)
      const window = file.use_sliding_window ? (file.sliding_window ?? undefined) : undefined
      const windowed = (layer: number): boolean => window !== undefined && layer >= file.max_window_layers
      return {
        ...sizes,
        ...plainSwitches(sizes.headDimension),
        ...slidingOf({ layers: sizes.layers, window, types: file.layer_types }, windowed, where),
        norm: { kind: 'rms', epsilon: file.rms_norm_eps, offset: 0 },
        activation: activationOf('hidden_act', file.hidden_act, where),
        rotary: rotaryOf(file, { ...sizes, where }),
        attentionBias: modelType === 'qwen2' ? true : file.attention_bias,
        outputBias: modelType === 'qwen2' ? false : file.attention_bias,
      }
    },
    toJson: (config) => ({
      ...sizesToJson(config),
      ...ropeToJson(config.rotary!),
      hidden_act: activationToJson(config.activation),
      ...(modelType === 'qwen3' && { attention_bias: config.attentionBias }),
      use_sliding_window: config.slidingWindow !== undefined,
      sliding_window: config.slidingWindow ?? null,
      // For readers that do not know layer_types.
      max_window_layers: config.attention.includes('sliding') ? config.attention.indexOf('sliding') : config.layers,
      layer_types: layerTypesToJson(config),
    }),
  })
}

/** Qwen2 and Qwen2.5: Llama with biases on queries, keys and values (https://arxiv.org/abs/2407.10671). */
export const qwen2 = qwen('qwen2', 'Qwen2ForCausalLM')

/** Qwen3: Llama with RMSNorm over each head of queries and keys (https://arxiv.org/abs/2505.09388). */
export const qwen3 = qwen('qwen3', 'Qwen3ForCausalLM')
