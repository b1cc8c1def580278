import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import type { Problem, Task } from '../tasks/types.js'
import type { Message } from '../text/types.js'
import type { Transcript } from './types.js'

const text = z.string()

/** A reply to be scored without a task: what `myriad score` reads, one JSON object a line. Other fields are problem data. */
export const sampleSchema = z.looseObject({
  /** The reply; or several, the last of which most rewards look at. */
  reply: text.optional(),
  replies: z.array(text).min(1).optional(),
  /** What was asked; or the whole conversation, the replies included. */
  prompt: text.optional(),
  messages: z.array(z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']), content: text })).optional(),
  /** BCP 47, of the reply asked for ('en'). */
  language: text.optional(),
  /** Languages that are possible; the one asked for unless given. */
  languages: z.array(text).min(1).optional(),
  task: text.optional(),
})

export type Sample = z.input<typeof sampleSchema>

const own = ['reply', 'replies', 'prompt', 'messages', 'language', 'languages', 'task']

/**
 * A transcript out of a sample: fields beside the ones above (`answer`, `references`, `source`, `tests` ...) become the
 * problem's data, where rewards look for them. The outcome is neutral: reward 0, no success, well-formed.
 *
 * @throws MyriadError 'usage' naming the field that is wrong
 * @example transcriptOf({ prompt: 'Capital of Kenya?', reply: 'Nairobi', answer: 'Nairobi' })
 */
export function transcriptOf(given: Sample): Transcript {
  const parsed = sampleSchema.safeParse(given)
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues
    throw new MyriadError('usage', `sample: ${path.join('.') || 'the line'}: ${message}`)
  }
  const sample = parsed.data
  const said = (sample.messages ?? []) as Message[]
  const spoken = said.filter(({ role }) => role === 'assistant').map(({ content }) => content)
  const replies = sample.replies ?? (sample.reply === undefined ? spoken : [sample.reply])
  if (replies.length === 0)
    throw new MyriadError('usage', 'sample: give "reply", "replies", or "messages" with one of the assistant')
  const asked: Message[] = sample.prompt === undefined ? [] : [{ role: 'user', content: sample.prompt }]
  const messages: Message[] = said.length > 0 ? [...said] : [...asked]
  if (spoken.length === 0) for (const content of replies) messages.push({ role: 'assistant', content })
  const data = Object.fromEntries(Object.entries(sample).filter(([key]) => !own.includes(key))) as Problem['data']
  const language = sample.language ?? 'en'
  const problem: Problem = {
    task: sample.task ?? 'sample',
    language,
    difficulty: 0,
    split: 'eval',
    key: 'sample',
    data,
  }
  const outcome = { reward: 0, success: false, wellFormed: true }
  return { task: sampleTask(problem, messages, sample.languages ?? [language]), problem, messages, replies, outcome }
}

/** Stands where a transcript names its task: it can only be asked what it is. */
function sampleTask(problem: Problem, messages: Message[], languages: readonly string[]): Task {
  return {
    id: problem.task,
    description: 'a reply from outside',
    difficulty: { easiest: '', hardest: '' },
    languages,
    maxTurns: 1,
    maxReplyTokens: 1,
    generate: () => problem,
    play: () => ({
      messages: messages.filter(({ role }) => role !== 'assistant'),
      respond: () => ({ messages: [], done: true, outcome: { reward: 0, success: false, wellFormed: true } }),
      randomReply: () => '',
    }),
  }
}
