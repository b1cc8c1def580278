import type { Outcome, Problem, Task } from '../tasks/types.js'
import type { Message } from '../text/types.js'
import type { Transcript } from './types.js'

/** A finished episode for tests: one question, one reply. */
export function makeTranscript(given: {
  reply: string
  prompt?: string
  language?: string
  languages?: readonly string[]
  lexicon?: Task['lexicon']
  data?: Problem['data']
  outcome?: Partial<Outcome>
}): Transcript {
  const { reply, prompt = '?', language = 'en', languages = ['en', 'es', 'sw', 'yo', 'ru', 'ar', 'hi', 'ja'] } = given
  const problem: Problem = { task: 'quiz', language, difficulty: 0, split: 'train', key: 'k', data: given.data ?? null }
  const outcome: Outcome = { reward: 1, success: true, wellFormed: true, ...given.outcome }
  const messages: Message[] = [
    { role: 'user', content: prompt },
    { role: 'assistant', content: reply },
  ]
  const task: Task = {
    id: 'quiz',
    description: '',
    difficulty: { easiest: '', hardest: '' },
    languages,
    maxTurns: 1,
    maxReplyTokens: 16,
    lexicon: given.lexicon,
    generate: () => problem,
    play: () => ({
      messages: messages.slice(0, 1),
      respond: () => ({ messages: [], done: true, outcome }),
      randomReply: () => '',
    }),
  }
  return { task, problem, messages, replies: [reply], outcome }
}
