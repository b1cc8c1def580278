import type { Message } from '../text/types.js'
import type { Problem, Outcome } from '../tasks/types.js'
import type { StopReason } from '../policy/types.js'

/** One episode as tokens. Arrays are [tokens]. */
export interface Trajectory {
  problem: Problem
  tokens: number[]
  /** 1 on tokens the policy sampled in this episode. */
  mask: Uint8Array
  /** Log-probabilities reported when sampling; 0 where mask is 0. */
  logprobs: Float32Array
  messages: Message[]
  outcome: Outcome
  reward: number
  /** Weighted parts of the reward, by name. */
  rewardParts: Record<string, number>
  /** Null: the reply carries no language. */
  languageConsistent: boolean | null
  stopReason: StopReason
  /** Policy version that sampled it. */
  version: number
  turns: number
}

/** Trajectories of one problem. */
export interface Group {
  problem: Problem
  trajectories: Trajectory[]
}

/** From the groups of a step to one number per token of each trajectory: [group][trajectory][token]. */
export type AdvantageEstimator = (groups: readonly Group[]) => Float32Array[][]
