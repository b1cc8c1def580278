import { hasVariance } from '../algorithms/advantages.js'
import type { Group, Needs } from '../algorithms/types.js'
import { messageOf } from '../core/index.js'
import type { Assignment, Curriculum } from '../curriculum/types.js'
import type { Policy } from '../policy/types.js'
import type { ChatFormat } from '../text/types.js'
import type { TrainConfig } from './config.js'
import { rollout, type DroppedEpisode, type Rollout, type RolloutItem } from './rollout.js'
import type { Scorer } from './scoring.js'
import type { ConfiguredTask } from './setup.js'

export interface PlayOptions {
  policy: Policy
  chat: ChatFormat
  curriculum: Curriculum
  tasks: readonly ConfiguredTask[]
  score: Scorer
  config: TrainConfig
  needs: Needs
  step: number
}

/** What was played in a step. */
export interface StepPlay {
  /** All of it, in the order it was played. */
  play: Rollout
  /** The groups to learn from. */
  groups: Group[]
}

/**
 * Plays the problems of a step. With `dynamicSampling` groups whose rewards are all equal are replaced by those of further
 * problems that the curriculum is asked for, until none is left or the rounds are over; what is left then stays. DAPO, arXiv
 * 2503.14476, section 3.2, with a bound.
 */
export async function playStep(options: PlayOptions): Promise<StepPlay> {
  const { curriculum, config, step } = options
  const { groupsPerStep, dynamicSampling, seed } = config
  const play = await playAll(options, curriculum.next(step, seed), [])
  const groups = [...play.groups]
  for (let round = 1; round <= (dynamicSampling?.rounds ?? 0); round++) {
    const idle = [...groups.keys()].filter((i) => !hasVariance(groups[i]))
    // Problems that could not be made left room as well.
    const count = idle.length + Math.max(0, groupsPerStep - groups.length)
    if (count === 0) break
    const further = await playAll(options, curriculum.next(step, seed, { round, count }).slice(0, count), [round])
    play.groups.push(...further.groups)
    play.dropped.push(...further.dropped)
    play.sampledTokens += further.sampledTokens
    for (const group of further.groups) {
      if (!hasVariance(group)) continue
      const place = idle.shift()
      if (place === undefined) groups.push(group)
      else groups[place] = group
    }
  }
  return { play, groups }
}

async function playAll(
  { policy, chat, tasks, score, config, needs, step }: PlayOptions,
  assignments: readonly Assignment[],
  labels: readonly number[],
): Promise<Rollout> {
  const { items, failed } = problemsOf(assignments, tasks, config, needs)
  const play = await rollout({
    policy,
    chat,
    items,
    score,
    limits: config.limits,
    seedPath: [config.seed, 'sample', step, ...(labels.length > 0 ? ['round', ...labels] : [])],
  })
  play.dropped.push(...failed)
  return play
}

/** Assignments as problems; those whose task cannot make one are counted as dropped. */
function problemsOf(
  assignments: readonly Assignment[],
  tasks: readonly ConfiguredTask[],
  { samplesPerProblem: samples, temperature }: TrainConfig,
  { greedy }: Needs,
): { items: RolloutItem[]; failed: DroppedEpisode[] } {
  const items: RolloutItem[] = []
  const failed: DroppedEpisode[] = []
  for (const { task: id, language, difficulty, seed, shared } of assignments) {
    const { task, turnRewards } = tasks.find((candidate) => candidate.task.id === id)!
    try {
      const problem = task.generate(seed, { language, difficulty, split: 'train', shared })
      items.push({ task, problem, samples, temperature, turnRewards, greedy })
    } catch (error) {
      const message = `task "${id}" (${language}) could not make a problem: ${messageOf(error)}`
      for (let i = 0; i < samples + (greedy ? 1 : 0); i++) failed.push({ reason: 'task-error', task: id, message })
    }
  }
  return { items, failed }
}
