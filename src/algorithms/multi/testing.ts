/** What tests of this folder and of credit start from. */
import type { Json } from '../../core/index.js'
import { FIRST_STEP } from '../compose.js'
import { testTrajectory } from '../testing.js'
import type { Algorithm, Group, LearnContext, Lesson, Trajectory } from '../types.js'

/** A trajectory with parts: the reward is their sum. */
export function withParts(parts: Record<string, number>, length = 3): Trajectory {
  const reward = Object.values(parts).reduce((sum, part) => sum + part, 0)
  return { ...testTrajectory(reward, { length }), rewardParts: parts }
}

export function groupOf(trajectories: readonly Trajectory[], problem: Partial<Group['problem']> = {}): Group {
  const whole = { ...testTrajectory(0).problem, ...problem }
  return { problem: whole, trajectories: trajectories.map((trajectory) => ({ ...trajectory, problem: whole })) }
}

/** A trajectory of several turns: a prompt of two tokens, then `lengths` sampled ones with one observed token between. */
export function turnsTrajectory(
  reward: number,
  lengths: readonly number[],
  rest: Partial<Trajectory> = {},
): Trajectory {
  const mask = [0, 0, ...lengths.flatMap((length, k) => [...(k > 0 ? [0] : []), ...Array<number>(length).fill(1)])]
  return {
    ...testTrajectory(reward),
    tokens: mask.map((_, t) => t),
    mask: Uint8Array.from(mask),
    logprobs: Float32Array.from(mask, (sampled) => -sampled),
    turns: lengths.length,
    ...rest,
  }
}

export function contextOf(state: Json = null, step = 1): LearnContext {
  return { ...FIRST_STEP, state, step }
}

/** The advantage on the first sampled token of each trajectory that is learnt: [group][trajectory]. */
export function firstAdvantages(lesson: Lesson, groups: readonly Group[]): number[][] {
  return lesson.advantages.map((group, g) => group.map((row, i) => row[groups[g].trajectories[i].mask.indexOf(1)] ?? 0))
}

export function learnt(algorithm: Algorithm, groups: readonly Group[], context = contextOf()): number[][] {
  return firstAdvantages(algorithm.learn(groups, context), groups)
}
