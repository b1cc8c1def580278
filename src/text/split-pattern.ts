import * as library from '@huggingface/tokenizers'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'

export const patternSchema = z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })])
export const behaviorSchema = z.enum(['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'])
// The package's declarations leave this class out, as they import without file endings.
const { SplitPreTokenizer } = library as unknown as {
  SplitPreTokenizer: new (config: object) => { pattern: RegExp | null }
}

/** What becomes of the matches of a pattern when text is split at them. */
export type SplitBehavior = z.infer<typeof behaviorSchema>

/**
 * A pattern of a tokenizer.json as a JavaScript regular expression (flags `gu`): a literal string, or Oniguruma's dialect,
 * which the Hugging Face library translates.
 *
 * @throws MyriadError 'checkpoint' when the expression cannot be translated.
 */
export function compilePattern(pattern: z.infer<typeof patternSchema>): RegExp {
  if ('String' in pattern) return new RegExp(pattern.String.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'gu')
  try {
    const { pattern: compiled } = new SplitPreTokenizer({ type: 'Split', pattern, behavior: 'Isolated', invert: false })
    if (compiled === null) throw new Error('no expression')
    return compiled
  } catch (error) {
    throw new MyriadError(
      'checkpoint',
      `the pattern ${JSON.stringify(pattern.Regex)} cannot be used: ${messageOf(error)}`,
      { cause: error },
    )
  }
}

/** Splits a text at the matches of a pattern (flags `gu`); empty pieces are left out. */
export function splitBy(text: string, pattern: RegExp, behavior: SplitBehavior): string[] {
  if (behavior === 'Isolated') {
    // Most patterns match every character, and then the matches are the pieces.
    const words: string[] = text.match(pattern) ?? []
    let total = 0
    for (const word of words) total += word.length
    if (total === text.length) return words.includes('') ? words.filter((word) => word !== '') : words
  }
  const pieces: string[] = []
  let start = 0
  const cut = (end: number): void => {
    if (end > start) pieces.push(text.slice(start, end))
    start = end
  }
  let lastEnd = -1
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (match === '') continue
    const end = index + match.length
    switch (behavior) {
      case 'Removed':
        cut(index)
        start = end
        break
      case 'Isolated':
        cut(index)
        cut(end)
        break
      case 'MergedWithPrevious':
        cut(end)
        break
      case 'MergedWithNext':
        cut(index)
        break
      case 'Contiguous':
        // Neighbouring matches are one piece, so the cut after a match waits for what is not one.
        if (index > lastEnd) {
          if (lastEnd >= 0) cut(lastEnd)
          cut(index)
        }
    }
    lastEnd = end
  }
  if (behavior === 'Contiguous' && lastEnd >= 0) cut(lastEnd)
  cut(text.length)
  return pieces
}

/** As {@link splitBy}, but the pattern says what is kept and what lies between its matches is the delimiter. */
export function splitByInverse(text: string, pattern: RegExp, behavior: SplitBehavior): string[] {
  const delimiters: [number, number][] = []
  let end = 0
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (match === '') continue
    if (index > end) delimiters.push([end, index])
    end = index + match.length
  }
  if (end < text.length) delimiters.push([end, text.length])
  const pieces: string[] = []
  let start = 0
  const cut = (at: number): void => {
    if (at > start) pieces.push(text.slice(start, at))
    start = at
  }
  for (const [from, to] of delimiters) {
    if (behavior !== 'MergedWithPrevious') cut(from)
    if (behavior === 'Removed') start = to
    else if (behavior !== 'MergedWithNext') cut(to)
  }
  cut(text.length)
  return pieces
}
