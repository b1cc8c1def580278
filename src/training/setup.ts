import { pathToFileURL } from 'node:url'
import type { Objective } from '../algorithms/objective.js'
import { isObjective } from '../algorithms/registry.js'
import { MyriadError, messageOf } from '../core/index.js'
import type { EvaluationTask } from '../evaluation/types.js'
import type { Reward } from '../rewards/types.js'
import { instructed } from '../tasks/instructed.js'
import type { Task } from '../tasks/types.js'
import type { TrainConfig } from './config.js'

/** Tasks, rewards and objectives of a user's own, beside the built-in ones. */
export interface Extensions {
  tasks: readonly Task[]
  rewards: readonly Reward[]
  objectives: readonly Objective[]
}

/**
 * Imports modules of a configuration and collects the tasks, rewards and objectives they export, by any name, singly or in arrays.
 *
 * @throws MyriadError 'usage' when a module cannot be imported or exports none of them
 */
export async function loadModules(paths: readonly string[]): Promise<Extensions> {
  const tasks: Task[] = []
  const rewards: Reward[] = []
  const objectives: Objective[] = []
  for (const path of paths) {
    let exported: Record<string, unknown>
    try {
      exported = (await import(pathToFileURL(path).href)) as Record<string, unknown>
    } catch (error) {
      throw new MyriadError('usage', `modules: ${path} cannot be imported: ${messageOf(error)}.`, {
        cause: error,
      })
    }
    const values = Object.values(exported).flat()
    const own = {
      tasks: values.filter(isTask),
      rewards: values.filter(isReward),
      objectives: values.filter(isObjective),
    }
    if (own.tasks.length + own.rewards.length + own.objectives.length === 0) {
      throw new MyriadError('usage', `modules: ${path} exports no task, reward or objective`)
    }
    tasks.push(...own.tasks)
    rewards.push(...own.rewards)
    objectives.push(...own.objectives)
  }
  return { tasks, rewards, objectives }
}

function isTask(value: unknown): value is Task {
  const task = value as Partial<Task> | null
  return (
    typeof value === 'object' &&
    typeof task?.id === 'string' &&
    typeof task.generate === 'function' &&
    typeof task.play === 'function' &&
    Array.isArray(task.languages)
  )
}

function isReward(value: unknown): value is Reward {
  const reward = value as Partial<Reward> | null
  return typeof value === 'object' && typeof reward?.name === 'string' && typeof reward.score === 'function'
}

/** A configured task with what the configuration leaves to it filled in. */
export interface ConfiguredTask extends EvaluationTask {
  weight: number
  /** Keep what the task says that turns earned on their way (true). */
  turnRewards?: boolean
}

/**
 * The tasks a configuration names.
 *
 * @throws MyriadError 'usage' on an unknown task, one named twice, or a language it does not speak
 */
export function configuredTasks(
  config: Pick<TrainConfig, 'tasks'>,
  own: readonly Task[],
  builtIn: (id: string) => Task,
): ConfiguredTask[] {
  const seen = new Set<string>()
  return config.tasks.map(({ id, languages, difficulty, weight, instruction, turnRewards }, i) => {
    if (seen.has(id)) throw new MyriadError('usage', `tasks[${i}].id: task "${id}" is named twice`)
    seen.add(id)
    const owned = own.find((candidate) => candidate.id === id)
    const task = owned ?? builtIn(id)
    const unknown = languages?.find((language) => !task.languages.includes(language))
    if (unknown !== undefined) {
      const known = task.languages.join(', ')
      throw new MyriadError('usage', `tasks[${i}].languages: task "${id}" has no "${unknown}"; it has ${known}`)
    }
    const told = instruction === undefined ? task : instructed(task, instruction)
    return {
      task: told,
      languages: languages ?? task.languages,
      difficulty,
      weight,
      turnRewards: turnRewards ?? owned !== undefined,
    }
  })
}
