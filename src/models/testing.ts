/** Runs decoders in tests: whole, padded, and token by token over a cache. Every token is placed by its position in its sequence. */
import {
  compile,
  createGraph,
  crossEntropy,
  grad,
  slice,
  type Program,
  type Tensor,
  type Value,
} from '../engine/index.js'
import {
  declareInputs,
  declareParameters,
  decoder,
  embed,
  logits,
  lookupOnly,
  parameterShapes,
  positionTables,
  scatterEmbedding,
  type DecoderConfig,
  type DecoderOptions,
  type Weights,
} from './index.js'

/** Tokens of a batch, [rows, time] each; position -1 is padding. */
export interface Batch {
  rows: number
  time: number
  tokens: Int32Array
  positions: Int32Array
  /** Length of each row's whole sequence: the tables are made for it. */
  lengths: number[]
}

/** Rows of different lengths side by side, blanks before or behind. */
export function batchOf(sequences: readonly (readonly number[])[], side: 'left' | 'right' = 'right'): Batch {
  const time = Math.max(...sequences.map((tokens) => tokens.length))
  const tokens = new Int32Array(sequences.length * time).fill(3)
  const positions = new Int32Array(tokens.length).fill(-1)
  sequences.forEach((sequence, row) =>
    sequence.forEach((token, t) => {
      const place = row * time + t + (side === 'left' ? time - sequence.length : 0)
      tokens[place] = token
      positions[place] = t
    }),
  )
  return { rows: sequences.length, time, tokens, positions, lengths: sequences.map((sequence) => sequence.length) }
}

/** [rows, 1, time, seen]: who sees whom, by position; a window hides what is too far back. */
export function attentionMask(queries: Int32Array, seen: Int32Array, rows: number, window = Infinity): Value {
  const time = queries.length / rows
  const width = seen.length / rows
  const data = new Float32Array(rows * time * width).fill(-1e9)
  for (let row = 0; row < rows; row++)
    for (let t = 0; t < time; t++)
      for (let s = 0; s < width; s++) {
        const [query, key] = [queries[row * time + t], seen[row * width + s]]
        if (key >= 0 && key <= query && key > query - window) data[(row * time + t) * width + s] = 0
      }
  return { data, shape: [rows, 1, time, width] }
}

/** What a program compiled from {@link declareInputs} is fed, without a cache. */
export function feedsOf(config: DecoderConfig, weights: Weights, batch: Batch): Record<string, Value> {
  const { rows, time, tokens, positions, lengths } = batch
  const shape = [rows, time]
  const embedded = new Float32Array(rows * time * config.hiddenSize)
  embed(config, weights, tokens, clamped(positions), embedded)
  const feeds: Record<string, Value> = {
    embedded: { data: embedded, shape: [...shape, config.hiddenSize] },
    mask: attentionMask(positions, positions, rows),
    localMask: attentionMask(positions, positions, rows, config.slidingWindow),
  }
  const tables = lengths.map((length) => positionTables(config, length))
  for (const name of ['cos', 'sin', 'localCos', 'localSin'] as const) {
    const table = tables[0][name]
    if (!table) continue
    const half = table.length / lengths[0]
    const data = new Float32Array(rows * time * half)
    clamped(positions).forEach((position, i) =>
      data.set(tables[Math.floor(i / time)][name]!.subarray(position * half, (position + 1) * half), i * half),
    )
    feeds[name] = { data, shape: [...shape, half] }
  }
  return feeds
}

function clamped(positions: Int32Array): Int32Array {
  return positions.map((position) => Math.max(position, 0))
}

/** Runs a program on those of the feeds that it reads. */
export function runWith(program: Program, feeds: Record<string, Value>): Promise<Record<string, Value>> {
  const wanted = program.inputs.filter(({ name }) => name in feeds).map(({ name }) => [name, feeds[name]])
  return program.run(Object.fromEntries(wanted) as Record<string, Value>)
}

