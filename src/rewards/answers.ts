import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { normalizeText, toAsciiDigits } from '../text/index.js'
import type { Problem } from '../tasks/types.js'

const answersSchema = z.object({
  answer: z.string().optional(),
  answers: z.array(z.string()).min(1).optional(),
  references: z.array(z.string()).min(1).optional(),
})

/**
 * The right answers that a problem carries by convention: `data.answer`, `data.answers` or `data.references`. Null when
 * it carries none.
 *
 * @throws MyriadError 'reward' when such a field is there but is no text.
 */
export function answersOf(problem: Problem): readonly string[] | null {
  if (typeof problem.data !== 'object' || problem.data === null || Array.isArray(problem.data)) return null
  const result = answersSchema.safeParse(problem.data)
  if (!result.success) {
    const issue = result.error.issues[0]
    throw new MyriadError(
      'reward',
      `problem ${problem.task}/${problem.key}: data.${issue.path.join('.')}: ${issue.message}`,
    )
  }
  const { answer, answers, references } = result.data
  return answers ?? references ?? (answer === undefined ? null : [answer])
}

// A full stop, in the scripts that have one of their own, and what may stand for it.
const finalMarks = /[\s.。．｡।॥۔։።!！?？؟]+$/u

/**
 * A reply as an answer is compared: Unicode normal form, one case, ASCII digits, no final full stop.
 *
 * @example normalizeAnswer(' École ४२。') // 'école 42'
 */
export function normalizeAnswer(text: string): string {
  return toAsciiDigits(normalizeText(text, { foldCase: true })).replace(finalMarks, '')
}

/**
 * Is the reply one of the accepted answers? Compared after `normalizeAnswer`, so native digits count as the same number.
 *
 * @example matchesAnswer('٤٢', ['42']) // true
 */
export function matchesAnswer(reply: string, accepted: readonly string[]): boolean {
  const normal = normalizeAnswer(reply)
  return accepted.some((answer) => normalizeAnswer(answer) === normal)
}
