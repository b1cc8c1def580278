/** Parts of a transformer as graph code, for decoders and encoders. */
import {
  add,
  concat,
  gelu,
  layerNorm,
  matmul,
  mul,
  relu,
  reshape,
  rmsNorm,
  rotary,
  silu,
  softmax,
  split,
  tanh,
  transpose,
  type Tensor,
} from '../engine/index.js'
import type { Activation, Norm } from './decoder-config.js'

/**
 * Takes the place of a linear layer's product: called with the module's name (`model.layers.0.self_attn.q_proj`), its input
 * x [tokens, in] and product = x Wᵀ [tokens, out] before the bias is added, it answers what the layer goes on with.
 */
export type Adapt = (module: string, x: Tensor, product: Tensor) => Tensor

/** Cosines and sines of the positions, each [batch, time, rotaryDimension / 2]. */
export interface Rotation {
  cos: Tensor
  sin: Tensor
}

/** The weights that parts are looked up in by name, and what may replace a product. */
export interface Parts {
  weights: Record<string, Tensor>
  adapt?: Adapt
  /** Weights are stored [in, out]. */
  transposed?: boolean
}

/** The linear layer `name`: x [tokens, in] to [tokens, out]. */
export function linear({ weights, adapt, transposed }: Parts, x: Tensor, name: string): Tensor {
  const product = matmul(x, weights[`${name}.weight`], { transposeB: !transposed })
  const y = adapt ? adapt(name, x, product) : product
  const bias = weights[`${name}.bias`]
  return bias ? add(y, bias) : y
}

/** The normalization `name` over the last axis. */
export function normalize({ weights }: Parts, norm: Norm, x: Tensor, name: string): Tensor {
  const stored = weights[`${name}.weight`]
  const weight = norm.offset === 0 ? stored : add(stored, norm.offset)
  return norm.kind === 'rms'
    ? rmsNorm(x, weight, { epsilon: norm.epsilon })
    : layerNorm(x, weight, weights[`${name}.bias`], { epsilon: norm.epsilon })
}

/** An element-wise function by name. */
export function activate(activation: Activation, x: Tensor): Tensor {
  switch (activation) {
    case 'silu':
      return silu(x)
    case 'gelu':
      return gelu(x)
    case 'geluTanh':
      return gelu(x, { approximate: 'tanh' })
    case 'relu':
      return relu(x)
  }
}

/** cap tanh(x / cap); x without a cap. */
export function softCap(x: Tensor, cap: number | undefined): Tensor {
  return cap === undefined ? x : mul(tanh(mul(x, 1 / cap)), cap)
}

/** Rotates the leading dimensions of each head, as many as the tables have: x [batch, heads, time, width]. */
export function rotate(x: Tensor, { cos, sin }: Rotation): Tensor {
  const width = x.shape[3] as number
  const rotated = 2 * (cos.shape[2] as number)
  if (rotated === width) return rotary(x, cos, sin)
  const [turned, kept] = split(x, { axis: 3, sizes: [rotated, width - rotated] })
  return concat([rotary(turned, cos, sin), kept], { axis: 3 })
}

/** [batch * time, heads * width] to [batch, time, heads, width]. */
export function splitHeads(x: Tensor, [batch, time]: Tensor['shape'], heads: number, width: number): Tensor {
  return reshape(x, [batch, time, heads, width])
}

export interface AttentionInputs {
  /** [batch, heads, time, width] */
  query: Tensor
  /** [batch, keyValueHeads, time, width] */
  key: Tensor
  value: Tensor
  /** Added to the scores; broadcasts to [batch, 1, time, time]. */
  mask: Tensor
  /** Of tokens before these: [batch, keyValueHeads, cache, width], the mask broadcasts to [batch, 1, time, cache]. */
  past?: { key: Tensor; value: Tensor; mask: Tensor }
  scale: number
  softCap?: number
}

/**
 * Attention of grouped query heads (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245): answers [batch * time, heads * width].
 */
export function attention(inputs: AttentionInputs): Tensor {
  const [batch, heads, time, width] = inputs.query.shape
  const keyValueHeads = inputs.key.shape[1] as number
  const groups = (heads as number) / keyValueHeads
  // Queries that share a key/value head stand beside each other: [batch, keyValueHeads, groups * time, headDimension]
  // would break the mask, so groups get an axis of their own and keys and values broadcast along it.
  const shared = (x: Tensor): Tensor =>
    groups === 1 ? x : reshape(x, [x.shape[0], keyValueHeads, 1, x.shape[2], width])
  const masked = (mask: Tensor): Tensor =>
    groups === 1 ? mask : reshape(mask, [mask.shape[0], 1, 1, mask.shape[2], mask.shape[3]])
  const query = groups === 1 ? inputs.query : reshape(inputs.query, [batch, keyValueHeads, groups, time, width])
  const scoresOf = (key: Tensor, mask: Tensor): Tensor => {
    const scores = matmul(query, shared(key), { transposeB: true, alpha: inputs.scale })
    return add(softCap(scores, inputs.softCap), masked(mask))
  }
  const { past } = inputs
  const scores = scoresOf(inputs.key, inputs.mask)
  let mixed: Tensor
  if (past) {
    const axis = scores.shape.length - 1
    const weights = softmax(concat([scoresOf(past.key, past.mask), scores], { axis }), { axis })
    const [toPast, toNew] = split(weights, { axis, sizes: [past.key.shape[2], time] })
    mixed = add(matmul(toPast, shared(past.value)), matmul(toNew, shared(inputs.value)))
  } else {
    mixed = matmul(softmax(scores, { axis: -1 }), shared(inputs.value))
  }
  const perHead = groups === 1 ? mixed : reshape(mixed, [batch, heads, time, width])
  return reshape(transpose(perHead, [0, 2, 1, 3]), [`${batch}*${time}`, (heads as number) * (width as number)])
}
