import type { Group } from '../algorithms/types.js'
import type { Json } from '../core/index.js'

/** A problem to be generated and played by a group: `task.generate(seed, { language, difficulty, split: 'train' })`. */
export interface Assignment {
  task: string
  language: string
  difficulty: number
  seed: number
  /** It is asked in further languages: the option of that name of `task.generate`. */
  shared?: boolean
}

/**
 * Chooses what to try next from what happened so far. Its choice depends on its state and the arguments alone, and its
 * state is plain JSON, so that a resumed run makes the same choices.
 */
export interface Curriculum {
  /**
   * The problems of a step, one per group.
   *
   * @param refill further ones for the same step, in place of `count` groups that taught nothing; rounds count from 1
   */
  next(step: number, seed: number, refill?: { round: number; count: number }): Assignment[]
  /** Told once per step what came of them, groups without a trajectory included. */
  observe(groups: readonly Group[]): void
  state(): Json
  /** Takes what `state` gave. */
  restore(state: Json): void
}

/** A task as a curriculum sees it. */
export interface CurriculumTask {
  id: string
  /** BCP 47 tags; each gets the same share. */
  languages: readonly string[]
  /** Difficulties are drawn uniformly from [low, high] within [0, 1]. */
  difficulty: readonly [number, number]
  /** Share of this task relative to the others'. */
  weight: number
}
