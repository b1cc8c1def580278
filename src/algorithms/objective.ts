import type { z } from 'zod'
import type { Json } from '../core/index.js'
import type { Loss, TrainSequence } from '../policy/types.js'
import type { AdvantageEstimator, Algorithm, Group, LearnContext, Needs } from './types.js'

export const FAMILIES = [
  'policy-gradient',
  'multi-reward',
  'credit',
  'exploration',
  'label-free',
  'preference',
  'reward-model',
  'supervised',
  'distillation',
  'after-training',
  'value-based',
] as const

export type Family = (typeof FAMILIES)[number]

/** What is told of an objective wherever objectives are listed. */
export interface About {
  /** Kebab case, as a configuration names it. */
  name: string
  family: Family
  /** One line: what it does. */
  summary: string
  /** In ASCII, in the symbols of docs/algorithms.md: lp, olp, rlp, A, r, R, H ... */
  formula: string
  /** Where the formula is from. */
  reference: string
  /** How sure it is that this is the published formula; `ours` says in `reference` what was decided here. */
  standing: 'source' | 'second-hand' | 'ours'
  /** When to use it, and when not. */
  use: string
  /** Ids of the systems of systems.tsv that it serves. */
  rows: readonly string[]
}

/** Rewards changed before advantages: bonuses, penalties, votes, constraints. */
export type Shaping = (
  groups: readonly Group[],
  context: LearnContext & { state: Json },
) => { groups: readonly Group[]; state?: Json; metrics?: Record<string, number> }

/** Advantages changed after they were estimated: [group][trajectory][token] to the same shape. Never changes its input. */
export type Adjustment = (
  advantages: readonly (readonly Float32Array[])[],
  groups: readonly Group[],
  context: LearnContext & { state: Json },
) => { advantages: Float32Array[][]; state?: Json; metrics?: Record<string, number> }

/** A factor for every token's weight (0 silences it), from scored sequences: [sequence][tokens]. */
export type Selection = (sequences: readonly TrainSequence[], context?: LearnContext) => Float32Array[]

interface Kinds {
  /** The whole of an algorithm. */
  method: Algorithm
  loss: Loss
  advantage: AdvantageEstimator
  shaping: Shaping
  adjustment: Adjustment
  selection: Selection
  /** A pure function that the loop does not call: weights, logits, replay, targets. `make` answers it. */
  function: unknown
}

export type Kind = keyof Kinds

/** An objective, or a part of one, that a configuration can name: what it is, its options, and how it is made. */
export interface Objective<K extends Kind = Kind, Options extends z.ZodType = z.ZodType> extends About {
  kind: K
  options: Options
  /** What has to be supplied for it, where it is not a whole method (which says so itself). */
  needs?: Needs
  make(options: z.output<Options>): Kinds[K]
}

/**
 * Declares an objective. One file holds one (or a few close relatives), and the index of its family lists it.
 *
 * @example
 * export const hinge = objective({
 *   kind: 'loss', name: 'hinge', family: 'preference', summary: '...', formula: '...', reference: 'arXiv 2305.10425',
 *   standing: 'source', use: '...', rows: [], options: z.strictObject({ beta: z.number().default(0.1) }),
 *   make: ({ beta }) => hingeLoss(beta),
 * })
 */
export function objective<K extends Kind, Options extends z.ZodType>(
  declared: Objective<K, Options>,
): Objective<K, Options> {
  return declared
}
