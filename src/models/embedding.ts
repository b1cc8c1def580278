/** The lookup of embeddings and its gradient: plain copies, which stay outside the graph. */
import type { DecoderConfig } from './decoder-config.js'
import { familyOf } from './families/index.js'
import type { Weights } from './parameters.js'

/** Weights that are looked up: of tokens, and of positions where these are learned. */
export function embeddingTables(config: DecoderConfig): { tokens: string; positions?: string } {
  const { tokens, positions } = familyOf(config).names
  return { tokens: `${tokens}.weight`, ...(positions && { positions: `${positions}.weight` }) }
}

/** The weight that projects hidden states to the vocabulary, which may be the embedding table. */
export function headTable(config: DecoderConfig): string {
  const { tokens, head } = familyOf(config).names
  return `${config.tieEmbeddings ? tokens : head}.weight`
}

/**
 * Weights that are only looked up, so that no gradient of the graph reaches them: {@link scatterEmbedding} has all of it.
 */
export function lookupOnly(config: DecoderConfig): string[] {
  const { tokens, positions } = embeddingTables(config)
  return [...(config.tieEmbeddings ? [] : [tokens]), ...(positions ? [positions] : [])]
}

/**
 * Rows of the table for tokens, and of the learned positions added to them, into `target` [tokens, hidden]: what the decoder
 * reads as `embedded`.
 */
export function embed(
  config: DecoderConfig,
  weights: Weights,
  tokens: ArrayLike<number>,
  positions: ArrayLike<number>,
  target: Float32Array,
): void {
  const tables = embeddingTables(config)
  copyRows(weights[tables.tokens], tokens, target)
  if (tables.positions) addRows(weights[tables.positions], positions, target)
}

/**
 * The gradient of {@link embed}: adds what flowed back to each token [tokens, hidden] to the rows it was read from.
 *
 * @param gradientOf the gradient of a weight by name, [rows, hidden], which is added to
 */
export function scatterEmbedding(
  config: DecoderConfig,
  gradientOf: (name: string) => Float32Array,
  tokens: ArrayLike<number>,
  positions: ArrayLike<number>,
  flowed: Float32Array,
): void {
  const tables = embeddingTables(config)
  scatterRows(gradientOf(tables.tokens), tokens, flowed)
  if (tables.positions) scatterRows(gradientOf(tables.positions), positions, flowed)
}

/** Row `rows[i]` of a table becomes row i of the target. */
export function copyRows(table: Float32Array, rows: ArrayLike<number>, target: Float32Array): void {
  const width = target.length / rows.length
  for (let i = 0; i < rows.length; i++) target.set(table.subarray(rows[i] * width, (rows[i] + 1) * width), i * width)
}

/** Row `rows[i]` of a table is added to row i of the target. */
export function addRows(table: Float32Array, rows: ArrayLike<number>, target: Float32Array): void {
  const width = target.length / rows.length
  for (let i = 0; i < rows.length; i++) {
    const from = rows[i] * width
    const to = i * width
    for (let j = 0; j < width; j++) target[to + j] += table[from + j]
  }
}

/** Row i of what flowed back is added to row `rows[i]` of the gradient. */
export function scatterRows(gradient: Float32Array, rows: ArrayLike<number>, flowed: Float32Array): void {
  const width = flowed.length / rows.length
  for (let i = 0; i < rows.length; i++) {
    const to = rows[i] * width
    const from = i * width
    for (let j = 0; j < width; j++) gradient[to + j] += flowed[from + j]
  }
}
