import { z } from 'zod'
import type { Random } from '../../core/index.js'
import { objective } from '../objective.js'

/** A step towards a goal, and what it achieved. */
export interface GoalStep<Observation, Action, Goal> {
  observation: Observation
  action: Action
  next: Observation
  goal: Goal
  /** The goal that the next state would have been right for. */
  achieved: Goal
  reward: number
  done: boolean
}

export interface HindsightOptions<Goal> {
  /** Goals of later steps ('future'), or that of the last ('final'). */
  strategy: 'future' | 'final'
  /** Copies of each step with other goals, of 'future': 4 means that 80% of what is replayed is relabelled. */
  goals: number
  /** What a step earns that achieved one goal where another was asked for. */
  reward(achieved: Goal, goal: Goal): { reward: number; done: boolean }
  random: Random
}

/**
 * The steps of an episode told anew, as if what was achieved later (at or after the step) had been the goal. The originals
 * are not among the result. The observation does not change: the goal must be read from `goal`.
 *
 * Source: hindsight experience replay, arXiv 1707.01495.
 *
 * @example relabelHindsight(episode, { strategy: 'final', goals: 1, reward, random })
 */
export function relabelHindsight<Observation, Action, Goal>(
  episode: readonly GoalStep<Observation, Action, Goal>[],
  { strategy, goals, reward, random }: HindsightOptions<Goal>,
): GoalStep<Observation, Action, Goal>[] {
  const last = episode.length - 1
  return episode.flatMap((step, t) => {
    const chosen = strategy === 'final' ? [last] : Array.from({ length: goals }, () => random.integer(t, last))
    return chosen.map((at) => {
      const goal = episode[at].achieved
      return { ...step, goal, ...reward(step.achieved, goal) }
    })
  })
}

export const hindsight = objective({
  kind: 'function',
  name: 'hindsight',
  family: 'value-based',
  summary: 'Episodes that missed their goal are replayed as if what they achieved had been the goal.',
  formula:
    "g' = achieved(s_j), j >= t at random (future, k copies) or the last (final);  r' = reward(achieved(s_t+1), g')",
  reference: 'HER, arXiv 1707.01495; with texts as goals SAC-GLAM, arXiv 2410.12481',
  standing: 'second-hand',
  use: 'Goals that can be named after the fact, and rewards too sparse to meet by chance. Off-policy learners only.',
  rows: ['A096', 'A072'],
  options: z.strictObject({
    strategy: z.enum(['future', 'final']).default('future'),
    goals: z.number().int().positive().default(4),
  }),
  make:
    (options) =>
    <Observation, Action, Goal>(
      episode: readonly GoalStep<Observation, Action, Goal>[],
      given: Pick<HindsightOptions<Goal>, 'reward' | 'random'>,
    ): GoalStep<Observation, Action, Goal>[] =>
      relabelHindsight(episode, { ...options, ...given }),
})
