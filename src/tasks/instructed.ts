import type { Message } from '../text/types.js'
import type { Task } from './types.js'

/** A system message for every problem, or one for each language. */
export type Instruction = string | Readonly<Record<string, string>>

/**
 * The same task, told the model beforehand: each episode begins with a system message. For models that know nothing of the
 * task's terse wording. Languages without an instruction get none.
 *
 * @example instructed(arithmetic, { en: 'Answer with one number in words.', es: 'Responde con un número en letras.' })
 */
export function instructed(task: Task, instruction: Instruction): Task {
  const { id, description, difficulty, languages, maxTurns, maxReplyTokens } = task
  return {
    id,
    description,
    difficulty,
    languages,
    maxTurns,
    maxReplyTokens,
    get lexicon() {
      return task.lexicon
    },
    generate: (seed, options) => task.generate(seed, options),
    play(problem) {
      const episode = task.play(problem)
      const content = typeof instruction === 'string' ? instruction : instruction[problem.language]
      if (content === undefined) return episode
      const system: Message = { role: 'system', content }
      return {
        messages: [system, ...episode.messages],
        respond: (reply, options) => episode.respond(reply, options),
        randomReply: (random) => episode.randomReply(random),
        ...(episode.expertReply ? { expertReply: (random) => episode.expertReply!(random) } : {}),
      }
    },
  }
}
