import { z } from 'zod'
import { MyriadError, suggestion } from '../core/index.js'
import { behaviourRewards } from './behaviour/index.js'
import { codeRewards, sqlRewards } from './code/index.js'
import { weighted, type Weighted } from './combine.js'
import type { RewardDeclaration } from './declaration.js'
import { languageRewards } from './language/index.js'
import { judgeRewards } from './judge/index.js'
import { learnedRewards } from './learned/index.js'
import { outcomeRewards } from './outcome-rewards.js'
import { retrievalRewards } from './retrieval/index.js'
import { semanticRewards } from './semantic/index.js'
import { stringRewards } from './strings/index.js'
import type { Reward } from './types.js'
import { verifiableRewards } from './verifiable/index.js'

/** Makes a reward from the options a configuration gives beside its weight. Throws a ZodError on wrong ones. */
export type RewardFactory = (options: Readonly<Record<string, unknown>>) => Reward

/** Rewards by the names that configurations call them. */
export type RewardRegistry = Readonly<Record<string, RewardFactory>>

/** Every reward that comes with Myriad. */
export const rewardDeclarations: readonly RewardDeclaration[] = [
  ...outcomeRewards,
  ...stringRewards,
  ...codeRewards,
  ...sqlRewards,
  ...semanticRewards,
  ...languageRewards,
  ...learnedRewards,
  ...verifiableRewards,
  ...behaviourRewards,
  ...retrievalRewards,
  ...judgeRewards,
]

/** The rewards that come with Myriad. Spread it to add your own: `{ ...builtinRewards, polite: () => polite }`. */
export const builtinRewards: RewardRegistry = factoriesOf(rewardDeclarations)

/**
 * Factories by name.
 *
 * @throws MyriadError 'usage' when two declarations have one name
 */
export function factoriesOf(declarations: readonly RewardDeclaration[]): RewardRegistry {
  const registry: Record<string, RewardFactory> = {}
  for (const { name, options, make } of declarations) {
    if (Object.hasOwn(registry, name)) throw new MyriadError('usage', `two rewards are called "${name}"`)
    registry[name] = (given) => make(options.parse(given))
  }
  return registry
}

/** A weight, or a weight with options: `{ task: 1, length: { weight: 0.1, free: 80, limit: 200 } }`. */
export type RewardConfig = Readonly<Record<string, number | ({ weight: number } & Readonly<Record<string, unknown>>)>>

/**
 * The weighted reward that a configuration names.
 *
 * @throws MyriadError 'usage' for an unknown name (with the names there are), a wrong weight or a wrong option.
 * @example rewardFromConfig({ task: 1, language: 0.2, format: 0.1 })
 */
export function rewardFromConfig(config: RewardConfig, registry: RewardRegistry = builtinRewards): Reward {
  const parts: Record<string, Weighted> = {}
  for (const [name, entry] of Object.entries(config)) {
    if (!Object.hasOwn(registry, name))
      throw new MyriadError(
        'usage',
        `rewards: there is no reward "${name}".${suggestion(name, Object.keys(registry))} "myriad rewards" lists them`,
      )
    const { weight, ...options } = typeof entry === 'number' ? { weight: entry } : entry
    if (typeof weight !== 'number' || !Number.isFinite(weight))
      throw new MyriadError(
        'usage',
        `rewards.${name}: the weight must be a number, got ${JSON.stringify(weight ?? entry)}`,
      )
    parts[name] = [makeReward(name, registry[name], options), weight]
  }
  if (Object.keys(parts).length === 0) throw new MyriadError('usage', 'rewards: name at least one, e.g. { "task": 1 }')
  return weighted(parts)
}

function makeReward(name: string, factory: RewardFactory, options: Readonly<Record<string, unknown>>): Reward {
  try {
    return factory(options)
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const issue = error.issues[0]
    throw new MyriadError('usage', `rewards.${[name, ...issue.path].join('.')}: ${issue.message}`, { cause: error })
  }
}
