import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'
import { adaptedModules, type AdaptedModule, type LoraConfig } from './config.js'
import { loraNames, outputNorms, weightName } from './lora-layout.js'

/** A model with an adapter in its weights. */
export interface MergedModel {
  /** The base's, but for an output projection that no longer is the embedding table. */
  config: DecoderConfig
  weights: Weights
  /**
   * Of DoRA, by module: the norm of the weights of each output before they got their magnitudes [out]. They cannot be told
   * from the result, and taking the adapter out again needs them.
   */
  norms: Weights
}

/**
 * Adds a low-rank adapter to the weights of its base: W + scale B A; with DoRA, each output's weights are then scaled to its
 * magnitude. The result computes what base and adapter do, up to rounding, and needs no adapter.
 *
 * Where the output projection is adapted and shares the embedding table, it gets a table of its own: the embeddings are not to
 * change with it.
 *
 * @param options.inPlace changes the arrays of `weights` themselves; else those that change are new and the others shared
 * @example
 * const merged = mergeAdapter(config, weights, adapter, adapterWeights)
 * writeCheckpoint('merged', merged.config, merged.weights)
 */
export function mergeAdapter(
  config: DecoderConfig,
  weights: Weights,
  adapter: LoraConfig,
  adapterWeights: Weights,
  options: { inPlace?: boolean } = {},
): MergedModel {
  const merged: MergedModel = { config, weights: options.inPlace ? weights : { ...weights }, norms: {} }
  for (const module of adaptedModules(config, adapter)) {
    const from = weightName(config, module.name)
    const to = `${module.name}.weight`
    if (from !== to) merged.config = { ...config, tieEmbeddings: false }
    const weight = options.inPlace && from === to ? weights[to] : weights[from].slice()
    addProduct(weight, module, adapterWeights, module.scale)
    if (adapter.dora) {
      const norms = outputNorms(weight, module)
      const magnitudes = adapterWeights[loraNames(module.name).magnitude]
      scaleOutputs(weight, module, (i) => magnitudes[i] / norms[i])
      merged.norms[module.name] = norms
    }
    merged.weights[to] = weight
  }
  return merged
}

/**
 * Takes an adapter out again: the weights that {@link mergeAdapter} was given, up to rounding, in arrays of their own.
 *
 * @param config of the base
 * @throws MyriadError 'usage' where a magnitude of DoRA is 0, or the norms are missing: the base's weights are lost
 */
export function unmergeAdapter(
  config: DecoderConfig,
  merged: Pick<MergedModel, 'weights' | 'norms'>,
  adapter: LoraConfig,
  adapterWeights: Weights,
): Weights {
  const weights = { ...merged.weights }
  for (const module of adaptedModules(config, adapter)) {
    const name = `${module.name}.weight`
    if (weightName(config, module.name) !== name) {
      delete weights[name] // the embedding table is still what it was
      continue
    }
    const weight = weights[name].slice()
    if (adapter.dora) {
      const norms = merged.norms[module.name]
      const magnitudes = adapterWeights[loraNames(module.name).magnitude]
      if (!norms)
        throw new MyriadError('usage', `unmerging DoRA needs the norms that merging answered; "${name}" has none`)
      const lost = magnitudes.indexOf(0)
      if (lost >= 0)
        throw new MyriadError('usage', `"${name}" cannot be unmerged: the magnitude of output ${lost} is 0`)
      scaleOutputs(weight, module, (i) => norms[i] / magnitudes[i])
    }
    addProduct(weight, module, adapterWeights, -module.scale)
    weights[name] = weight
  }
  return weights
}

/** weight += scale B A, in the weight's layout; every element is rounded once. */
function addProduct(weight: Float32Array, module: AdaptedModule, adapterWeights: Weights, scale: number): void {
  const { rank, transposed } = module
  const a = adapterWeights[loraNames(module.name).a]
  const b = adapterWeights[loraNames(module.name).b]
  // As stored, a row is an output and its columns are inputs, or the other way round.
  const [rows, columns] = transposed ? [module.in, module.out] : [module.out, module.in]
  const [left, right] = transposed ? [turned(a, rank, rows), turned(b, columns, rank)] : [b, a] // [rows, rank], [rank, columns]
  // Four ranks in one go over the sum, which is then read and written a quarter as often; zeros fill the last four.
  const wide = new Float64Array(Math.ceil(rank / 4) * 4 * columns)
  wide.set(right)
  const factors = new Float64Array(wide.length / columns)
  const sum = new Float64Array(columns)
  for (let row = 0; row < rows; row++) {
    for (let r = 0; r < rank; r++) factors[r] = scale * left[row * rank + r]
    const to = row * columns
    for (let i = 0; i < columns; i++) sum[i] = weight[to + i]
    for (let r = 0; r < rank; r += 4) addFourRows(sum, factors, wide, r)
    weight.set(sum, to)
  }
}

/** sum += Σ factors[k] matrix[k], k from r to r + 3. */
function addFourRows(sum: Float64Array, factors: Float64Array, matrix: Float64Array, r: number): void {
  const columns = sum.length
  const [f0, f1, f2, f3] = [factors[r], factors[r + 1], factors[r + 2], factors[r + 3]]
  const p0 = r * columns
  const p1 = p0 + columns
  const p2 = p1 + columns
  const p3 = p2 + columns
  for (let i = 0; i < columns; i++)
    sum[i] += f0 * matrix[p0 + i] + f1 * matrix[p1 + i] + f2 * matrix[p2 + i] + f3 * matrix[p3 + i]
}

function turned(x: Float32Array, rows: number, columns: number): Float32Array {
  const result = new Float32Array(x.length)
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) result[j * rows + i] = x[i * columns + j]
  return result
}

function scaleOutputs(weight: Float32Array, module: AdaptedModule, factorOf: (output: number) => number): void {
  const factors = Float64Array.from({ length: module.out }, (_, i) => factorOf(i))
  const width = module.transposed ? module.out : module.in
  for (let at = 0, row = 0; at < weight.length; at += width, row++)
    for (let i = 0; i < width; i++) weight[at + i] *= factors[module.transposed ? i : row]
}
