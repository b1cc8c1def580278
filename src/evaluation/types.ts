import type { Task } from '../tasks/types.js'

export type Decoding = 'greedy' | 'sampled'

/** A task to be evaluated. */
export interface EvaluationTask {
  task: Task
  /** BCP 47 tags. */
  languages: readonly string[]
  /** Problems are spread evenly over this range. */
  difficulty: readonly [number, number]
}

/** How a policy does on withheld problems of one task in one language. */
export interface EvaluationRow {
  task: string
  language: string
  decoding: Decoding
  /** Episodes played. */
  n: number
  /** Different problems among them. */
  problems: number
  /** Share of episodes, in [0, 1]; 0 when there was none. */
  success: number
  /** 95 percent interval of `success`; see `clusteredInterval`. */
  ciLow: number
  ciHigh: number
  /** Share of episodes in the right language among those that carry one; null when none does. */
  languageConsistency: number | null
  /** Mean reward. */
  reward: number
  /** Share of episodes whose last reply was not in the asked form. */
  malformed: number
  /** passAt[k - 1] is pass@k; only where problems were sampled several times. */
  passAt?: number[]
}

/** A random legal player on the same problems: the floor of every comparison. */
export type RandomRow = Pick<
  EvaluationRow,
  'task' | 'language' | 'n' | 'problems' | 'success' | 'ciLow' | 'ciHigh' | 'reward'
>

/** Rows with means over cells, each cell counting alike: `language` or `task` is '*' where it was averaged over. */
export interface Aggregates {
  /** Per task and decoding. */
  tasks: EvaluationRow[]
  /** Per language and decoding. */
  languages: EvaluationRow[]
  /** Per decoding. */
  overall: EvaluationRow[]
}

/** A task of which every episode was dropped: its rows have `n` 0, and their other numbers say nothing. */
export interface LostTask {
  task: string
  /** Episodes dropped. */
  dropped: number
  /** Of the first one: the kind, and what it said. */
  reason: string
  message: string
}

export interface Evaluation extends Aggregates {
  /** Per task, language and decoding. */
  rows: EvaluationRow[]
  /** Trajectories lost to tasks or rewards that failed, by reason. */
  dropped: Record<string, number>
  /** Tasks that nothing is known of. */
  lost: LostTask[]
  sampledTokens: number
}
