import type { Json, Random } from '../core/index.js'
import { defineTask, end, type TaskSpec } from './define-task.js'
import type { Outcome, Task } from './types.js'

/** A task of one question and one answer. */
export interface SingleTurnSpec<Data extends Json> extends Omit<TaskSpec<Data>, 'play' | 'maxTurns' | 'outOfTurns'> {
  /** The question, in the language asked for. */
  prompt(data: Data, language: string): string
  /**
   * How good an answer is: a number in [0, 1] (1 is success; well-formed unless 0), a boolean, or a whole outcome.
   */
  score(reply: string, data: Data, language: string): number | boolean | Outcome
  /** A legal answer given without thinking. */
  guess(random: Random, data: Data, language: string): string
  /** A right answer. */
  answer?(data: Data, language: string): string
}

/**
 * Makes a single-turn task of a generator, a prompt and a score.
 *
 * @example
 * const double = singleTurn<{ n: number }>({
 *   id: 'double', description: 'twice a number', languages: ['en', 'sw'], maxReplyTokens: 4,
 *   difficulty: { easiest: 'below 10', hardest: 'below 100' },
 *   generate: (random, { difficulty }) => ({ data: { n: random.integer(0, difficulty < 0.5 ? 9 : 99) } }),
 *   prompt: ({ n }, language) => `${language === 'sw' ? 'mara mbili' : 'double'} ${n}`,
 *   score: (reply, { n }) => parseWhole(reply) === 2 * n,
 *   guess: (random) => String(random.integer(0, 198)),
 *   answer: ({ n }) => String(2 * n),
 * })
 */
export function singleTurn<Data extends Json>(spec: SingleTurnSpec<Data>): Task {
  const { prompt, score, guess, answer, ...task } = spec
  return defineTask<Data>({
    ...task,
    maxTurns: 1,
    play(data, { language }) {
      return {
        messages: [{ role: 'user', content: prompt(data, language) }],
        respond: (reply) => end(outcomeOf(score(reply, data, language))),
        randomReply: (random) => guess(random, data, language),
        ...(answer && { expertReply: () => answer(data, language) }),
      }
    },
  })
}

function outcomeOf(score: number | boolean | Outcome): Outcome {
  if (typeof score === 'object') return score
  const reward = Number(score)
  return { reward, success: reward === 1, wellFormed: reward > 0 }
}
