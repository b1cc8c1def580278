import { createHash } from 'node:crypto'
import { RE2JS } from 're2js'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Group, Trajectory } from '../types.js'

/** The final answer of a trajectory; null where none can be told. */
export type AnswerExtractor = (trajectory: Trajectory) => string | null

/**
 * The whole of the last reply as its answer: trimmed, in Unicode normal form C. Null when it is empty or there is none.
 *
 * @example lastReply(trajectory) // '42'
 */
export function lastReply(trajectory: Trajectory): string | null {
  const last = trajectory.messages.findLast(({ role }) => role === 'assistant')
  return last?.content.normalize('NFC').trim() || null
}

/**
 * An extractor of answers. Without a pattern the whole last reply is the answer; with one it is the first group (or the
 * whole) of its last match there, trimmed, and null where nothing matches.
 *
 * @param pattern a regular expression in the syntax of RE2 (no look-around, no back-references), matched in linear time: a
 *   reply cannot make it hang
 * @throws MyriadError 'usage' on a pattern that is no regular expression
 * @example answerExtractor('answer: (.+)')(trajectory)
 */
export function answerExtractor(pattern?: string): AnswerExtractor {
  if (pattern === undefined) return lastReply
  const expression = expressionOf(pattern)
  return (trajectory) => {
    const reply = lastReply(trajectory)
    if (reply === null) return null
    const matcher = expression.matcher(reply)
    let answer: string | null = null
    while (matcher.find()) answer = (matcher.groupCount() > 0 ? matcher.group(1) : null) ?? matcher.group(0)
    return answer?.trim() || null
  }
}

function expressionOf(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    throw new MyriadError('usage', `answer pattern ${JSON.stringify(pattern)} is no regular expression`, {
      cause: error,
    })
  }
}

export const answerOptions = {
  /** A regular expression whose first group, at its last match in the last reply, is the answer; the whole reply unless given. */
  answer: z.string().optional(),
}

/** A short name for a text, the same everywhere: keys of what is remembered. 72 bits. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12)
}

/** What makes the problem of a group itself, as a digest. */
export function problemDigest({ problem }: Pick<Group, 'problem'>): string {
  return digest(JSON.stringify([problem.task, problem.language, problem.key]))
}
