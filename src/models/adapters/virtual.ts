import { add, causalMask, constant, reshape, slice, split, transpose, zeros, type Tensor } from '../../engine/index.js'
import type { Rotation } from '../blocks.js'
import type { DecoderConfig } from '../decoder-config.js'
import { decoder, type DecoderInputs } from '../decoder.js'
import { embeddingTables } from '../embedding.js'
import { positionTables } from '../rotary.js'
import type { AdapterConfig } from './config.js'
import { projectedPrefix } from './projection.js'
import { promptWeight, requirePromptable, type PrefixConfig, type PromptConfig } from './prompt.js'

/** Virtual tokens before every sequence: its own positions begin at this number. 0 with other adapters or none. */
export function virtualTokens(adapter: AdapterConfig | undefined): number {
  return adapter === undefined || adapter.kind === 'lora' ? 0 : adapter.tokens
}

/**
 * The keys and values of the virtual tokens, [1, keyValueHeads, tokens, headDimension] for each layer, as a past that every
 * sequence of a batch sees: `decoder(config, weights, { ...inputs, past })`. A prompt is run through the model, once for all
 * rows; a prefix is its weight in another shape.
 *
 * @example
 * const own = declareAdapter(graph, adapterShapes(config, adapter))
 * const past = virtualPast({ config, adapter, parameters: own, baseWeights: weights })
 */
export function virtualPast(options: {
  config: DecoderConfig
  adapter: PromptConfig | PrefixConfig
  parameters: Record<string, Tensor>
  baseWeights: Record<string, Tensor>
}): NonNullable<DecoderInputs['past']> {
  const { config, adapter, baseWeights } = options
  requirePromptable(config, adapter)
  const weight =
    adapter.kind === 'prefix' && adapter.projection !== undefined
      ? projectedPrefix(options.parameters)
      : options.parameters[promptWeight]
  const mask = zeros(weight.graph, [1, 1, 1, adapter.tokens])
  if (adapter.kind === 'prefix') return { ...prefixPast(config, weight, adapter.tokens), mask }
  const { keys, values } = decoder(config, baseWeights, promptInputs(config, weight, adapter.tokens, baseWeights))
  return { keys, values, mask }
}

/** PEFT's layout: [tokens, layers, key and value, heads, width]. */
function prefixPast(config: DecoderConfig, weight: Tensor, tokens: number): { keys: Tensor[]; values: Tensor[] } {
  const { layers, keyValueHeads, headDimension } = config
  const perLayer = transpose(reshape(weight, [tokens, 2 * layers, keyValueHeads, headDimension]), [1, 2, 0, 3])
  const pieces = split(perLayer, { axis: 0, sizes: Array.from({ length: 2 * layers }, () => 1) })
  return { keys: pieces.filter((_, i) => i % 2 === 0), values: pieces.filter((_, i) => i % 2 === 1) }
}

/** A sequence of the virtual tokens alone, at positions 0 to tokens - 1. */
function promptInputs(
  config: DecoderConfig,
  weight: Tensor,
  tokens: number,
  baseWeights: Record<string, Tensor>,
): DecoderInputs {
  const { graph } = weight
  const { positions } = embeddingTables(config)
  const placed = positions ? add(weight, slice(baseWeights[positions], { axis: 0, end: tokens })) : weight
  const rotation = (cos: Float32Array | undefined, sin: Float32Array | undefined): Rotation | undefined => {
    if (!cos || !sin) return undefined
    const shape = [1, tokens, cos.length / tokens]
    return { cos: constant(graph, cos, shape), sin: constant(graph, sin, shape) }
  }
  const tables = positionTables(config, tokens)
  return {
    embedded: reshape(placed, [1, tokens, config.hiddenSize]),
    rotary: rotation(tables.cos, tables.sin),
    localRotary: rotation(tables.localCos, tables.localSin),
    mask: reshape(causalMask(graph, tokens), [1, 1, tokens, tokens]),
  }
}
