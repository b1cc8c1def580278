import type { Json, Random } from '../core/index.js'
import type { Message } from '../text/types.js'

export type Split = 'train' | 'eval'

/** One thing to do: plain JSON, so that it can cross a network and be replayed. */
export interface Problem {
  task: string
  /** BCP 47. */
  language: string
  /** In [0, 1]; each task says what it means. */
  difficulty: number
  split: Split
  /** What makes this problem itself (not its wording): two problems with one key never fall into different splits. */
  key: string
  data: Json
}

export interface GenerateOptions {
  language: string
  difficulty: number
  split: Split
  /** One seed gives one problem in every language, where the task has it in each: its keys are equal then. */
  shared?: boolean
}

/** What the world answers to a reply. */
export interface Turn {
  /** What the policy reads next; empty when done. */
  messages: Message[]
  done: boolean
  /** How it went; required when done. */
  outcome?: Outcome
  /** What the reply earned on the way: a part of the outcome's reward, not beside it. What no turn tells belongs to the last. */
  reward?: number
}

export interface Outcome {
  /** The task's own reward, usually in [0, 1]. */
  reward: number
  success: boolean
  /** Was the last reply in the form the task asks for? */
  wellFormed: boolean
  /** Parts worth plotting: turns, distance, chrF... */
  metrics?: Record<string, number>
}

/** A problem being played. It answers replies; it never sees the policy. */
export interface Episode {
  messages: Message[]
  respond(reply: string, options?: { signal?: AbortSignal }): Turn | Promise<Turn>
  /** What a player who knows the rules but has no policy would say now: the floor of every comparison. */
  randomReply(random: Random): string
  /** What a player who knows the answer would say now, where one exists: the ceiling. */
  expertReply?(random: Random): string
}

export interface Task {
  id: string
  /** One line for `myriad tasks`. */
  description: string
  /** What 0 and 1 mean. */
  difficulty: { easiest: string; hardest: string }
  languages: readonly string[]
  /** Most replies an episode may have. */
  maxTurns: number
  /** Most tokens a reply needs, with room to spare. */
  maxReplyTokens: number
  /**
   * Words a right reply in each language is made of, besides what the problem itself contains; lets language consistency
   * judge replies too short for an identifier. Null in a language means: replies carry no language (numbers, single letters).
   */
  lexicon?: Readonly<Record<string, readonly string[] | null>>
  generate(seed: number, options: GenerateOptions): Problem
  play(problem: Problem): Episode
}
