import { createRandom, deriveSeed } from '../core/index.js'
import type { DecoderConfig } from './config.js'

/** Named weights, float32, in Hugging Face's names. */
export type Weights = Record<string, Float32Array>

/** Name and shape of every weight of a decoder, in the order of the forward pass. Linear weights are [out, in]. */
export function parameterShapes(config: DecoderConfig): Record<string, number[]> {
  const { hiddenSize: d, intermediateSize: f, headDimension: h } = config
  const q = config.heads * h
  const kv = config.keyValueHeads * h
  const shapes: Record<string, number[]> = { 'model.embed_tokens.weight': [config.vocabularySize, d] }
  for (let i = 0; i < config.layers; i++) {
    const layer = `model.layers.${i}`
    const linear = (name: string, out: number, input: number, bias: boolean): void => {
      shapes[`${layer}.${name}.weight`] = [out, input]
      if (bias) shapes[`${layer}.${name}.bias`] = [out]
    }
    shapes[`${layer}.input_layernorm.weight`] = [d]
    linear('self_attn.q_proj', q, d, config.attentionBias)
    linear('self_attn.k_proj', kv, d, config.attentionBias)
    linear('self_attn.v_proj', kv, d, config.attentionBias)
    if (config.queryKeyNorm) {
      shapes[`${layer}.self_attn.q_norm.weight`] = [h]
      shapes[`${layer}.self_attn.k_norm.weight`] = [h]
    }
    linear('self_attn.o_proj', d, q, config.outputBias)
    shapes[`${layer}.post_attention_layernorm.weight`] = [d]
    linear('mlp.gate_proj', f, d, config.mlpBias)
    linear('mlp.up_proj', f, d, config.mlpBias)
    linear('mlp.down_proj', d, f, config.mlpBias)
  }
  shapes['model.norm.weight'] = [d]
  if (!config.tieEmbeddings) shapes['lm_head.weight'] = [config.vocabularySize, d]
  return shapes
}

/** Number of weights. */
export function parameterCount(config: DecoderConfig): number {
  return Object.values(parameterShapes(config)).reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
}

/**
 * Fresh weights: normal with standard deviation 0.02, projections back into the residual stream scaled down by
 * 1 / sqrt(2 layers) (GPT-2, Radford et al. 2019), norms 1, biases 0.
 */
export function initializeWeights(config: DecoderConfig, seed: number): Weights {
  const weights: Weights = {}
  for (const [name, shape] of Object.entries(parameterShapes(config))) {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1))
    if (/norm\.weight$/.test(name)) data.fill(1)
    else if (!name.endsWith('.bias')) {
      const random = createRandom(deriveSeed(seed, 'initialize', name))
      const residual = /o_proj|down_proj/.test(name) ? 1 / Math.sqrt(2 * config.layers) : 1
      for (let i = 0; i < data.length; i++) data[i] = random.normal() * 0.02 * residual
    }
    weights[name] = data
  }
  return weights
}
