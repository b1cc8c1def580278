import { MyriadError, createRandom, deriveSeed } from '../core/index.js'
import { arithmetic } from './arithmetic.js'
import { declaration } from './declaration.js'
import { facts } from './facts.js'
import { guess } from './guess.js'
import { larger } from './larger.js'
import { lookup } from './lookup.js'
import { maze } from './maze.js'
import { nim } from './nim.js'
import { quiz } from './quiz.js'
import { reverse } from './reverse.js'
import { sort } from './sort.js'
import { sums } from './sums.js'
import { translate } from './translate.js'
import type { Task } from './types.js'

/** Those the base model that comes with Myriad was made for: its tokenizer and instruction are built from them. */
export const baseModelTasks: readonly Task[] = [
  sort,
  reverse,
  larger,
  guess,
  maze,
  nim,
  facts,
  lookup,
  translate,
  declaration,
  arithmetic,
]

const builtIn: readonly Task[] = [...baseModelTasks, sums, quiz]

/** The built-in tasks. */
export function listTasks(): readonly Task[] {
  return builtIn
}

/**
 * A built-in task by its id.
 *
 * @throws MyriadError 'usage' that lists the known ids
 */
export function taskById(id: string): Task {
  const task = builtIn.find((candidate) => candidate.id === id)
  if (task === undefined)
    throw new MyriadError('usage', `unknown task "${id}"; known: ${builtIn.map((known) => known.id).join(', ')}`)
  return task
}

/** A task as `myriad tasks` prints it. */
export interface TaskDescription {
  id: string
  description: string
  easiest: string
  hardest: string
  languages: readonly string[]
  maxTurns: number
  /** A problem's first message in the first language, and a right first reply. */
  example: { prompt: string; reply: string }
}

/** What there is to do: one row for each task. */
export function describeTasks(tasks: readonly Task[] = builtIn): TaskDescription[] {
  return tasks.map((task) => ({
    id: task.id,
    description: task.description,
    ...task.difficulty,
    languages: task.languages,
    maxTurns: task.maxTurns,
    example: exampleOf(task),
  }))
}

function exampleOf(task: Task): { prompt: string; reply: string } {
  const episode = task.play(task.generate(1, { language: task.languages[0], difficulty: 0.5, split: 'train' }))
  const random = createRandom(deriveSeed('example', task.id))
  return {
    prompt: episode.messages.map((message) => message.content).join('\n'),
    reply: episode.expertReply?.(random) ?? episode.randomReply(random),
  }
}
