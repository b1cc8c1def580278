import { editsBetween, type Edits } from './edit-distance.js'
import { isSpace, stripSpace } from './python-space.js'

/** Of what units. */
export type ErrorUnit = 'word' | 'segmented-word' | 'character' | 'grapheme'

/** Rates of errors against a reference; 0 is best. */
export interface ErrorRates {
  /** (substitutions + deletions + insertions) / length of the reference: may be above 1. */
  errorRate: number
  /** The same over matches and all edits: within [0, 1]. */
  matchErrorRate: number
  /** 1 - matches / length of the reference * matches / length of the hypothesis: within [0, 1]. */
  informationLost: number
  edits: Edits
}

/**
 * Word error rate (unit 'word': between spaces, as jiwer does; 'segmented-word': by Intl.Segmenter, for scripts without
 * spaces) or character error rate ('character': code points, as jiwer; 'grapheme': what a reader sees).
 *
 * Morris, Maier and Green 2004, "From WER and RIL to MER and WIL".
 *
 * @throws RangeError when the reference holds no unit: no rate exists
 * @example errorRates('habari za dunia', 'habari ya dunia', 'word').errorRate // 1 / 3
 */
export function errorRates(reference: string, hypothesis: string, unit: ErrorUnit, language?: string): ErrorRates {
  const [wanted, given] = [unitsOf(reference, unit, language), unitsOf(hypothesis, unit, language)]
  if (wanted.length === 0) throw new RangeError(`errorRates: the reference holds no ${unit}`)
  const edits = editsBetween(wanted, given)
  const { matches, substitutions, deletions, insertions } = edits
  const wrong = substitutions + deletions + insertions
  return {
    errorRate: wrong / wanted.length,
    matchErrorRate: wrong / (matches + wrong),
    informationLost: 1 - (given.length === 0 ? 0 : (matches / wanted.length) * (matches / given.length)),
    edits,
  }
}

function unitsOf(text: string, unit: ErrorUnit, language?: string): string[] {
  switch (unit) {
    case 'word':
      return wordsOfJiwer(text)
    case 'character':
      return Array.from(stripSpace(text))
    case 'segmented-word':
      return segments(text, 'word', language)
    case 'grapheme':
      return segments(stripSpace(text), 'grapheme', language)
  }
}

/** Runs of two and more white spaces are one; of single ones only the ASCII space parts words. */
function wordsOfJiwer(text: string): string[] {
  let [plain, spaces] = ['', '']
  for (const character of stripSpace(text)) {
    if (isSpace(character.charCodeAt(0))) spaces += character
    else {
      plain += (spaces.length > 1 ? ' ' : spaces) + character
      spaces = ''
    }
  }
  return plain.split(' ').filter((word) => word !== '')
}

const segmenters = new Map<string, Intl.Segmenter>()

function segments(text: string, granularity: 'word' | 'grapheme', language = 'en'): string[] {
  const key = `${granularity} ${language}`
  let segmenter = segmenters.get(key)
  if (!segmenter) segmenters.set(key, (segmenter = new Intl.Segmenter(language, { granularity })))
  const found: string[] = []
  for (const { segment, isWordLike } of segmenter.segment(text))
    if (granularity === 'grapheme' || isWordLike) found.push(segment)
  return found
}
