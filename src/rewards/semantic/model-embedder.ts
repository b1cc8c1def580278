import { type Embedder } from './embedder.js'
import type { TokenRow } from './special-tokens.js'
import { finishVector, poolStates, readSentenceConfig, type Pooling, type SentenceConfig } from './sentence-config.js'
import { idsOf, openTextModel, type TextModel, type TextModelOptions } from './text-model.js'
import type { Vector } from './vectors.js'

export interface ModelEmbedderOptions extends TextModelOptions {
  /** What the folder says; without a say, mean of an encoder's states and the last of a decoder's. */
  pooling?: Pooling
  /** Vectors of length 1; what the folder says, else true. */
  normalize?: boolean
  /** The last unless given. */
  layer?: number
  /** Most tokens of a text, special ones included; what the folder says, else what the model can read. */
  maxTokens?: number
  /** Stands before every text, as E5 has "query: ". */
  prefix?: string
}

/** An embedder that also reads two texts together, as a cross-encoder does. */
export interface ModelEmbedder extends Embedder {
  readonly model: TextModel
  /**
   * Of each pair one vector; what is too long is cut as {@link pairRow} cuts it.
   */
  embedPairs(pairs: readonly (readonly [first: string, second: string])[]): Promise<Vector[]>
}

/**
 * Opens a model folder as an embedder: any encoder or decoder of {@link openTextModel}, pooled as its sentence-transformers
 * files say. Embeddings equal those of sentence-transformers to float32 rounding.
 *
 * @throws MyriadError 'checkpoint' naming what is wrong with the folder
 * @example
 * const embedder = await openModelEmbedder('models/multilingual-e5-small', { prefix: 'query: ' })
 * const [a, b] = await embedder.embed(['Guten Morgen', 'habari za asubuhi'])
 */
export async function openModelEmbedder(folder: string, options: ModelEmbedderOptions = {}): Promise<ModelEmbedder> {
  const stated = readSentenceConfig(folder)
  return modelEmbedder(await openTextModel(folder, options), stated, options)
}

/** An embedder over a model that is open already; closing it closes the model. */
export function modelEmbedder(
  model: TextModel,
  stated: SentenceConfig | null = null,
  options: ModelEmbedderOptions = {},
): ModelEmbedder {
  const whole: SentenceConfig = stated ?? {
    poolings: [model.kind === 'encoder' ? 'mean' : 'last'],
    dense: [],
    normalize: true,
    maxTokens: undefined,
    lowerCase: false,
  }
  const config: SentenceConfig = {
    ...whole,
    poolings: options.pooling ? [options.pooling] : whole.poolings,
    normalize: options.normalize ?? whole.normalize,
  }
  const most = Math.min(options.maxTokens ?? config.maxTokens ?? Infinity, model.contextLength)
  const { prefix = '', layer } = options
  const cased = (text: string): string => (config.lowerCase ? text.toLowerCase() : text)
  const vectors = async (rows: readonly { ids: number[]; types: number[] }[]): Promise<Vector[]> => {
    // A model without special tokens has nothing to say of an empty text.
    const full = rows.map(({ ids, types }) => (ids.length > 0 ? { ids, types } : padRow(model)))
    const states = await model.states(full, layer)
    return states.map((each) => finishVector(poolStates(each, model.dimension, config.poolings), config))
  }
  return {
    name: model.name,
    dimension: config.dense.at(-1)?.rows.length ?? config.poolings.length * model.dimension,
    model,
    embed: (texts) =>
      vectors(
        texts.map((text) => model.specials.wrap(idsOf(model, cased(prefix + text), most - model.specials.single))),
      ),
    embedPairs: (pairs) =>
      vectors(pairs.map(([first, second]) => pairRow(model, cased(prefix + first), cased(second), most))),
    close: () => model.close(),
  }
}

/**
 * Two texts as one row of at most `most` tokens. Where both are too long together, the first loses its beginning and the second
 * its end, each kept to at least half of what is there.
 */
export function pairRow(
  model: Pick<TextModel, 'tokenizer' | 'specials'>,
  first: string,
  second: string,
  most: number,
): TokenRow {
  const room = most - model.specials.pair
  const heads = idsOf(model, first, room, 'end')
  const tails = idsOf(model, second, room)
  const kept = Math.min(tails.length, Math.max(Math.floor(room / 2), room - heads.length))
  const before = Math.min(heads.length, room - kept)
  return model.specials.wrap(heads.slice(heads.length - before), tails.slice(0, kept))
}

function padRow(model: TextModel): { ids: number[]; types: number[] } {
  return { ids: [model.tokenizer.padToken], types: [0] }
}