/** Weights as a program binds them. */
export function boundWeights(config: DecoderConfig, weights: Weights): Record<string, Value> {
  const shapes = Object.entries(parameterShapes(config))
  return Object.fromEntries(shapes.map(([name, shape]) => [name, { data: weights[name], shape }]))
}

/** A program from inputs to logits [batch*time, vocabulary], `key.0`, `value.0` and so on. */
export async function forwardProgram(
  config: DecoderConfig,
  weights: Weights,
  options: DecoderOptions & { past?: boolean } = {},
): Promise<Program> {
  const graph = createGraph()
  const inputs = declareInputs(graph, config, { maskRows: 'batch', past: options.past, pastTime: 'time' })
  const parameters = declareParameters(graph, config)
  const { hidden, keys, values } = decoder(config, parameters, inputs, options)
  const outputs: Record<string, Tensor> = { logits: logits(config, parameters, hidden, options.adapt) }
  keys.forEach((key, i) => (outputs[`key.${i}`] = key))
  values.forEach((value, i) => (outputs[`value.${i}`] = value))
  const program = await compile(graph, { outputs, inline: true })
  program.bind(boundWeights(config, weights))
  return program
}

/** Gradient of the mean cross-entropy of a sequence's tokens after the first, at every weight. */
export async function gradients(
  config: DecoderConfig,
  weights: Weights,
  tokens: readonly number[],
  options: DecoderOptions = {},
): Promise<Weights> {
  const graph = createGraph()
  const inputs = declareInputs(graph, config, { maskRows: 1 })
  const parameters = declareParameters(graph, config)
  const { hidden } = decoder(config, parameters, inputs, options)
  const read = slice(hidden, { axis: 0, end: tokens.length - 1 })
  const loss = crossEntropy(
    logits(config, parameters, read, options.adapt),
    graph.input('targets', [tokens.length - 1], 'int32'),
  )
  const names = Object.keys(parameters).filter((name) => !lookupOnly(config).includes(name))
  const [flowed, ...rest] = grad(loss, [inputs.embedded, ...names.map((name) => parameters[name])])
  const outputs = { 'at embedded': flowed, ...Object.fromEntries(names.map((name, i) => [name, rest[i]])) }
  const program = await compile(graph, { outputs, inline: true })
  program.bind(boundWeights(config, weights))
  const batch = batchOf([tokens])
  const feeds = feedsOf(config, weights, batch)
  feeds['targets'] = { data: Int32Array.from(tokens.slice(1)), shape: [tokens.length - 1] }
  const { 'at embedded': back, ...results } = await runWith(program, feeds)
  await program.close()
  const gradient: Weights = {}
  for (const name of Object.keys(weights))
    gradient[name] = (results[name]?.data as Float32Array | undefined) ?? new Float32Array(weights[name].length)
  scatterEmbedding(config, (name) => gradient[name], batch.tokens, batch.positions, back.data as Float32Array)
  return gradient
}

/** Joins two caches [rows, heads, time, width] along time. */
export function joinTime(a: Value | undefined, b: Value): Value {
  if (!a) return b
  const [rows, heads, before, width] = a.shape
  const added = b.shape[2]
  const total = before + added
  const data = new Float32Array(rows * heads * total * width)
  for (let i = 0; i < rows * heads; i++) {
    data.set((a.data as Float32Array).subarray(i * before * width, (i + 1) * before * width), i * total * width)
    data.set(
      (b.data as Float32Array).subarray(i * added * width, (i + 1) * added * width),
      (i * total + before) * width,
    )
  }
  return { data, shape: [rows, heads, total, width] }
}

/** Largest absolute difference; NaN counts as infinite. */
export function furthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let worst = a.length === b.length ? 0 : Infinity
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i] - b[i])
    if (!(difference <= worst)) worst = Number.isNaN(difference) ? Infinity : difference
  }
  return worst
}
