/** A prefix made by a small network while it is trained (Li and Liang 2021, section 4.3), which is steadier to train. */
import { createRandom, deriveSeed } from '../../core/index.js'
import { add, matmul, tanh, type Tensor } from '../../engine/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'

/** Names of PEFT's `PrefixEncoder`, which are those of its modules. */
const names = {
  table: 'prompt_encoder.embedding.weight',
  inner: 'prompt_encoder.transform.0.weight',
  innerBias: 'prompt_encoder.transform.0.bias',
  outer: 'prompt_encoder.transform.2.weight',
  outerBias: 'prompt_encoder.transform.2.bias',
} as const

/** Where {@link projectionShapes} has the network's hidden size. */
export const innerWeight: string = names.inner

/** Name and shape of the weights in a prefix's place: its embeddings, and a network from each to all keys and values. */
export function projectionShapes(config: DecoderConfig, tokens: number, hidden: number): Record<string, number[]> {
  const width = config.keyValueHeads * config.headDimension
  return {
    [names.table]: [tokens, width],
    [names.inner]: [hidden, width],
    [names.innerBias]: [hidden],
    [names.outer]: [config.layers * 2 * width, hidden],
    [names.outerBias]: [config.layers * 2 * width],
  }
}

/** Embeddings from a standard normal distribution and layers as torch draws them, the last one small: so is the prefix. */
export function initializeProjection(config: DecoderConfig, tokens: number, hidden: number, seed: number): Weights {
  const shapes = projectionShapes(config, tokens, hidden)
  const spread: Record<string, number> = {
    [names.inner]: 1 / Math.sqrt(shapes[names.inner][1]),
    [names.innerBias]: 1 / Math.sqrt(shapes[names.inner][1]),
    [names.outer]: 0.05 / Math.sqrt(hidden),
    [names.outerBias]: 0.05 / Math.sqrt(hidden),
  }
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const random = createRandom(deriveSeed(seed, 'adapter', name))
    const draw = name === names.table ? () => random.normal() : () => (random.uniform() * 2 - 1) * spread[name]
    return [name, Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, draw)]
  })
  return Object.fromEntries(entries) as Weights
}

/** The prefix: W₂ tanh(W₁ e + b₁) + b₂ of each embedding e. [tokens, layers * 2 * keyValueHeads * headDimension] */
export function projectedPrefix(parameters: Record<string, Tensor>): Tensor {
  const inner = matmul(parameters[names.table], parameters[names.inner], { transposeB: true })
  const hidden = tanh(add(inner, parameters[names.innerBias]))
  return add(matmul(hidden, parameters[names.outer], { transposeB: true }), parameters[names.outerBias])
}

/** The same numbers outside of a graph: what is written for PEFT, and for whoever only uses the prefix. */
export function projectPrefix(config: DecoderConfig, tokens: number, hidden: number, weights: Weights): Float32Array {
  const width = config.keyValueHeads * config.headDimension
  const inner = affine(weights[names.table], weights[names.inner], weights[names.innerBias], tokens, width)
  return affine(inner.map(Math.tanh), weights[names.outer], weights[names.outerBias], tokens, hidden)
}

/** x Wᵀ + b of x [rows, width]. */
function affine(x: Float32Array, weight: Float32Array, bias: Float32Array, rows: number, width: number): Float32Array {
  const out = bias.length
  const y = new Float32Array(rows * out)
  for (let row = 0; row < rows; row++)
    for (let o = 0; o < out; o++) {
      let sum = bias[o]
      for (let i = 0; i < width; i++) sum += x[row * width + i] * weight[o * width + i]
      y[row * out + o] = sum
    }
  return y
}
