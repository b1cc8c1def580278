import { createRandom, deriveSeed } from '../core/index.js'
import type { DecoderConfig } from './decoder-config.js'
import { familyOf } from './families/index.js'

/** Named weights, float32, in Hugging Face's names. */
export type Weights = Record<string, Float32Array>

/** A linear layer: y = x Wᵀ + b. */
export interface LinearModule {
  /** Hugging Face's name of the module. */
  name: string
  in: number
  out: number
  /** The weight is stored [in, out], not [out, in]. */
  transposed: boolean
}

/** A weight: `table` is looked up, `residual` projects back into the residual stream. */
export interface Parameter {
  name: string
  shape: number[]
  kind: 'table' | 'linear' | 'residual' | 'norm' | 'bias'
}

interface Parts {
  parameters: Parameter[]
  linear: LinearModule[]
}

function partsOf(config: DecoderConfig): Parts {
  const { names } = familyOf(config)
  const { hiddenSize: d, intermediateSize: f, headDimension: h, norm } = config
  const q = config.heads * h
  const kv = config.keyValueHeads * h
  const transposed = names.transposed ?? false
  const parameters: Parameter[] = []
  const linear: LinearModule[] = []
  const add = (name: string, shape: number[], kind: Parameter['kind']): void => {
    parameters.push({ name, shape, kind })
  }
  const addNorm = (name: string, width: number): void => {
    add(`${name}.weight`, [width], 'norm')
    if (norm.kind === 'layer') add(`${name}.bias`, [width], 'bias')
  }
  const addLinear = (name: string, out: number, input: number, bias: boolean, kind: 'linear' | 'residual'): void => {
    linear.push({ name, in: input, out, transposed })
    add(`${name}.weight`, transposed ? [input, out] : [out, input], kind)
    if (bias) add(`${name}.bias`, [out], 'bias')
  }

  add(`${names.tokens}.weight`, [config.vocabularySize, d], 'table')
  if (names.positions) add(`${names.positions}.weight`, [config.contextLength, d], 'table')
  const { queryKeyValue, feedForward } = names
  for (let i = 0; i < config.layers; i++) {
    const layer = (name: string): string => `${names.layers}.${i}.${name}`
    addNorm(layer(names.attentionNorm), d)
    if (queryKeyValue.kind === 'separate') {
      addLinear(layer(queryKeyValue.query), q, d, config.attentionBias, 'linear')
      addLinear(layer(queryKeyValue.key), kv, d, config.attentionBias, 'linear')
      addLinear(layer(queryKeyValue.value), kv, d, config.attentionBias, 'linear')
    } else addLinear(layer(queryKeyValue.fused), q + 2 * kv, d, config.attentionBias, 'linear')
    if (names.queryNorm) addNorm(layer(names.queryNorm), h)
    if (names.keyNorm) addNorm(layer(names.keyNorm), h)
    addLinear(layer(names.attentionOutput), d, q, config.outputBias, 'residual')
    if (names.attentionOutputNorm) addNorm(layer(names.attentionOutputNorm), d)
    addNorm(layer(names.feedForwardNorm), d)
    if (feedForward.kind === 'gated') addLinear(layer(feedForward.gate), f, d, config.mlpBias, 'linear')
    if (feedForward.kind === 'stacked') addLinear(layer(feedForward.gateUp), 2 * f, d, config.mlpBias, 'linear')
    else addLinear(layer(feedForward.up), f, d, config.mlpBias, 'linear')
    addLinear(layer(feedForward.down), d, f, config.mlpBias, 'residual')
    if (names.feedForwardOutputNorm) addNorm(layer(names.feedForwardOutputNorm), d)
  }
  addNorm(names.finalNorm, d)
  linear.push({ name: names.head, in: d, out: config.vocabularySize, transposed: false })
  if (!config.tieEmbeddings) add(`${names.head}.weight`, [config.vocabularySize, d], 'linear')
  return { parameters, linear }
}

/** Every weight of a decoder, in the order of the forward pass. */
export function parametersOf(config: DecoderConfig): Parameter[] {
  return partsOf(config).parameters
}

/**
 * Every linear layer, in the order of the forward pass, the projection to the vocabulary last (also where it shares the
 * embedding table).
 */
export function linearModules(config: DecoderConfig): LinearModule[] {
  return partsOf(config).linear
}

/** Name and shape of every weight of a decoder, in the order of the forward pass. */
export function parameterShapes(config: DecoderConfig): Record<string, number[]> {
  return Object.fromEntries(parametersOf(config).map(({ name, shape }) => [name, shape]))
}

/** Number of weights. */
export function parameterCount(config: DecoderConfig): number {
  return parametersOf(config).reduce((sum, { shape }) => sum + sizeOf(shape), 0)
}

/**
 * Fresh weights: normal with standard deviation 0.02, projections back into the residual stream scaled down by
 * 1 / sqrt(2 layers) (GPT-2, Radford et al. 2019), norms 1, biases 0.
 */
export function initializeWeights(config: DecoderConfig, seed: number): Weights {
  const residual = 1 / Math.sqrt(2 * config.layers)
  return initialize(parametersOf(config), seed, { norm: 1 - config.norm.offset, residual })
}

/** Fresh values by kind of weight: what norms hold, and what residual projections are scaled by. */
export function initialize(
  parameters: readonly Parameter[],
  seed: number,
  values: { norm: number; residual: number },
): Weights {
  const weights: Weights = {}
  for (const { name, shape, kind } of parameters) {
    const data = new Float32Array(sizeOf(shape))
    if (kind === 'norm') data.fill(values.norm)
    else if (kind !== 'bias') {
      const random = createRandom(deriveSeed(seed, 'initialize', name))
      const scale = kind === 'residual' ? values.residual : 1
      for (let i = 0; i < data.length; i++) data[i] = random.normal() * 0.02 * scale
    }
    weights[name] = data
  }
  return weights
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1)
}
