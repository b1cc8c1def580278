import { RE2JS } from 're2js'
import { MyriadError, messageOf } from '../../core/index.js'

/** Longest pattern, and longest reply it is tried on, in code units. */
const MOST_PATTERN = 2000
const MOST_TEXT = 100_000

export interface PatternOptions {
  /** All of the reply, or a part of it. */
  match?: 'whole' | 'search'
  ignoreCase?: boolean
}

/**
 * A regular expression that runs in time linear in the text (RE2's syntax: no look-around, no back references).
 *
 * @throws MyriadError 'reward' when the pattern is none, or longer than 2,000 code units
 * @example matcherOf('[a-z]+\\d+')('abc123') // true
 */
export function matcherOf(
  pattern: string,
  { match = 'whole', ignoreCase = false }: PatternOptions = {},
): (text: string) => boolean {
  if (pattern.length > MOST_PATTERN)
    throw new MyriadError('reward', `a pattern of ${pattern.length} code units: at most ${MOST_PATTERN} are used`)
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    throw new MyriadError('reward', `the pattern ${JSON.stringify(pattern)} cannot be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return (text) => {
    if (text.length > MOST_TEXT) return false
    return match === 'whole' ? compiled.matcher(text.trim()).matches() : compiled.matcher(text).find()
  }
}
