import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import { linearModules } from '../parameters.js'
import { prefixSchema, promptSchema } from './prompt.js'

/**
 * A low-rank adapter (Hu et al. 2021, https://arxiv.org/abs/2106.09685): a linear layer's product x Wᵀ becomes
 * x Wᵀ + scale (x Aᵀ) Bᵀ with A [rank, in] and B [out, rank].
 */
export const loraSchema = z.strictObject({
  kind: z.literal('lora'),
  rank: z.int().min(1).default(16),
  /** The scale is alpha / rank. */
  alpha: z.number().positive().default(32),
  /**
   * Which linear layers, as PEFT names them: 'all-linear' (all but the output projection), a list of last parts of module
   * names, or a regular expression that matches whole module names.
   */
  targets: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).default('all-linear'),
  /** Share of the layer's inputs that are left out of the low-rank path while training. */
  dropout: z.number().min(0).max(0.99).default(0),
  /** The scale is alpha / sqrt(rank) (Kalajdzievski 2023, https://arxiv.org/abs/2312.03732). */
  rankStabilized: z.boolean().default(false),
  /** Learn a magnitude for every output besides (Liu et al. 2024, https://arxiv.org/abs/2402.09353). */
  dora: z.boolean().default(false),
  /** Other ranks and alphas for modules whose names end with a key or match it, as in PEFT. */
  rankPattern: z.record(z.string(), z.int().min(1)).default({}),
  alphaPattern: z.record(z.string(), z.number().positive()).default({}),
})

export type LoraConfigInput = z.input<typeof loraSchema>
export type LoraConfig = z.output<typeof loraSchema>

/** What may be trained in a model's place. */
export const adapterSchema = z.discriminatedUnion('kind', [loraSchema, promptSchema, prefixSchema], {
  error: ({ code }) => (code === 'invalid_union' ? 'must be one of lora, prompt, prefix' : undefined),
})
export type AdapterConfigInput = z.input<typeof adapterSchema>
export type AdapterConfig = z.output<typeof adapterSchema>

/** A linear layer that an adapter changes. */
export interface AdaptedModule {
  name: string
  in: number
  out: number
  /** Its weight is stored [in, out]. */
  transposed: boolean
  rank: number
  scale: number
}

/**
 * The linear layers an adapter changes, in the order of the forward pass.
 *
 * @throws MyriadError 'usage' when the targets name none, with the names there are
 */
export function adaptedModules(config: DecoderConfig, adapter: LoraConfig): AdaptedModule[] {
  const all = linearModules(config)
  const chosen = all.filter(({ name }, i) => isTarget(name, i === all.length - 1, adapter.targets))
  if (chosen.length === 0) {
    const endings = [...new Set(all.map(({ name }) => name.split('.').at(-1)))].join(', ')
    throw new MyriadError(
      'usage',
      `adapter: targets ${JSON.stringify(adapter.targets)} name no linear layer; there are ${endings}`,
    )
  }
  return chosen.map((module) => {
    const rank = patternFor(module.name, 'rankPattern', adapter.rankPattern) ?? adapter.rank
    const alpha = patternFor(module.name, 'alphaPattern', adapter.alphaPattern) ?? adapter.alpha
    return { ...module, rank, scale: alpha / (adapter.rankStabilized ? Math.sqrt(rank) : rank) }
  })
}

/**
 * Refuses patterns with a key that matches no layer the adapter changes: a mistyped one would train with the other rank.
 * Adapters that PEFT saved are not asked: there such a key has no effect.
 *
 * @throws MyriadError 'usage' naming the keys, and a layer as an example
 */
export function requirePatternsMatch(config: DecoderConfig, adapter: LoraConfig): void {
  const names = adaptedModules(config, adapter).map(({ name }) => name)
  for (const field of ['rankPattern', 'alphaPattern'] as const) {
    const unmatched = Object.keys(adapter[field]).filter((key) => !names.some((name) => matches(name, field, key)))
    if (unmatched.length === 0) continue
    const keys = unmatched.map((key) => `"${key}"`).join(', ')
    throw new MyriadError(
      'usage',
      `adapter: ${field} ${keys} matches none of the ${names.length} layers that are trained; one is called ${names[0]}`,
    )
  }
}

function isTarget(name: string, isHead: boolean, targets: LoraConfig['targets']): boolean {
  if (targets === 'all-linear') return !isHead
  if (typeof targets !== 'string') return targets.some((target) => name === target || name.endsWith(`.${target}`))
  return matcher(targets, 'targets', targets).test(name)
}

/** PEFT's rule: the first key that, as a regular expression, matches the end of the name from a dot or the beginning on. */
function patternFor(name: string, field: string, patterns: Readonly<Record<string, number>>): number | undefined {
  const key = Object.keys(patterns).find((pattern) => matches(name, field, pattern))
  return key === undefined ? undefined : patterns[key]
}

function matches(name: string, field: string, pattern: string): boolean {
  return matcher(`(?:.*\\.)?(?:${pattern})`, field, pattern).test(name)
}

function matcher(expression: string, field: string, written: string): RegExp {
  try {
    return new RegExp(`^(?:${expression})$`, 'u')
  } catch (error) {
    throw new MyriadError('usage', `adapter: ${field} "${written}" is no regular expression`, { cause: error })
  }
}
