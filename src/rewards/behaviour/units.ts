/** What a text is measured in. */
export type LengthUnit = 'letters' | 'words' | 'tokens'

/** Code units of a text that are looked at: an endless reply costs no more than a long one. */
export const MOST_MEASURED = 1_000_000

const segmenters = new Map<string, Intl.Segmenter>()

function segmenter(language: string | undefined, granularity: 'grapheme' | 'word'): Intl.Segmenter {
  const key = `${granularity} ${language}`
  let known = segmenters.get(key)
  if (!known) {
    const locale = language !== undefined && isLocale(language) ? language : undefined
    segmenters.set(key, (known = new Intl.Segmenter(locale, { granularity })))
  }
  return known
}

function isLocale(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length === 1
  } catch {
    return false
  }
}

const plain = /^[\t\n\r\u0020-\u007e]*$/u

/**
 * Letters as a reader counts them (grapheme clusters), those that show: no spaces, no controls. Counting stops at `atMost`.
 *
 * @example countLetters('क्षत्रिय 👩‍👩‍👧') // 4
 */
export function countLetters(text: string, atMost = Infinity): number {
  const measured = text.slice(0, MOST_MEASURED)
  // Of what is a letter by itself the answer is short.
  if (plain.test(measured)) return Math.min(atMost, measured.replace(/\s/gu, '').length)
  let count = 0
  for (const { segment } of segmenter(undefined, 'grapheme').segment(measured)) {
    if (!/^[\s\p{C}]+$/u.test(segment) && ++count >= atMost) break
  }
  return count
}

/**
 * Words, in scripts with and without spaces (by the dictionaries of Intl.Segmenter). Counting stops at `atMost`.
 *
 * @example countWords('私は猫です', 'ja') // 4
 */
export function countWords(text: string, language?: string, atMost = Infinity): number {
  let count = 0
  for (const { isWordLike } of segmenter(language, 'word').segment(text.slice(0, MOST_MEASURED)))
    if (isWordLike && ++count >= atMost) break
  return count
}

/** Words of a text, the first `atMost` of them. */
export function segmentedWords(text: string, language?: string, atMost = Infinity): string[] {
  const words: string[] = []
  for (const { isWordLike, segment } of segmenter(language, 'word').segment(text.slice(0, MOST_MEASURED))) {
    if (words.length >= atMost) break
    if (isWordLike) words.push(segment)
  }
  return words
}
