import {
  createLanguageIdentifier,
  createScriptCounter,
  createSpanIdentifier,
  isConfusable,
  languageInfo,
  loadIdentifiers,
  type Identifiers,
  type IdentifyLanguage,
  type IdentifySpans,
} from '../../text/index.js'
import { writtenText } from './parts.js'

/** How much of a text is in the language asked for. */
export interface LanguageMeasure {
  /** Letters in the language, in others, and in words whose language cannot be told. */
  target: number
  other: number
  untold: number
  /** Words whose language was told. */
  words: number
  /** Places where two neighbours of these are in different languages. */
  switches: number
  /** Letters of the longest stretch in another language. */
  longestOther: number
}

export interface MeasureOptions {
  /** The language asked for. */
  language: string
  /** Languages it might be in. */
  candidates: readonly string[]
  /** What the problem said: quotations of it and its names do not count. */
  given?: readonly string[]
}

export interface LanguageTools {
  identify: IdentifyLanguage
  spans: IdentifySpans
}

/** Loads the identifiers when they are first needed, once. */
export function createLanguageTools(load: () => Promise<Identifiers> = loadIdentifiers): () => Promise<LanguageTools> {
  let loading: Promise<LanguageTools> | undefined
  return () =>
    (loading ??= load().then((identifiers) => ({
      identify: createLanguageIdentifier(identifiers),
      spans: createSpanIdentifier(identifiers),
    })))
}

/**
 * Measures the languages of a text. Formulas, code, links, quotations of what was given, and names do not count: a name is a
 * stretch of up to three capitalised words, or of Latin letters that the problem itself has.
 *
 * @example measureLanguage('Jibu ni because sijui', { language: 'sw', candidates: ['sw', 'en'] }, spans).switches // 2
 */
export function measureLanguage(
  text: string,
  { language, candidates, given = [] }: MeasureOptions,
  spans: IdentifySpans,
): LanguageMeasure {
  const written = writtenText(text, given)
  const expected = [...new Set([language, ...candidates])]
  const measure: LanguageMeasure = { target: 0, other: 0, untold: 0, words: 0, switches: 0, longestOther: 0 }
  let last: boolean | null = null
  for (const span of spans(written, { candidates: expected })) {
    const inTarget = span.language !== null && isConfusable(span.language, language)
    const said = written.slice(span.start, span.end)
    if (!inTarget && isName(said, given)) continue
    if (span.language === null) {
      measure.untold += span.letters
      continue
    }
    measure.words += span.words
    if (inTarget) measure.target += span.letters
    else {
      measure.other += span.letters
      measure.longestOther = Math.max(measure.longestOther, span.letters)
    }
    if (last !== null && last !== inTarget) measure.switches++
    last = inTarget
  }
  return measure
}

function isName(said: string, given: readonly string[]): boolean {
  const words = said.split(/\s+/u).filter(Boolean)
  if (words.length > 3) return false
  return words.every((word) => /^\p{Lu}/u.test(word)) || given.some((source) => source.includes(said))
}

/**
 * Share of letters in scripts of the language, in [0, 1]; null for a text without letters. Formulas, code and links do not
 * count.
 *
 * @example scriptShare('नमस्ते world', 'hi') // 4 / 9 (marks are counted with the letters they stand on)
 */
export function scriptShare(text: string, language: string, given: readonly string[] = []): number | null {
  const letters = writtenText(text.slice(0, 100_000), given).match(/\p{L}/gu)?.join('') ?? ''
  if (letters === '') return null
  const own = languageInfo(language).scripts
  let fitting = 0
  let all = 0
  for (const [script, count] of createScriptCounter()(letters)) {
    all += count
    if (own.includes(script)) fitting += count
  }
  return all === 0 ? null : fitting / all
}
