import type { Json } from '../core/index.js'
import type { Loss, StopReason, TrainSequence } from '../policy/types.js'
import type { Outcome, Problem } from '../tasks/types.js'
import type { ComposeOptions } from './compose.js'
import type { Message } from '../text/types.js'

/** One episode as tokens. Arrays are [tokens]. */
export interface Trajectory {
  problem: Problem
  tokens: number[]
  /** 1 on tokens the policy sampled in this episode. */
  mask: Uint8Array
  /** 1 on tokens of replies that were given to it as a beginning, where any were; they are not sampled: [tokens]. */
  given?: Uint8Array
  /** Log-probabilities reported when sampling; 0 where mask is 0. */
  logprobs: Float32Array
  messages: Message[]
  outcome: Outcome
  reward: number
  /** Weighted parts of the reward, by name. */
  rewardParts: Record<string, number>
  /** Null: the reply carries no language. */
  languageConsistent: boolean | null
  /** What each turn earned on its way, where a task or a judge says so; `reward` stays the whole: [turns]. */
  turnRewards?: readonly number[]
  /** What a process reward gave each token, or the step that ends there; `reward` stays the whole: [tokens]. */
  tokenRewards?: Float32Array
  stopReason: StopReason
  /** Policy version that sampled it. */
  version: number
  turns: number
}

/** Trajectories of one problem. */
export interface Group {
  problem: Problem
  trajectories: Trajectory[]
  /** Reward of a greedy reply that is not trained on; undefined where none was asked for, or it was dropped. */
  greedyReward?: number
  /** Episodes that go on from the beginning of a demonstration, where asked for; they are not among `trajectories`. */
  continuations?: readonly Trajectory[]
}

/** From the groups of a step to one number per token of each trajectory: [group][trajectory][token]. */
export type AdvantageEstimator = (groups: readonly Group[]) => Float32Array[][]

/** A conversation that shows how a problem of the train split is solved. */
export interface Shown {
  tokens: number[]
  /** 1 on the tokens of the solver's replies. */
  mask: Uint8Array
}

/** What an algorithm asks the loop to supply, beside the groups. */
export interface Needs {
  /**
   * Logprobs under the model the run began with, under a moving average of the policy that follows it at `rate`, or under the
   * model that the teacher was made from (config: teacherBase; the model the run began with unless given).
   */
  reference?: 'initial' | 'teacher-base' | { rate: number }
  /** Score the policy itself before the first optimizer step: `oldLogprobs`, and `entropy`. */
  old?: boolean
  /** Logprobs under a teacher: another model (config: teacher), or the model itself told the solution in its prompt. */
  teacher?: 'model' | 'privileged'
  /** So many most probable alternatives a token, of the policy and of those of reference and teacher that are asked for. */
  alternatives?: number
  /** A value head: `values`, and its training. */
  values?: boolean
  /** A solved conversation for each group whose task can show one. */
  demonstrations?: boolean
  /** A greedy reply to each problem beside the sampled ones: `greedyReward` of groups. */
  greedy?: boolean
  /** So many episodes of each problem that go on from the beginning of a demonstration: `continuations` of groups. */
  continuations?: number
  /** A token that stands at this place of every prompt that is played, in evaluations of the run too. */
  control?: { token: number; position: number }
}

/** What a step is learnt in. Every random choice derives from `seed` and `step`. */
export interface LearnContext {
  step: number
  seed: number
  /** What the algorithm answered last time as `Lesson.state`; null at first. Kept in checkpoints. */
  state: Json
  /** One per group, where asked for; null where the task shows none. */
  demonstrations?: readonly (Shown | null)[]
}

/** What a step teaches, before aggregation weights. */
export interface Lesson {
  /** Sequences to train on, those of one group next to each other. Weights are still 0. */
  sequences: TrainSequence[]
  /** For each sequence: the index of its group and of its trajectory there; -1 where it is no trajectory of the group. */
  origins: { group: number; trajectory: number }[]
  /** For each sequence: the trajectory of its group whose replies a privileged teacher is told; null: it is told nothing. */
  siblings?: (number | null)[]
  /** Groups that were left out because their rewards are all equal (or there is only one). */
  zeroVarianceGroups: number
  /** Advantage of every trajectory, for display; 0 in groups left out: [group][trajectory][tokens] */
  advantages: Float32Array[][]
  /** What to remember until the next step. */
  state?: Json
  metrics?: Record<string, number>
}

/** A learning algorithm: what to learn from the groups of a step. Pure: the same groups and context give the same lesson. */
export interface Algorithm {
  name: string
  loss: Loss
  needs: Needs
  learn(groups: readonly Group[], context?: LearnContext): Lesson
  /**
   * Where `needs.continuations` are played: how many of the solver's tokens a continuation is given. At least the last one is
   * left to it. Called before `learn` with the same step, seed and state.
   *
   * @param length of the solver's tokens in the demonstration
   * @param index that of the continuation in its group
   */
  prefixLength?(length: number, context: LearnContext, group: number, index: number): number
  /** Called once the sequences hold what `needs` asked for, before they are shared out among optimizer steps. */
  refine?(sequences: readonly TrainSequence[], context?: LearnContext): TrainSequence[]
  /** What to remember in place of `Lesson.state`, once the sequences are scored and refined. Not called where there are none. */
  remember?(state: Json, sequences: readonly TrainSequence[], context?: LearnContext): Json
  /** The sequences of one optimizer batch, with aggregation weights. */
  weigh(sequences: readonly TrainSequence[]): TrainSequence[]
  /** What `compose` made it of, and made: so that parts can be added by name. */
  composition?: { options: ComposeOptions; made: Pick<Algorithm, 'loss' | 'learn' | 'refine' | 'weigh'> }
}
