import type { z } from 'zod'
import type { Reward } from './types.js'

export const REWARD_GROUPS = [
  'task',
  'strings',
  'answers',
  'language',
  'semantic',
  'learned',
  'judge',
  'behaviour',
  'code',
  'retrieval',
] as const

export type RewardGroup = (typeof REWARD_GROUPS)[number]

/** The codes that systems.tsv gives kinds of reward. */
export type RewardCode = 'R1' | 'R2' | 'R3' | 'R4' | 'R5' | 'R6' | 'R7' | 'R8' | 'R9'

/** A package that is not installed with Myriad. */
export interface OptionalPackage {
  name: string
  version: string
}

/** A reward that a configuration can name: what it is, its options, and how it is made. */
export interface RewardDeclaration<Options extends z.ZodType = z.ZodType> {
  /** Kebab case. */
  name: string
  group: RewardGroup
  codes: readonly RewardCode[]
  /** One line: what it measures. */
  summary: string
  /** Of its values, as in '[0, 1]'; 1 is best unless said otherwise. */
  range: string
  /** What it reads of a problem and when it answers null. */
  applies: string
  /** Where the measure is from. */
  reference: string
  /** Packages the user adds to use it. */
  packages?: readonly OptionalPackage[]
  options: Options
  make(options: z.output<Options>): Reward
}

/**
 * Declares a reward. One file holds one (or a few close relatives), and the index of its folder lists it.
 *
 * @example
 * export const rougeL = reward({ name: 'rouge-l', group: 'strings', codes: ['R2'], summary: '...', range: '[0, 1]',
 *   applies: 'problems with references', reference: '...', options: z.strictObject({}), make: () => ({ name: 'rouge-l', score }) })
 */
export function reward<Options extends z.ZodType>(declared: RewardDeclaration<Options>): RewardDeclaration<Options> {
  return declared
}
