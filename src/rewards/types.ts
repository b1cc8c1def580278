import type { Message } from '../text/types.js'
import type { Outcome, Problem, Task } from '../tasks/types.js'

/** A finished episode as rewards see it. */
export interface Transcript {
  task: Task
  problem: Problem
  /** The whole conversation, the policy's replies included. */
  messages: readonly Message[]
  /** The policy's replies only, in order. */
  replies: readonly string[]
  outcome: Outcome
}

/** A number, named parts (they are summed), or null: does not apply here. */
export type RewardValue = number | Readonly<Record<string, number>> | null

/** Scores a finished episode. Throwing drops the trajectory from its group and counts it. */
export interface Reward {
  name: string
  score(transcript: Transcript): RewardValue | Promise<RewardValue>
  /** Many at once, where that is cheaper; equal to `score` of each. An error stands in the place of a transcript that failed. */
  scoreAll?(transcripts: readonly Transcript[]): Promise<(RewardValue | Error)[]>
  /** It compares the attempts at a problem: the loop gives `scoreAll` whole groups. `score` of one alone is null. */
  groupwise?: true
  /** Ends what it holds: processes, sessions. */
  close?(): Promise<void>
}
