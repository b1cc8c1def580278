import type { Rotary } from './rotary.js'

/** How a normalization reads its weight. */
export interface Norm {
  /** Root mean square (Zhang and Sennrich 2019), or mean and variance with a bias (Ba et al. 2016). */
  kind: 'rms' | 'layer'
  epsilon: number
  /** Added to the weight: Gemma stores weights less one. */
  offset: 0 | 1
}

export type Activation = 'silu' | 'gelu' | 'geluTanh' | 'relu'

/**
 * What there is to know of a decoder-only transformer besides its weights. Plain data: the same fields for every family, whose
 * structure and names of weights are in families/. Made by {@link parseDecoderConfig}.
 */
export interface DecoderConfig {
  /** The family, by Hugging Face's `model_type`. */
  modelType: string
  vocabularySize: number
  hiddenSize: number
  intermediateSize: number
  layers: number
  heads: number
  keyValueHeads: number
  headDimension: number
  /** Longest context in tokens. */
  contextLength: number
  /** The output projection is the embedding table. */
  tieEmbeddings: boolean
  norm: Norm
  /** Of the feed-forward layer. */
  activation: Activation
  /** Absent where positions are a learned table that is added to the embeddings. */
  rotary?: Rotary
  /** Of sliding layers, where it differs from that of the others. */
  localRotary?: Rotary
  /** Tokens that a sliding layer sees, itself included: position p sees p - slidingWindow + 1 to p. Absent if no layer slides. */
  slidingWindow?: number
  /** What each layer sees. */
  attention: ('full' | 'sliding')[]
  /** Biases on queries, keys and values. */
  attentionBias: boolean
  /** A bias on the attention's output projection. */
  outputBias: boolean
  /** Biases in the feed-forward layer. */
  mlpBias: boolean
  /** Attention scores are multiplied by it: 1 / sqrt(headDimension) nearly everywhere. */
  scoreScale: number
  /** Layer i divides its scores by i + 1 besides. */
  scoreScaleByLayer: boolean
  /** Scores s become cap tanh(s / cap) before the mask (Gemma 2). */
  scoreSoftCap?: number
  /** So do the logits. */
  logitSoftCap?: number
  /** Embeddings are multiplied by it. */
  embeddingScale: number
  /** Attention and feed-forward read the same input, and both are added to it (GPT-NeoX). */
  parallelResidual: boolean
}
