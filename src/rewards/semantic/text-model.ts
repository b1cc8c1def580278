import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../../core/index.js'
import { compile, createGraph, type CompileOptions, type Program, type Value } from '../../engine/index.js'
import {
  declareEncoderInputs,
  declareEncoderParameters,
  declareInputs,
  declareParameters,
  decoder,
  embed,
  embedForEncoder,
  encoder,
  encoderParameterShapes,
  encoderPositions,
  parameterShapes,
  positionTables,
  readCheckpoint,
  readEncoder,
  supportedEncoderTypes,
  usableContext,
  type EncoderConfig,
  type Weights,
} from '../../models/index.js'
import { loadTokenizer, type TextTokenizer } from '../../text/index.js'
import { readable } from './embedder.js'
import { readSpecialTokens, type SpecialTokens, type TokenRow } from './special-tokens.js'

export interface TextModelOptions extends Pick<CompileOptions, 'device' | 'threads' | 'inline'> {
  /** Most tokens of one batch, padding counted (2048). */
  tokenBudget?: number
}

/** A model that is read for its hidden states: an encoder, or a decoder (a policy). */
export interface TextModel {
  readonly name: string
  readonly kind: 'encoder' | 'decoder'
  readonly dimension: number
  readonly layers: number
  /** Longest sequence in tokens. */
  readonly contextLength: number
  readonly tokenizer: TextTokenizer
  readonly specials: SpecialTokens
  /**
   * Hidden states after a layer (0: the embeddings; the last unless given; of a decoder only the last, after its final norm).
   * Sequences are batched by length; the states of one are the same in any company, to rounding.
   *
   * @returns of each sequence [tokens * dimension]
   * @throws MyriadError 'usage' for a sequence that is too long or empty, or a layer that is not there
   */
  states(sequences: readonly TokenRow[], layer?: number): Promise<Float32Array[]>
  close(): Promise<void>
}

const closed = -1e9

/**
 * Opens an encoder (BERT, RoBERTa, XLM-RoBERTa) or a decoder folder for its hidden states.
 *
 * @throws MyriadError 'checkpoint' naming what is wrong with the folder
 * @example const model = await openTextModel('models/xlm-roberta-base')
 */
export async function openTextModel(folder: string, options: TextModelOptions = {}): Promise<TextModel> {
  const tokenizer = await loadTokenizer(folder)
  return isEncoder(folder) ? openEncoder(folder, tokenizer, options) : openDecoder(folder, tokenizer, options)
}

