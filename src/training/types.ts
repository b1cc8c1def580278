import type { Aggregates, EvaluationRow, LostTask, RandomRow } from '../evaluation/types.js'
import type { Json } from '../core/index.js'
import type { RewardStatistics } from '../rewards/hygiene/statistics.js'
import type { TrainConfig } from './config.js'
import type { DroppedEpisode } from './rollout.js'

/** How a task went in one step. */
export interface TaskStep {
  groups: number
  /** Share of episodes, in [0, 1]. */
  success: number
  reward: number
  /** Share of episodes that carry a language; null when none does. */
  languageConsistency: number | null
  /** Share of groups whose rewards are all equal. */
  zeroVariance: number
  /** Share of episodes whose last reply was not in the asked form. */
  malformed: number
  /** Mean number of sampled tokens. */
  tokensPerEpisode: number
}

/** A line of metrics.jsonl. All but `time` is reproducible. */
export interface StepMetrics {
  step: number
  /** Policy version after the step. */
  version: number
  learningRate: number
  /** Mean over the optimizer steps of this step; null when there was none. */
  loss: number | null
  gradientNorm: number | null
  /** Means over episodes. */
  reward: number
  success: number
  languageConsistency: number | null
  /** Mean of each weighted part of the reward over the episodes it applies to. */
  rewardParts: Record<string, number>
  /** How each part is spread over episodes: mean, std, min, max, shares it does not apply to and failed at. */
  rewardStatistics?: Record<string, RewardStatistics>
  /** Of parts, by 'a~b', over the episodes that both apply to. */
  rewardCorrelations?: Record<string, number>
  /** Mean cost of repetition in [0, 1] over some of the episodes; null without one. */
  repetition?: number | null
  tasks: Record<string, TaskStep>
  episodes: number
  groups: number
  zeroVarianceGroups: number
  sampledTokens: number
  /** Tokens of all optimizer steps. */
  trainedTokens: number
  /** Estimate in nats per token: minus the mean log-probability of sampled tokens. */
  entropy: number | null
  /** What the loss reports: clipFraction, ratio, kl. */
  [lossMetric: `loss/${string}`]: number
  /** What the algorithm reports of its lesson. */
  [algorithmMetric: `algorithm/${string}`]: number
  dropped: Record<string, number>
  /** Why the step was skipped; null when it was not. */
  skipped: string | null
  time: { rolloutSeconds: number; updateSeconds: number; wallSeconds: number }
}

/** A line of episodes.jsonl: a trajectory to look at. Arrays are [tokens]. */
export interface EpisodeRecord {
  step: number
  task: string
  language: string
  reward: number
  success: boolean
  languageConsistent: boolean | null
  rewardParts: Record<string, number>
  /** The text of each token; empty for special tokens, and until the last where a character takes several. */
  tokens: string[]
  mask: number[]
  advantages: number[]
}

/** A line of evaluations.jsonl. */
export interface EvaluationRecord extends Aggregates {
  phase: EvaluationPhase
  /** Steps trained so far. */
  step: number
  rows: EvaluationRow[]
  random: RandomRow[]
  dropped: Record<string, number>
  /** Tasks that nothing is known of, where there are any. */
  lost?: LostTask[]
}

export type EvaluationPhase = 'before' | 'during' | 'after'

/** Sums over the whole run, interruptions included. */
export interface Totals {
  wallSeconds: number
  rolloutSeconds: number
  updateSeconds: number
  sampledTokens: number
  trainedTokens: number
  dropped: Record<string, number>
  skippedSteps: number
  /** Skipped steps in a row, up to now. */
  skippedInARow: number
}

/** What a checkpoint holds beside the policy. */
export interface RunState {
  step: number
  curriculum: Json
  /** What the algorithm remembers from step to step. */
  algorithm: Json
  totals: Totals
}

/** The result of a run; summary.json. */
export interface Summary {
  name: string
  seed: number
  /** Steps trained. */
  steps: number
  /** False when the run was interrupted and can be resumed. */
  finished: boolean
  /** Why nothing came of a run that went to its end: every step was skipped, or every episode of an evaluation dropped. */
  failure?: string
  wallSeconds: number
  evaluation: {
    before: EvaluationRow[]
    /** Null until the run has ended. */
    after: EvaluationRow[] | null
    /** A random legal player on the same problems. */
    random: RandomRow[]
    /** Means over tasks and languages. */
    aggregates: { before: Aggregates; after: Aggregates | null }
  }
  throughput: { sampledTokensPerSecond: number; trainedTokensPerSecond: number }
  /** Trajectories lost, by reason. */
  dropped: Record<string, number>
  skippedSteps: number
  /** Signs that the policy learns to please the reward in place of doing the task. */
  warnings?: string[]
  versions: Record<string, string>
  /** The run folder. */
  out: string
}

/** What happens during a run, as it happens. */
export type TrainEvent =
  | { type: 'start'; config: TrainConfig; out: string; step: number }
  | { type: 'progress'; phase: EvaluationPhase; done: number; total: number }
  | { type: 'evaluation'; record: EvaluationRecord }
  | { type: 'step'; metrics: StepMetrics; steps: number }
  | { type: 'dropped'; step: number; episodes: readonly DroppedEpisode[] }
  | { type: 'checkpoint'; step: number; folder: string }
  | { type: 'interrupted'; step: number; steps: number; out: string }
  | { type: 'done'; summary: Summary; report: string }
