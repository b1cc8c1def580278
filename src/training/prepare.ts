import { existsSync } from 'node:fs'
import { deriveSeed, MyriadError } from '../core/index.js'
import { algorithmByName } from '../algorithms/registry.js'
import type { Algorithm, Needs } from '../algorithms/types.js'
import { mixture } from '../curriculum/mixture.js'
import type { Curriculum } from '../curriculum/types.js'
import { adapterShapes, memoryNeeded, readCheckpointConfig, requireMemory } from '../models/index.js'
import { openLocalPolicy } from '../policy/local/index.js'
import type { Policy } from '../policy/types.js'
import { taskById } from '../tasks/registry.js'
import type { ChatFormat } from '../text/types.js'
import { methodOptions, type TrainConfig } from './config.js'
import { configuredScorer, type Scorer } from './scoring.js'
import { configuredTasks, loadModules, type ConfiguredTask } from './setup.js'
import { teacherFolders } from './teachers.js'
import type { TrainOptions } from './train.js'

/** What a configuration and what was given in code amount to. */
export interface Parts {
  tasks: ConfiguredTask[]
  score: Scorer
  algorithm: Algorithm
  curriculum: Curriculum
  open: () => Promise<{ policy: Policy; chat: ChatFormat }>
  openTeacher: (folder: string) => Promise<{ policy: Policy; chat: ChatFormat }>
}

/**
 * Resolves every name in a configuration, before anything is written or any model is opened.
 *
 * @throws MyriadError 'usage' on an unknown task, language, reward, algorithm or module, or where a teacher is missing
 */
export async function prepare(config: TrainConfig, options: TrainOptions): Promise<Parts> {
  const modules = await loadModules(config.modules)
  const tasks = configuredTasks(config, [...(options.tasks ?? []), ...modules.tasks], taskById)
  const rewards = [...(options.rewards ?? []), ...modules.rewards]
  const objectives = [...(options.objectives ?? []), ...modules.objectives]
  const { name, with: parts } = config.algorithm
  const algorithm = options.algorithm ?? algorithmByName(name, methodOptions(config.algorithm), objectives, parts)
  if (algorithm.needs.teacher === 'model') teacherFolders(config, tasks)
  return {
    tasks,
    score: configuredScorer(config.rewards, rewards),
    algorithm,
    curriculum: options.curriculum ?? configuredCurriculum(config, tasks),
    open: () => (options.openPolicy ?? openConfigured)(config, algorithm.needs),
    openTeacher: (folder) => (options.openTeacher ?? openFrozen)(folder, config),
  }
}

function configuredCurriculum(config: TrainConfig, tasks: readonly ConfiguredTask[]): Curriculum {
  if (config.dynamicSampling && (config.curriculum.languagesPerProblem ?? 1) > 1)
    throw new MyriadError(
      'usage',
      'dynamicSampling: it replaces groups one by one, which would take the languages of a problem apart; leave out either ' +
        'this or curriculum.languagesPerProblem',
    )
  return mixture({
    tasks: tasks.map(({ task, languages, difficulty, weight }) => ({ id: task.id, languages, difficulty, weight })),
    groupsPerStep: config.groupsPerStep,
    ...config.curriculum,
  })
}

async function openConfigured(config: TrainConfig, needs: Needs): Promise<{ policy: Policy; chat: ChatFormat }> {
  const { workers, threads, device, memory, adapter, seed, chatTemplate } = config
  await requireTrainable(config)
  return openLocalPolicy(config.model, {
    workers,
    threads,
    device,
    ...memory,
    valueHead: needs.values,
    chatTemplate,
    ...(adapter ? { adapter: { config: adapter, seed: deriveSeed(seed, 'adapter') } } : {}),
  })
}

/** A model to score with. */
function openFrozen(folder: string, config: TrainConfig): Promise<{ policy: Policy; chat: ChatFormat }> {
  const { workers, threads, device, memory, chatTemplate } = config
  const { slots, rowLength, tokenBudget } = memory
  return openLocalPolicy(folder, { workers, threads, device, slots, rowLength, tokenBudget, chatTemplate })
}

/** Refuses, before anything is loaded, a model that this machine has not the memory to train. */
async function requireTrainable({ model, workers, memory, adapter }: TrainConfig): Promise<void> {
  if (!existsSync(model)) return // says so itself when it is opened
  const decoder = await readCheckpointConfig(model)
  const adapted =
    adapter && Object.values(adapterShapes(decoder, adapter)).map((shape) => shape.reduce((a, b) => a * b, 1))
  const train = adapted ? { adapterParameters: adapted.reduce((a, b) => a + b, 0) } : 'all'
  const { tokenBudget, recompute } = memory
  requireMemory(`training ${model}`, memoryNeeded(decoder, { workers, train, tokenBudget, recompute, logitChunk: 512 }))
}
