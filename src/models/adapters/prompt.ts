import { z } from 'zod'
import { createRandom, deriveSeed, MyriadError, type Random } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import { copyRows, embeddingTables } from '../embedding.js'
import type { Weights } from '../parameters.js'
import { usableContext } from '../rotary.js'
import { initializeProjection, projectionShapes } from './projection.js'

/** A soft prompt (Lester et al. 2021, https://arxiv.org/abs/2104.08691): embeddings of virtual tokens before every sequence. */
export const promptSchema = z.strictObject({
  kind: z.literal('prompt'),
  /** How many virtual tokens. */
  tokens: z.int().min(1).default(8),
  /**
   * What they begin as: embeddings of tokens drawn from the vocabulary, normal numbers spread as the model's own embeddings,
   * or the embeddings of a text's ids, over again or cut off until there are enough.
   */
  init: z.union([z.enum(['vocabulary', 'random']), z.array(z.int().min(0)).min(1)]).default('vocabulary'),
})

/** A prefix (Li and Liang 2021, https://arxiv.org/abs/2101.00190): keys and values of virtual tokens before every sequence, in every layer. */
export const prefixSchema = z.strictObject({
  kind: z.literal('prefix'),
  tokens: z.int().min(1).default(8),
  /**
   * Train a network of this hidden size that makes the prefix out of embeddings, which is steadier than training keys and
   * values themselves.
   */
  projection: z.int().min(1).optional(),
})

export type PromptConfig = z.output<typeof promptSchema>
export type PrefixConfig = z.output<typeof prefixSchema>

/** The one weight of either, by PEFT's name; a projected prefix has others in its place. */
export const promptWeight = 'prompt_embeddings'

/**
 * Refuses a model that virtual tokens are not defined for here.
 *
 * @throws MyriadError 'usage'
 */
export function requirePromptable(config: DecoderConfig, adapter: PromptConfig | PrefixConfig): void {
  const refuse = (why: string): never => {
    throw new MyriadError('usage', `adapter: a ${adapter.kind} cannot be trained on this ${config.modelType}: ${why}`)
  }
  if (config.slidingWindow !== undefined)
    refuse('its layers see a window only, which the virtual tokens would soon leave; train a "lora"')
  if (config.embeddingScale !== 1) refuse('it scales its embeddings; train a "lora"')
  const context = usableContext(config)
  if (adapter.tokens >= context) refuse(`${adapter.tokens} virtual tokens leave nothing of its context of ${context}`)
}

/**
 * A prompt is [tokens, hidden]; a prefix [tokens, layers * 2 * keyValueHeads * headDimension], a layer's keys before its values,
 * or the weights of the network that makes it.
 */
export function promptShapes(config: DecoderConfig, adapter: PromptConfig | PrefixConfig): Record<string, number[]> {
  requirePromptable(config, adapter)
  if (adapter.kind === 'prefix' && adapter.projection !== undefined)
    return projectionShapes(config, adapter.tokens, adapter.projection)
  const { hiddenSize, layers, keyValueHeads, headDimension } = config
  const width = adapter.kind === 'prompt' ? hiddenSize : layers * 2 * keyValueHeads * headDimension
  return { [promptWeight]: [adapter.tokens, width] }
}

/**
 * New virtual tokens. Those of a prefix begin small: PEFT draws keys and values from a standard normal distribution, which
 * takes the model further from what it was.
 *
 * @param base the model's weights, read for a prompt only
 */
export function initializePrompt(
  config: DecoderConfig,
  adapter: PromptConfig | PrefixConfig,
  seed: number,
  base: Weights,
): Weights {
  if (adapter.kind === 'prefix' && adapter.projection !== undefined) {
    requirePromptable(config, adapter)
    return initializeProjection(config, adapter.tokens, adapter.projection, seed)
  }
  const [tokens, width] = promptShapes(config, adapter)[promptWeight]
  const random = createRandom(deriveSeed(seed, 'adapter', adapter.kind))
  const data = new Float32Array(tokens * width)
  if (adapter.kind === 'prefix') return { [promptWeight]: data.map(() => random.normal() * 0.02) }
  const table = base[embeddingTables(config).tokens]
  if (adapter.init === 'random') {
    const spread = Math.sqrt(table.reduce((sum, value) => sum + value * value, 0) / table.length)
    return { [promptWeight]: data.map(() => random.normal() * spread) }
  }
  copyRows(table, initialIds(config, tokens, adapter.init, random), data)
  return { [promptWeight]: data }
}

/**
 * Refuses a prompt that is to begin as tokens the vocabulary has not.
 *
 * @throws MyriadError 'usage'
 */
export function requireInitialIds({ vocabularySize }: DecoderConfig, { init }: PromptConfig): void {
  const bad = typeof init === 'string' ? undefined : init.find((id) => id >= vocabularySize)
  if (bad !== undefined)
    throw new MyriadError('usage', `adapter: init names token ${bad}, outside the vocabulary of ${vocabularySize}`)
}

function initialIds(
  { vocabularySize }: DecoderConfig,
  count: number,
  init: 'vocabulary' | readonly number[],
  random: Random,
): number[] {
  if (init === 'vocabulary') return Array.from({ length: count }, () => random.integer(0, vocabularySize - 1))
  return Array.from({ length: count }, (_, i) => init[i % init.length])
}
