import { countSyllables } from './syllables.js'

/** What a text is measured in. */
export const LENGTH_UNITS = ['letters', 'graphemes', 'words', 'sentences', 'syllables'] as const
export type LengthUnit = (typeof LENGTH_UNITS)[number]

/**
 * Words, as the language has them: with or without spaces between them (`Intl.Segmenter`).
 *
 * @example countWords('今日はいい天気です', 'ja') // 5
 */
export function countWords(text: string, language: string): number {
  let words = 0
  for (const { isWordLike } of new Intl.Segmenter(language, { granularity: 'word' }).segment(text))
    if (isWordLike) words++
  return words
}

/**
 * Sentences that have a letter or a digit; the marks that end them are those of Unicode for all scripts (`。`, `।`, `።`, `؟`).
 *
 * @example countSentences('कल आना। अच्छा?', 'hi') // 2
 */
export function countSentences(text: string, language: string): number {
  let sentences = 0
  for (const { segment } of new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text))
    // Unicode's rules leave Ethiopic full stops aside.
    for (const part of segment.split(/[።፧]+/u)) if (/[\p{L}\p{N}]/u.test(part)) sentences++
  return sentences
}

/** Letters: characters of the general category L, without marks, digits and punctuation. */
export function countLetters(text: string): number {
  return text.match(/\p{L}/gu)?.length ?? 0
}

/** What a reader takes for characters, spaces and punctuation included. */
export function countGraphemes(text: string, language = 'en'): number {
  let graphemes = 0
  for (const _ of new Intl.Segmenter(language, { granularity: 'grapheme' }).segment(text)) graphemes++
  return graphemes
}

/** A text's length in a unit. */
export function countUnits(text: string, unit: LengthUnit, language: string): number {
  switch (unit) {
    case 'letters':
      return countLetters(text)
    case 'graphemes':
      return countGraphemes(text, language)
    case 'words':
      return countWords(text, language)
    case 'sentences':
      return countSentences(text, language)
    case 'syllables':
      return countSyllables(text, language)
  }
}

/**
 * Length of a text over that of its source, in one unit; the source counts at least 1.
 *
 * @example lengthRatio({ text: 'Good morning', language: 'en' }, { text: 'Habari za asubuhi', language: 'sw' }, 'syllables') // 8 / 3
 */
export function lengthRatio(
  source: { text: string; language: string },
  target: { text: string; language: string },
  unit: LengthUnit,
): number {
  return countUnits(target.text, unit, target.language) / Math.max(1, countUnits(source.text, unit, source.language))
}
