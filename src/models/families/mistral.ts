import { z } from 'zod'
import { defineFamily } from './family.js'
import {
  activationOf,
  activationToJson,
  layerTypes,
  llamaSizes,
  size,
  sizesOf,
  sizesToJson,
  slidingOf,
} from './fields.js'
import { llamaNames, plainSwitches } from './llama.js'
import { ropeFields, ropeToJson, rotaryOf } from './rope-fields.js'

/** Mistral 7B and its kin: Llama, every layer with a sliding window if there is one (https://arxiv.org/abs/2310.06825). */
export const mistral = defineFamily({
  modelType: 'mistral',
  architecture: 'MistralForCausalLM',
  names: llamaNames,
  schema: z.looseObject({
    ...llamaSizes,
    ...ropeFields,
    // What transformers takes for granted in a file that does not mention it: here and at the window.
    num_key_value_heads: size.nullish().default(8),
    hidden_act: z.string().default('silu'),
    sliding_window: size.nullish().default(4096),
    layer_types: layerTypes,
  }),
  config: (file, where) => {
    const sizes = sizesOf(file, where)
    const window = file.sliding_window
    return {
      ...sizes,
      ...plainSwitches(sizes.headDimension),
      ...slidingOf({ layers: sizes.layers, window, types: file.layer_types }, () => Boolean(window), where),
      norm: { kind: 'rms', epsilon: file.rms_norm_eps, offset: 0 },
      activation: activationOf('hidden_act', file.hidden_act, where),
      rotary: rotaryOf(file, { ...sizes, where }),
    }
  },
  toJson: (config) => ({
    ...sizesToJson(config),
    ...ropeToJson(config.rotary!),
    hidden_act: activationToJson(config.activation),
    sliding_window: config.slidingWindow ?? null,
  }),
})
