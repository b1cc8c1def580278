import {
  add,
  concat,
  matmul,
  mul,
  reshape,
  rmsNorm,
  rotary,
  silu,
  softmax,
  split,
  transpose,
  type Graph,
  type Tensor,
} from '../engine/index.js'
import type { DecoderConfig } from './config.js'
import { parameterShapes } from './parameters.js'

/** What one pass of the decoder reads. Dimension names: batch, time (new tokens), cache (tokens already seen). */
export interface DecoderInputs {
  /** Looked-up embeddings [batch, time, hidden]: the lookup and its gradient are plain copies and stay outside the graph. */
  embedded: Tensor
  /** Cosines and sines of the positions [batch, time, headDimension / 2]. */
  cos: Tensor
  sin: Tensor
  /** Added to the scores among the new tokens; broadcasts to [batch, 1, time, time]. 0 where a token may look, very negative elsewhere. */
  mask: Tensor
  /** Keys and values of earlier tokens, one pair a layer, [batch, keyValueHeads, cache, headDimension]. */
  past?: { keys: Tensor[]; values: Tensor[]; /** Broadcasts to [batch, 1, time, cache]. */ mask: Tensor }
}

export interface DecoderOutputs {
  /** After the final norm [batch*time, hidden]. */
  hidden: Tensor
  /** Of the new tokens, one a layer [batch, keyValueHeads, time, headDimension]. */
  keys: Tensor[]
  values: Tensor[]
}

/** Declares every weight of a decoder on a graph, by Hugging Face name. */
export function declareParameters(graph: Graph, config: DecoderConfig): Record<string, Tensor> {
  const entries = Object.entries(parameterShapes(config))
  return Object.fromEntries(entries.map(([name, shape]) => [name, graph.parameter(name, shape)]))
}

/**
 * The transformer itself, from embeddings to normalized hidden states.
 *
 * Sources: Touvron et al. 2023 (Llama), Ainslie et al. 2023 (grouped-query attention), Su et al. 2021 (rotary embedding).
 */
export function decoder(
  config: DecoderConfig,
  weights: Record<string, Tensor>,
  inputs: DecoderInputs,
): DecoderOutputs {
  const { hiddenSize, headDimension, heads, keyValueHeads } = config
  const groups = heads / keyValueHeads
  const [batch, time] = inputs.embedded.shape
  const tokens = `${batch}*${time}`
  const linear = (x: Tensor, name: string): Tensor => {
    const y = matmul(x, weights[`${name}.weight`], { transposeB: true })
    const bias = weights[`${name}.bias`]
    return bias ? add(y, bias) : y
  }
  const norm = (x: Tensor, name: string): Tensor =>
    rmsNorm(x, weights[`${name}.weight`], { epsilon: config.rmsNormEpsilon })
  const split4 = (x: Tensor, count: number): Tensor => reshape(x, [batch, time, count, headDimension])
  // Queries that share a key/value head stand beside each other: [batch, keyValueHeads, groups * time, headDimension]
  // would break the mask, so groups get an axis of their own and keys and values broadcast along it.
  const grouped = (x: Tensor): Tensor =>
    groups === 1 ? x : reshape(x, [batch, keyValueHeads, groups, time, headDimension])
  const shared = (x: Tensor): Tensor =>
    groups === 1 ? x : reshape(x, [x.shape[0], keyValueHeads, 1, x.shape[2], headDimension])
  const masked = (mask: Tensor): Tensor =>
    groups === 1 ? mask : reshape(mask, [mask.shape[0], 1, 1, mask.shape[2], mask.shape[3]])
  const scale = 1 / Math.sqrt(headDimension)

  let x = reshape(inputs.embedded, [tokens, hiddenSize])
  const keys: Tensor[] = []
  const values: Tensor[] = []
  const mask = masked(inputs.mask)
  const pastMask = inputs.past && masked(inputs.past.mask)
  for (let i = 0; i < config.layers; i++) {
    const layer = `model.layers.${i}`
    const h = norm(x, `${layer}.input_layernorm`)
    let q = split4(linear(h, `${layer}.self_attn.q_proj`), heads)
    let k = split4(linear(h, `${layer}.self_attn.k_proj`), keyValueHeads)
    const v = transpose(split4(linear(h, `${layer}.self_attn.v_proj`), keyValueHeads), [0, 2, 1, 3])
    if (config.queryKeyNorm) {
      q = norm(q, `${layer}.self_attn.q_norm`)
      k = norm(k, `${layer}.self_attn.k_norm`)
    }
    q = rotary(transpose(q, [0, 2, 1, 3]), inputs.cos, inputs.sin)
    k = rotary(transpose(k, [0, 2, 1, 3]), inputs.cos, inputs.sin)
    keys.push(k)
    values.push(v)
    const query = grouped(q)
    const scores = add(matmul(query, shared(k), { transposeB: true, alpha: scale }), mask)
    let mixed: Tensor
    if (inputs.past && pastMask) {
      const pastKeys = inputs.past.keys[i]
      const cache = pastKeys.shape[2]
      const earlier = add(matmul(query, shared(pastKeys), { transposeB: true, alpha: scale }), pastMask)
      const axis = scores.shape.length - 1
      const attention = softmax(concat([earlier, scores], { axis }), { axis })
      const [toPast, toNew] = split(attention, { axis, sizes: [cache, time] })
      mixed = add(matmul(toPast, shared(inputs.past.values[i])), matmul(toNew, shared(v)))
    } else {
      mixed = matmul(softmax(scores, { axis: -1 }), shared(v))
    }
    const perHead = groups === 1 ? mixed : reshape(mixed, [batch, heads, time, headDimension])
    const joined = reshape(transpose(perHead, [0, 2, 1, 3]), [tokens, heads * headDimension])
    x = add(x, linear(joined, `${layer}.self_attn.o_proj`))
    const m = norm(x, `${layer}.post_attention_layernorm`)
    const gated = mul(silu(linear(m, `${layer}.mlp.gate_proj`)), linear(m, `${layer}.mlp.up_proj`))
    x = add(x, linear(gated, `${layer}.mlp.down_proj`))
  }
  return { hidden: norm(x, 'model.norm'), keys, values }
}

/** Vocabulary scores of hidden states: [n, hidden] -> [n, vocabulary]. */
export function logits(config: DecoderConfig, weights: Record<string, Tensor>, hidden: Tensor): Tensor {
  const table = config.tieEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'
  return matmul(hidden, weights[table], { transposeB: true })
}

/** Cosine and sine tables of rotary positions 0..length-1, each [length, headDimension / 2]. */
export function rotaryTables(config: DecoderConfig, length: number): { cos: Float32Array; sin: Float32Array } {
  const half = config.headDimension / 2
  const cos = new Float32Array(length * half)
  const sin = new Float32Array(length * half)
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * config.ropeTheta ** (-i / half)
      cos[position * half + i] = Math.cos(angle)
      sin[position * half + i] = Math.sin(angle)
    }
  }
  return { cos, sin }
}
