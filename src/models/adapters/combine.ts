import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'
import { adaptedModules, loraSchema, type AdaptedModule, type LoraConfig } from './config.js'
import { loraNames } from './lora-layout.js'

/** An adapter's share in a sum. */
export interface AdapterTerm {
  adapter: LoraConfig
  weights: Weights
  weight: number
}

/**
 * One adapter that adds to the model the weighted sum of what several add, exactly, whatever their ranks and targets: their
 * matrices side by side (PEFT's combination `cat`). Ranks add up. With weights 1 - t and t it is the interpolation of two
 * adapters; averaging their matrices instead would mix B of one with A of the other.
 *
 * @throws MyriadError 'usage' with DoRA, whose parts do not add up
 * @example combineAdapters(config, [{ adapter, weights: sums, weight: 0.7 }, { adapter, weights: facts, weight: 0.3 }])
 */
export function combineAdapters(
  config: DecoderConfig,
  terms: readonly AdapterTerm[],
): { adapter: LoraConfig; weights: Weights } {
  terms.forEach(({ adapter, weight }, i) => {
    if (adapter.dora)
      throw new MyriadError(
        'usage',
        `adapter ${i + 1} is a DoRA, which cannot be added to others; merge it into its base first`,
      )
    if (!Number.isFinite(weight)) throw new MyriadError('usage', `the weight of adapter ${i + 1} is ${weight}`)
  })
  const parts = new Map<string, Part[]>()
  for (const { adapter, weights, weight } of terms)
    for (const module of adaptedModules(config, adapter))
      parts.set(module.name, [...(parts.get(module.name) ?? []), { module, weights, factor: weight * module.scale }])
  const weights: Weights = {}
  const ranks: Record<string, number> = {}
  for (const [name, of] of parts) {
    const { a, b } = loraNames(name)
    ranks[name] = of.reduce((sum, { module }) => sum + module.rank, 0)
    weights[a] = Float32Array.from(of.flatMap((part) => [...part.weights[a]]))
    weights[b] = columnsBeside(of, b)
  }
  return { adapter: adapterOf(ranks), weights }
}

interface Part {
  module: AdaptedModule
  weights: Weights
  factor: number
}

/** Matrices B [out, rank] of one module side by side, each times its factor. */
function columnsBeside(parts: readonly Part[], name: string): Float32Array {
  const { out } = parts[0].module
  const rows = Array.from({ length: out }, (_, row) =>
    parts.flatMap(({ module: { rank }, weights, factor }) =>
      Array.from(weights[name].subarray(row * rank, (row + 1) * rank), (value) => value * factor),
    ),
  )
  return Float32Array.from(rows.flat())
}

/** Its scale is 1: alphas are ranks. */
function adapterOf(ranks: Readonly<Record<string, number>>): LoraConfig {
  const rank = Math.max(...Object.values(ranks))
  const others = Object.entries(ranks)
    .filter(([, own]) => own !== rank)
    .map(([name, own]) => [`^${name.replaceAll('.', '\\.')}`, own])
  const pattern = Object.fromEntries(others) as Record<string, number>
  const targets = Object.keys(ranks)
  return loraSchema.parse({ kind: 'lora', rank, alpha: rank, targets, rankPattern: pattern, alphaPattern: pattern })
}
