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
  if ('String' in pattern) return new RegExp(pattern.String.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'gu')
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

/**
 * Splits a text at the matches of a pattern (flags `gu`); empty pieces are left out.
 *
 * @param invert The matches are what is kept, and what lies between them is the delimiter.
 */
export function splitBy(text: string, pattern: RegExp, behavior: SplitBehavior, invert = false): string[] {
  if (behavior === 'Isolated') {
    // Most patterns match every character, and then the matches are the pieces.
    const words: string[] = text.match(pattern) ?? []
    let total = 0
    for (const word of words) total += word.length
    if (total === text.length) return words.includes('') ? words.filter((word) => word !== '') : words
  }
  const pieces: string[] = []
  // The text is a row of stretches that are delimiters or not. Each is a piece of its own, is left out, or joins its
  // neighbour: then the piece before it stays open.
  let open = ''
  let openIsDelimiter = false
  const close = (): void => {
    if (open !== '') pieces.push(open)
    open = ''
  }
  const take = (stretch: string, isDelimiter: boolean): void => {
    const joins =
      (behavior === 'MergedWithPrevious' && isDelimiter && !openIsDelimiter) ||
      (behavior === 'MergedWithNext' && !isDelimiter && openIsDelimiter) ||
      (behavior === 'Contiguous' && isDelimiter === openIsDelimiter)
    if (!joins) close()
    if (behavior !== 'Removed' || !isDelimiter) open += stretch
    openIsDelimiter = isDelimiter
  }
  let end = 0
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (match === '') continue
    if (index > end) take(text.slice(end, index), invert)
    take(match, !invert)
    end = index + match.length
  }
  if (end < text.length) take(text.slice(end), invert)
  close()
  return pieces
}