function isEncoder(folder: string): boolean {
  const file = join(folder, 'config.json')
  if (!existsSync(file)) return false
  try {
    const { model_type } = JSON.parse(readFileSync(file, 'utf8')) as { model_type?: unknown }
    return (supportedEncoderTypes as readonly unknown[]).includes(model_type)
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}`, { cause: error })
  }
}

/** What a batch of padded rows is fed as. */
type Feed = (rows: readonly TokenRow[], time: number) => Record<string, Value>

async function openEncoder(folder: string, tokenizer: TextTokenizer, options: TextModelOptions): Promise<TextModel> {
  const { config, weights } = readEncoder(folder)
  const bound = boundValues(encoderParameterShapes(config), weights)
  const make = async (layer: number): Promise<Program> => {
    const graph = createGraph()
    const inputs = declareEncoderInputs(graph, config)
    const { states } = encoder(config, declareEncoderParameters(graph, config), inputs)
    const program = await compile(graph, { outputs: { states: states[layer] }, ...compute(options) })
    program.bind(bound)
    return program
  }
  return textModel(
    {
      name: folder,
      kind: 'encoder',
      dimension: config.hiddenSize,
      layers: config.layers,
      contextLength: config.contextLength,
      tokenizer,
      specials: readSpecialTokens(folder, tokenizer),
    },
    make,
    (rows, time) => encoderFeeds(config, weights, rows, time),
    options,
  )
}

/**
 * What an encoder is fed with padded behind to `time`: `embedded` [rows, time, hidden] and `mask` [rows, 1, 1, time].
 * Segments that the model does not have are 0.
 */
export function encoderFeeds(
  config: EncoderConfig,
  weights: Weights,
  rows: readonly TokenRow[],
  time: number,
): Record<string, Value> {
  const { tokens, positions, types, mask } = encoderBatch(config, rows, time)
  const embedded = new Float32Array(tokens.length * config.hiddenSize)
  embedForEncoder(weights, { tokens, positions, types }, embedded)
  return {
    embedded: { data: embedded, shape: [rows.length, time, config.hiddenSize] },
    mask: { data: mask, shape: [rows.length, 1, 1, time] },
  }
}

/** Rows of the tables of an encoder for padded rows, and what is added to scores: [rows * time] each. */
export function encoderBatch(
  config: EncoderConfig,
  rows: readonly TokenRow[],
  time: number,
): { tokens: Int32Array; positions: Int32Array; types: Int32Array; mask: Float32Array } {
  const count = rows.length * time
  const tokens = new Int32Array(count).fill(config.paddingId)
  const positions = new Int32Array(count)
  const types = new Int32Array(count)
  const mask = new Float32Array(count).fill(closed)
  rows.forEach((row, i) => {
    const at = i * time
    tokens.set(row.ids, at)
    types.set(
      row.types.map((type) => Math.min(type, config.tokenTypes - 1)),
      at,
    )
    mask.fill(0, at, at + row.ids.length)
    positions.set(encoderPositions(config, row.ids), at)
  })
  return { tokens, positions, types, mask }
}

async function openDecoder(folder: string, tokenizer: TextTokenizer, options: TextModelOptions): Promise<TextModel> {
  const { config, weights } = await readCheckpoint(folder)
  const contextLength = usableContext(config)
  const bound = boundValues(parameterShapes(config), weights)
  const tables = Object.entries(positionTables(config, contextLength)) as [string, Float32Array][]
  const make = async (layer: number): Promise<Program> => {
    if (layer !== config.layers)
      throw new MyriadError('usage', `${folder}: of a decoder only the last layer, ${config.layers}, can be read`)
    const graph = createGraph()
    const { hidden } = decoder(config, declareParameters(graph, config), declareInputs(graph, config, { maskRows: 1 }))
    const program = await compile(graph, { outputs: { states: hidden }, ...compute(options) })
    program.bind(bound)
    return program
  }
  const feed: Feed = (rows, time) => {
    const tokens = new Int32Array(rows.length * time).fill(tokenizer.padToken)
    rows.forEach(({ ids }, i) => tokens.set(ids, i * time))
    const positions = Int32Array.from(tokens, (_, i) => i % time)
    const embedded = new Float32Array(tokens.length * config.hiddenSize)
    embed(config, weights, tokens, positions, embedded)
    const feeds: Record<string, Value> = {
      embedded: { data: embedded, shape: [rows.length, time, config.hiddenSize] },
      mask: causal(time),
    }
    if (config.slidingWindow !== undefined) feeds.localMask = causal(time, config.slidingWindow)
    for (const [name, table] of tables) {
      const half = table.length / contextLength
      const data = new Float32Array(rows.length * time * half)
      for (let i = 0; i < rows.length; i++) data.set(table.subarray(0, time * half), i * time * half)
      feeds[name] = { data, shape: [rows.length, time, half] }
    }
    return feeds
  }
  const description = {
    name: folder,
    kind: 'decoder' as const,
    dimension: config.hiddenSize,
    layers: config.layers,
    contextLength,
    tokenizer,
    specials: existsSync(join(folder, 'tokenizer.json')) ? readSpecialTokens(folder, tokenizer) : noSpecials,
  }
  return textModel(description, make, feed, options)
}

const noSpecials: SpecialTokens = {
  single: 0,
  pair: 0,
  wrap: (first, second = []) => ({
    ids: [...first, ...second],
    types: Array<number>(first.length + second.length).fill(0),
    from: 0,
    fromSecond: first.length,
  }),
}

/** Padding stands behind and is seen by none before it, so that rows need no masks of their own. [1, 1, time, time] */
function causal(time: number, window = time): Value {
  const data = new Float32Array(time * time).fill(closed)
  for (let i = 0; i < time; i++) data.fill(0, i * time + Math.max(0, i - window + 1), i * time + i + 1)
  return { data, shape: [1, 1, time, time] }
}

function boundValues(shapes: Record<string, number[]>, weights: Weights): Record<string, Value> {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { data: weights[name], shape }]))
}

function compute({ device, threads, inline }: TextModelOptions): Omit<CompileOptions, 'outputs'> {
  return { device, threads, inline }
}

function textModel(
  description: Omit<TextModel, 'states' | 'close'>,
  make: (layer: number) => Promise<Program>,
  feed: Feed,
  { tokenBudget = 2048 }: TextModelOptions,
): TextModel {
  const { name, layers, dimension, contextLength } = description
  const programs = new Map<number, Promise<Program>>()
  const programFor = (layer: number): Promise<Program> => {
    const known = programs.get(layer)
    if (known) return known
    const made = make(layer)
    programs.set(layer, made)
    made.catch(() => programs.delete(layer))
    return made
  }
  return {
    ...description,
    async states(sequences, layer = layers) {
      if (!(Number.isInteger(layer) && layer >= 0 && layer <= layers))
        throw new MyriadError('usage', `${name} has layers 0 to ${layers}, not ${layer}`)
      const wrong = sequences.find(({ ids }) => ids.length === 0 || ids.length > contextLength)
      if (wrong)
        throw new MyriadError('usage', `${name} reads 1 to ${contextLength} tokens, a sequence has ${wrong.ids.length}`)
      const program = await programFor(layer)
      const result: Float32Array[] = []
      for (const batch of byLength(sequences, tokenBudget)) {
        const rows = batch.map((i) => sequences[i])
        const time = Math.max(...rows.map(({ ids }) => ids.length))
        const { states } = await program.run(feed(rows, time))
        batch.forEach((i, row) => {
          const from = row * time * dimension
          result[i] = (states.data as Float32Array).slice(from, from + sequences[i].ids.length * dimension)
        })
      }
      return result
    },
    async close() {
      for (const program of programs.values()) await (await program).close()
      programs.clear()
    },
  }
}

/** Indices in batches of like length, none of more than `budget` tokens with its padding; a longer sequence is alone. */
export function byLength(sequences: readonly TokenRow[], budget: number): number[][] {
  const order = [...sequences.keys()].sort((a, b) => sequences[a].ids.length - sequences[b].ids.length || a - b)
  const batches: number[][] = []
  for (const i of order) {
    const last = batches[batches.length - 1]
    if (last && (last.length + 1) * sequences[i].ids.length <= budget) last.push(i)
    else batches.push([i])
  }
  return batches
}

/**
 * A text as token ids, no more than `most`: what is over is cut off behind, or in front where the end matters. Of endless text
 * 64 UTF-16 units a token are looked at.
 */
export function idsOf(
  model: Pick<TextModel, 'tokenizer'>,
  text: string,
  most: number,
  keep: 'start' | 'end' = 'start',
): number[] {
  const limit = Math.max(1, most) * 64
  const part = keep === 'start' ? text : text.slice(-limit)
  const ids = model.tokenizer.encode(readable(part, limit))
  return keep === 'start' ? ids.slice(0, most) : ids.slice(Math.max(0, ids.length - most))
}
