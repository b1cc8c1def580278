/** What every kind of adapter has: weights by name, a beginning, and a place on a graph. */
import type { Graph, Tensor } from '../../engine/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'
import { requirePatternsMatch, type AdapterConfig } from './config.js'
import { initializeLora, loraShapes } from './lora.js'
import { initializePrompt, promptShapes, requireInitialIds } from './prompt.js'

/** Name and shape of every weight of an adapter: PEFT's names without their prefix `base_model.model.`. */
export function adapterShapes(config: DecoderConfig, adapter: AdapterConfig): Record<string, number[]> {
  return adapter.kind === 'lora' ? loraShapes(config, adapter) : promptShapes(config, adapter)
}

/**
 * Refuses a new adapter that does not go with the model, without reading its weights.
 *
 * @throws MyriadError 'usage': targets or patterns that name no layer, ids outside the vocabulary, a model that virtual tokens
 *   are not defined for
 */
export function requireFitting(config: DecoderConfig, adapter: AdapterConfig): void {
  adapterShapes(config, adapter)
  if (adapter.kind === 'lora') requirePatternsMatch(config, adapter)
  if (adapter.kind === 'prompt') requireInitialIds(config, adapter)
}

/**
 * The weights of a new adapter. A low-rank one changes nothing yet; virtual tokens do from the beginning.
 *
 * @param base the model's weights; read for DoRA, and for a prompt that begins as tokens of the vocabulary
 */
export function initializeAdapter(config: DecoderConfig, adapter: AdapterConfig, seed: number, base: Weights): Weights {
  requireFitting(config, adapter)
  return adapter.kind === 'lora'
    ? initializeLora(config, adapter, seed, base)
    : initializePrompt(config, adapter, seed, base)
}

/** Declares an adapter's weights on a graph. */
export function declareAdapter(graph: Graph, shapes: Record<string, number[]>): Record<string, Tensor> {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, graph.parameter(name, shape)]))
}
