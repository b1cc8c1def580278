import { z } from 'zod'
import { normalForm } from './normal-forms.js'
import { nonspacingMarks, punctuation as punctuationRanges } from './unicode-tables.js'

const bertSchema = z.looseObject({
  clean_text: z.boolean().default(true),
  handle_chinese_chars: z.boolean().default(true),
  strip_accents: z.boolean().nullish(),
  lowercase: z.boolean().default(true),
})

// Control characters other than tab and line ends, format characters (but for those newer than the original's tables),
// private use; the replacement character.
const unwanted = /\ufffd|(?![\t\n\r\u0890\u0891\u08e2\u{110cd}\u{13430}-\u{1343f}])[\p{Cc}\p{Cf}\p{Co}]/gu
const whiteSpace = /\p{White_Space}/gu
const nonspacing = classOf(nonspacingMarks, '+')
/** The blocks of Chinese characters that BERT's authors listed. */
const chinese =
  /[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{f900}-\u{faff}\u{2f800}-\u{2fa1f}]/gu

/** What BERT does to text: controls go, all white space is a space, Chinese characters stand alone, accents, case. */
export function createBertNormalizer(config: Readonly<Record<string, unknown>>): (text: string) => string {
  const options = bertSchema.parse(config)
  const stripAccents = options.strip_accents ?? options.lowercase
  return (text) => {
    let result = text
    if (options.clean_text) result = result.replaceAll(unwanted, '').replaceAll(whiteSpace, ' ')
    if (options.handle_chinese_chars) result = result.replaceAll(chinese, ' $& ')
    if (stripAccents) result = normalForm(result, 'NFD').replaceAll(nonspacing, '')
    return options.lowercase ? result.replaceAll('Σ', 'σ').toLowerCase() : result
  }
}

/** Punctuation: Unicode's, and every ASCII sign that is neither letter nor digit. */
export const punctuation = classOf(punctuationRanges)

/** A regular expression (flags `gu`) of a table of ranges in hexadecimal. */
export function classOf(ranges: string, quantifier = ''): RegExp {
  return new RegExp(
    `[${ranges
      .trim()
      .replaceAll(/[0-9a-f]+/g, '\\u{$&}')
      .replaceAll(/\s+/g, '')}]${quantifier}`,
    'gu',
  )
}
