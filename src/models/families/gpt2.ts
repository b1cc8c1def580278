import { z } from 'zod'
import { defineFamily } from './family.js'
import { activationOf, activationToJson, dividedHead, fullAttention, size } from './fields.js'
import { plainSwitches } from './llama.js'

/**
 * GPT-2: learned positions, LayerNorm, one projection for queries, keys and values, weights stored [in, out] (Radford et al. 2019).
 * `reorder_and_upcast_attn` changes rounding in half precision only; `summary_*` is not about the language model.
 */
export const gpt2 = defineFamily({
  modelType: 'gpt2',
  architecture: 'GPT2LMHeadModel',
  names: {
    tokens: 'transformer.wte',
    positions: 'transformer.wpe',
    layers: 'transformer.h',
    attentionNorm: 'ln_1',
    queryKeyValue: { kind: 'stacked', fused: 'attn.c_attn' },
    attentionOutput: 'attn.c_proj',
    feedForwardNorm: 'ln_2',
    feedForward: { kind: 'plain', up: 'mlp.c_fc', down: 'mlp.c_proj' },
    finalNorm: 'transformer.ln_f',
    head: 'lm_head',
    transposed: true,
  },
  schema: z.looseObject({
    vocab_size: size,
    n_embd: size,
    n_layer: size,
    n_head: size,
    n_positions: size,
    n_inner: size.nullish(),
    activation_function: z.string().default('gelu_new'),
    layer_norm_epsilon: z.number().positive().default(1e-5),
    scale_attn_weights: z.boolean().default(true),
    scale_attn_by_inverse_layer_idx: z.boolean().default(false),
    tie_word_embeddings: z.boolean().default(true),
  }),
  config: (file, where) => {
    const headDimension = dividedHead(file.n_embd, file.n_head, where)
    return {
      vocabularySize: file.vocab_size,
      hiddenSize: file.n_embd,
      intermediateSize: file.n_inner ?? 4 * file.n_embd,
      layers: file.n_layer,
      heads: file.n_head,
      keyValueHeads: file.n_head,
      headDimension,
      contextLength: file.n_positions,
      tieEmbeddings: file.tie_word_embeddings,
      ...plainSwitches(headDimension),
      norm: { kind: 'layer', epsilon: file.layer_norm_epsilon, offset: 0 },
      activation: activationOf('activation_function', file.activation_function, where),
      attention: fullAttention(file.n_layer),
      attentionBias: true,
      outputBias: true,
      mlpBias: true,
      scoreScale: file.scale_attn_weights ? 1 / Math.sqrt(headDimension) : 1,
      scoreScaleByLayer: file.scale_attn_by_inverse_layer_idx,
    }
  },
  toJson: (config) => ({
    vocab_size: config.vocabularySize,
    n_embd: config.hiddenSize,
    n_layer: config.layers,
    n_head: config.heads,
    n_positions: config.contextLength,
    n_inner: config.intermediateSize,
    activation_function: config.activation === 'geluTanh' ? 'gelu_new' : activationToJson(config.activation),
    layer_norm_epsilon: config.norm.epsilon,
    scale_attn_weights: config.headDimension === 1 || config.scoreScale !== 1,
    scale_attn_by_inverse_layer_idx: config.scoreScaleByLayer,
    tie_word_embeddings: config.tieEmbeddings,
  }),
})
