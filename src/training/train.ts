import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Objective } from '../algorithms/objective.js'
import type { Algorithm, Needs } from '../algorithms/types.js'
import type { Curriculum } from '../curriculum/types.js'
import { MyriadError } from '../core/index.js'
import { modelFingerprint } from '../models/index.js'
import type { Policy } from '../policy/types.js'
import type { Reward } from '../rewards/types.js'
import type { Task } from '../tasks/types.js'
import type { ChatFormat } from '../text/types.js'
import { parseConfig, type TrainConfig, type TrainConfigInput } from './config.js'
import { controlled } from './control.js'
import { prepare, type Parts } from './prepare.js'
import { openRun, readRunConfig } from './run-folder.js'
import { openSupply, type Supply } from './supply.js'
import { Trainer } from './trainer.js'
import type { Summary, TrainEvent } from './types.js'

export interface TrainOptions {
  /** The run folder; runs/NAME-seedSEED unless given. */
  out?: string
  /** Go on with the run in that folder. */
  resume?: boolean
  /** Told what happens, as it happens. */
  onEvent?: (event: TrainEvent) => void
  /** When aborted, the step in flight is finished and saved, and the summary so far comes back with `finished: false`. */
  signal?: AbortSignal
  /** Tasks of your own, beside the built-in ones; the configuration names them by id. */
  tasks?: readonly Task[]
  /** Rewards of your own; the configuration gives their weights by name. */
  rewards?: readonly Reward[]
  /** Objectives of your own; the configuration names them in `algorithm`. */
  objectives?: readonly Objective[]
  /** Another algorithm, curriculum or policy than the configuration describes. */
  algorithm?: Algorithm
  curriculum?: Curriculum
  openPolicy?: (config: TrainConfig, needs: Needs) => Promise<{ policy: Policy; chat: ChatFormat }>
  /** Opens a teacher in another way than as a model folder. */
  openTeacher?: (folder: string, config: TrainConfig) => Promise<{ policy: Policy; chat: ChatFormat }>
}

/**
 * Trains a model by reinforcement: the curriculum picks problems, the policy plays them, rewards score, the algorithm says
 * what to learn, the policy learns; evaluated before and after. Everything goes into the run folder, from which a run that
 * was stopped at any moment goes on as if it had not been.
 *
 * @example
 * const summary = await train({ model: 'models/base', tasks: [{ id: 'sort' }], steps: 50 }, { out: 'runs/sort' })
 * @throws MyriadError 'usage' on a wrong configuration, 'numeric' after several steps in a row that were not finite, 'io'
 * when the disk is full; what was written until then is kept
 */
export async function train(input: TrainConfigInput, options: TrainOptions = {}): Promise<Summary> {
  const config = parseConfig(input)
  const parts = await prepare(config, options)
  const run = await openRun(
    options.out ?? join('runs', `${config.name}-seed${config.seed}`),
    config,
    options.resume ?? false,
    await baseOf(config, parts, options),
  )
  const earlier = await run.summary()
  if (earlier) return earlier
  const { policy, chat: plain } = await parts.open()
  let supply: Supply | undefined
  try {
    const { tasks, openTeacher, algorithm } = parts
    const chat = controlled(plain, algorithm.needs.control)
    supply = await openSupply({ policy, chat, needs: algorithm.needs, config, tasks, openTeacher })
    return await new Trainer({ config, options, parts, run, policy, chat, supply }).run()
  } catch (error) {
    await run.abandon()
    if (!(error instanceof MyriadError && error.code === 'io')) throw error
    const message = `${error.message}. What was written before is whole; make room and resume the run in ${run.path}.`
    throw new MyriadError('io', message, { cause: error })
  } finally {
    await supply?.close()
    await policy.close()
    await parts.score.close?.()
  }
}

/** The fingerprint of the model that a run reads again when it is resumed: an adapter lies over it, or a loss refers to it. */
async function baseOf(config: TrainConfig, parts: Parts, options: TrainOptions): Promise<string | null> {
  const { reference } = parts.algorithm.needs
  const isOther = reference === 'teacher-base' && config.teacherBase !== undefined
  const isRead = config.adapter !== undefined || (reference !== undefined && !isOther)
  if (!isRead || options.openPolicy || !existsSync(config.model)) return null
  return modelFingerprint(config.model)
}

/** Goes on with the run in a folder, by the configuration it was begun with. */
export async function resumeTraining(
  out: string,
  options: Omit<TrainOptions, 'out' | 'resume'> = {},
): Promise<Summary> {
  return train(await readRunConfig(out), { ...options, out, resume: true })
}
