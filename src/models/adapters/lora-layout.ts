/** Where a low-rank adapter's weights are, and those that they change. */
import type { DecoderConfig } from '../decoder-config.js'
import { embeddingTables } from '../embedding.js'
import { parameterShapes } from '../parameters.js'
import type { AdaptedModule } from './config.js'

/** Names of the weights of an adapted layer. */
export const loraNames = (module: string): { a: string; b: string; magnitude: string } => ({
  a: `${module}.lora_A.weight`,
  b: `${module}.lora_B.weight`,
  magnitude: `${module}.lora_magnitude_vector`,
})

/** A linear layer's weight; the output projection may be the embedding table. */
export function weightName(config: DecoderConfig, module: string): string {
  const own = `${module}.weight`
  return own in parameterShapes(config) ? own : embeddingTables(config).tokens
}

/** Norms of the weights that make each output. [out] */
export function outputNorms(weight: Float32Array, module: AdaptedModule): Float32Array {
  const squares = new Float64Array(module.out)
  // Rows as they are stored: weights of one output, or of one input.
  const width = module.transposed ? module.out : module.in
  for (let at = 0, row = 0; at < weight.length; at += width, row++)
    for (let i = 0; i < width; i++) squares[module.transposed ? i : row] += weight[at + i] ** 2
  return Float32Array.from(squares, Math.sqrt)
}
