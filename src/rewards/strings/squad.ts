import { isAsciiPunctuation, splitSpace } from './python-space.js'

export interface SquadOptions {
  /**
   * `squad`, unless given: lower case, without ASCII punctuation and the words a, an, the, split at white space, as the official
   * script; `unicode`: lower case, NFC, without any punctuation or symbol, words by Intl.Segmenter, for every script.
   */
  normalization?: 'squad' | 'unicode'
  /** BCP 47, for `unicode`. */
  language?: string
}

/**
 * 1 when an answer is a reference after normalization, else 0. Rajpurkar et al. 2016 (arXiv 1606.05250).
 *
 * @example squadExact('The Nile!', 'nile') // 1
 */
export function squadExact(answer: string, reference: string, options: SquadOptions = {}): number {
  return wordsOf(answer, options).join(' ') === wordsOf(reference, options).join(' ') ? 1 : 0
}

/**
 * Harmonic mean of precision and recall of the words of an answer. Two answers without a word are equal.
 *
 * @example squadF1('the river Nile', 'Nile') // 2 / 3
 */
export function squadF1(answer: string, reference: string, options: SquadOptions = {}): number {
  const [given, wanted] = [wordsOf(answer, options), wordsOf(reference, options)]
  if (given.length === 0 || wanted.length === 0) return given.length === wanted.length ? 1 : 0
  const left = new Map<string, number>()
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1)
  let common = 0
  for (const word of given) {
    const count = left.get(word) ?? 0
    if (count === 0) continue
    common++
    left.set(word, count - 1)
  }
  return (2 * common) / (given.length + wanted.length)
}

function wordsOf(text: string, { normalization = 'squad', language = 'en' }: SquadOptions): string[] {
  if (normalization === 'unicode') {
    const segmenter = new Intl.Segmenter(language, { granularity: 'word' })
    const plain = text
      .normalize('NFC')
      .toLowerCase()
      .replace(/[\p{P}\p{S}]+/gu, ' ')
    return [...segmenter.segment(plain)].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
  }
  let plain = ''
  for (const character of text.toLowerCase()) if (!isAsciiPunctuation(character.codePointAt(0)!)) plain += character
  // Words by Python's \b: letters, digits and marks of any script are no boundary.
  return splitSpace(plain.replace(/(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu, ' '))
}
