import { z } from 'zod'
import { defineFamily } from './family.js'
import { activationOf, activationToJson, dividedHead, fullAttention, size } from './fields.js'
import { plainSwitches } from './llama.js'
import { ropeFields, ropeToJson, rotaryOf, rotatedFraction } from './rope-fields.js'

/**
 * GPT-NeoX and Pythia: attention and feed-forward side by side, a quarter of each head rotated, LayerNorm
 * (https://arxiv.org/abs/2204.06745).
 */
export const gptNeox = defineFamily({
  modelType: 'gpt_neox',
  architecture: 'GPTNeoXForCausalLM',
  names: {
    tokens: 'gpt_neox.embed_in',
    layers: 'gpt_neox.layers',
    attentionNorm: 'input_layernorm',
    queryKeyValue: { kind: 'interleaved', fused: 'attention.query_key_value' },
    attentionOutput: 'attention.dense',
    feedForwardNorm: 'post_attention_layernorm',
    feedForward: { kind: 'plain', up: 'mlp.dense_h_to_4h', down: 'mlp.dense_4h_to_h' },
    finalNorm: 'gpt_neox.final_layer_norm',
    head: 'embed_out',
  },
  schema: z.looseObject({
    ...ropeFields,
    vocab_size: size,
    hidden_size: size,
    intermediate_size: size,
    num_hidden_layers: size,
    num_attention_heads: size,
    max_position_embeddings: size,
    layer_norm_eps: z.number().positive().default(1e-5),
    hidden_act: z.string().default('gelu'),
    use_parallel_residual: z.boolean().default(true),
    attention_bias: z.boolean().default(true),
    tie_word_embeddings: z.boolean().default(false),
    rotary_pct: z.number().positive().max(1).default(0.25),
    rotary_emb_base: z.number().positive().nullish(),
  }),
  config: (file, where) => {
    const headDimension = dividedHead(file.hidden_size, file.num_attention_heads, where)
    const rotary = rotaryOf(file, {
      headDimension,
      contextLength: file.max_position_embeddings,
      where,
      theta: file.rotary_emb_base ?? undefined,
      fraction: file.rotary_pct,
      partial: true,
    })
    return {
      vocabularySize: file.vocab_size,
      hiddenSize: file.hidden_size,
      intermediateSize: file.intermediate_size,
      layers: file.num_hidden_layers,
      heads: file.num_attention_heads,
      keyValueHeads: file.num_attention_heads,
      headDimension,
      contextLength: file.max_position_embeddings,
      tieEmbeddings: file.tie_word_embeddings,
      ...plainSwitches(headDimension),
      norm: { kind: 'layer', epsilon: file.layer_norm_eps, offset: 0 },
      activation: activationOf('hidden_act', file.hidden_act, where),
      rotary,
      attention: fullAttention(file.num_hidden_layers),
      attentionBias: file.attention_bias,
      outputBias: file.attention_bias,
      mlpBias: true,
      parallelResidual: file.use_parallel_residual,
    }
  },
  toJson: (config) => {
    const { rope_theta, ...scaling } = ropeToJson(config.rotary!)
    return {
      vocab_size: config.vocabularySize,
      hidden_size: config.hiddenSize,
      intermediate_size: config.intermediateSize,
      num_hidden_layers: config.layers,
      num_attention_heads: config.heads,
      max_position_embeddings: config.contextLength,
      layer_norm_eps: config.norm.epsilon,
      hidden_act: activationToJson(config.activation),
      use_parallel_residual: config.parallelResidual,
      attention_bias: config.attentionBias,
      tie_word_embeddings: config.tieEmbeddings,
      rotary_pct: rotatedFraction(config.rotary!, config.headDimension),
      rotary_emb_base: rope_theta,
      ...scaling,
    }
  },
})
