import { createRandom } from '../core/index.js'
import { answersOf } from './answers.js'
import type { Transcript } from './types.js'

/** The policy's last reply; empty when it said nothing. */
export function lastReply({ replies }: Pick<Transcript, 'replies'>): string {
  return replies[replies.length - 1] ?? ''
}

/** A text field of a problem's data, by convention `source`, `context`, `schema` ...; null when it is not there. */
export function dataField(transcript: Transcript, field: string): unknown {
  const { data } = transcript.problem
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return null
  return (data as Readonly<Record<string, unknown>>)[field] ?? null
}

/** What was asked: `data.source` where the problem carries it, else the first message of the user. */
export function sourceOf(transcript: Transcript): string | null {
  const source = dataField(transcript, 'source')
  if (typeof source === 'string') return source
  return transcript.messages.find(({ role }) => role === 'user')?.content ?? null
}

/**
 * What a right reply may look like: `data.answer`, `data.answers` or `data.references` of the problem, else what the task's
 * own solver says first. Null where neither exists.
 *
 * @throws MyriadError 'reward' when such a field is there but is no text
 */
export function referencesOf(transcript: Transcript): readonly string[] | null {
  const answers = answersOf(transcript.problem)
  if (answers) return answers
  const episode = transcript.task.play(transcript.problem)
  return episode.expertReply ? [episode.expertReply(createRandom(0))] : null
}
