import { MyriadError } from '../../core/index.js'

/**
 * Fields of config.json that change the computation in some architecture, with the values that do not. A family that reads a
 * field answers for it itself; in any other, another value is refused rather than ignored. null never changes anything.
 *
 * Fields that are in no list say nothing about the computation here: names, dtypes, token ids, how weights were first drawn,
 * caching, and the rates of dropout, which transformers applies in its training mode only and which we do not apply.
 */
const neutral: Record<string, readonly unknown[]> = {
  is_encoder_decoder: [false],
  add_cross_attention: [false],
  use_bidirectional_attention: [false],
  quantization_config: [],
  vision_config: [],
  text_config: [],
  // Attention
  attention_bias: [false],
  sliding_window: [],
  use_sliding_window: [false],
  layer_types: [],
  attn_logit_softcapping: [],
  query_pre_attn_scalar: [],
  attention_multiplier: [1],
  clip_qkv: [],
  qk_layernorm: [false],
  use_qk_norm: [false],
  attention_chunk_size: [],
  attn_temperature_tuning: [false],
  multi_query: [false],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  // Positions
  partial_rotary_factor: [1],
  rotary_pct: [1],
  rope_interleaved: [false],
  no_rope_layers: [],
  no_rope_layer_interval: [],
  alibi: [false],
  position_embedding_type: ['absolute'],
  // Feed-forward
  mlp_bias: [false],
  parallel_attn: [false],
  use_parallel_residual: [false],
  num_experts: [0, 1],
  num_local_experts: [0, 1],
  n_routed_experts: [0],
  enable_moe_block: [false],
  // Scales
  final_logit_softcapping: [],
  embedding_multiplier: [1],
  residual_multiplier: [1],
  logits_scaling: [1],
  logit_scale: [1],
  scale_depth: [],
  scale_emb: [1],
}

/** @throws MyriadError 'checkpoint' naming a field that this family does not read and whose value is not neutral */
export function refuseForeignFields(file: Record<string, unknown>, read: readonly string[], where: string): void {
  for (const [field, values] of Object.entries(neutral)) {
    const value = file[field]
    if (value === undefined || value === null || read.includes(field) || values.includes(value)) continue
    const shown = JSON.stringify(value)
    throw new MyriadError(
      'checkpoint',
      `${where}: "${field}" is ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}, which is not supported for model type "${String(file['model_type'])}"`,
    )
  }
}
