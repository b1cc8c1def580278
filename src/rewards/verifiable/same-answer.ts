import { MyriadError } from '../../core/index.js'
import { matchesAnswer, normalizeAnswer } from '../answers.js'
import { compareChoices, labelsIn, readChoice } from './choices.js'
import { compareDates, readDate } from './dates.js'
import type { Tolerance } from './exact.js'
import {
  extractAnswers,
  foldedAnswer,
  isStated,
  MOST_ANSWER,
  trimAnswer,
  withoutThinking,
  type ExtractedAnswers,
} from './extract.js'
import { isInterval, sameInterval } from './intervals.js'
import { compareJson, findJson } from './json-answer.js'
import { readMath } from './math-parser.js'
import { sameNumber, type NumberOptions } from './numbers.js'
import { readNumber } from './read-number.js'
import { matcherOf, type PatternOptions } from './regex-answer.js'
import { sameMath } from './same-math.js'
import { compareSets, wordy } from './sets.js'
import { lastQuantity, readQuantity, sameQuantity } from './units.js'
import { readYesNo } from './yes-no.js'

export const ANSWER_TYPES = [
  'auto',
  'number',
  'math',
  'set',
  'interval',
  'choice',
  'date',
  'unit',
  'boolean',
  'json',
  'regex',
  'text',
] as const

export type AnswerType = (typeof ANSWER_TYPES)[number]

export interface AnswerOptions extends NumberOptions, PatternOptions {
  type?: AnswerType
  /** BCP 47, of the reply: decides between 1,000 and 1.000. */
  language?: string
  /** Of the expected answer, where it is another. */
  expectedLanguage?: string
  /** Texts of the options of a multiple choice, in order. */
  choices?: readonly string[]
  /** What several different answers in one reply count as: none, the first or the last. */
  several?: 'reject' | 'first' | 'last'
}

/** What came of comparing a reply with the expected answer. */
export interface AnswerVerdict {
  equal: boolean
  /** 1 when equal; below it, partial credit: of sets, JSON, dates, intervals, several choices. */
  score: number
  /** What was taken for the answer; null when there was none. */
  extracted: string | null
  /** One line for people. */
  why: string
  /** False where this library cannot tell and a computer algebra system may. */
  decided: boolean
}

interface Compared {
  equal: boolean
  share?: number
  decided?: boolean
  why?: string
}

/**
 * Does a reply give the expected answer?
 *
 * The answer is looked for in the reply (`extractAnswers`), read as its type says, and compared by what it means: 0.5 is 1/2, ٣٫١٤ is
 * 3.14, {1,2} is {2,1}. `auto` takes the type from the expected answer. Deterministic; time linear in the reply, and bounded in
 * what is read of it.
 *
 * @throws MyriadError 'reward' when the expected answer is not of the type
 * @example sameAnswer('Jibu ni \\boxed{\\frac{1}{2}}', '0.5', { type: 'number', language: 'sw' }).equal // true
 */
export function sameAnswer(reply: string, expected: string, options: AnswerOptions = {}): AnswerVerdict {
  const { language = 'en', several = 'reject' } = options
  const type =
    options.type === undefined || options.type === 'auto' ? typeOf(solutionOf(expected), options) : options.type
  if (type === 'regex') {
    const said = withoutThinking(reply) ?? ''
    const equal = matcherOf(expected, options)(said)
    return verdict({ equal }, said.slice(0, 200), equal ? 'matches the pattern' : 'does not match the pattern')
  }
  if (type === 'json') return jsonVerdict(reply, expected)
  const found = extractAnswers(reply)
  const texts = found.texts.filter((text) => text.length <= MOST_ANSWER)
  if (texts.length === 0)
    return verdict({ equal: false }, null, found.texts.length > 0 ? 'too long for an answer' : 'no answer')
  const compare = comparison(type, solutionOf(expected), language, options, found)
  const all = texts.map((text) => compare(text))
  const pick = several === 'first' ? 0 : all.length - 1
  const differ = all.some(({ equal }) => equal !== all[0].equal) || (all.length > 1 && !all[0].equal && !alike(texts))
  if (several === 'reject' && differ)
    return verdict({ equal: false }, texts.join(' | ').slice(0, 200), `${texts.length} answers that differ`)
  return verdict(all[pick], texts[pick], all[pick].why ?? `${type} from ${found.mark}`)
}

/** Data sets give whole solutions as answers: what is boxed, or behind ####. */
function solutionOf(expected: string): string {
  const { mark, texts } = extractAnswers(expected)
  return (mark === 'boxed' || mark === 'hashes') && texts.length > 0 ? texts[texts.length - 1] : expected
}

const alike = (texts: readonly string[]): boolean =>
  texts.every((text) => normalizeAnswer(text) === normalizeAnswer(texts[0]))

function verdict(compared: Compared, extracted: string | null, why: string): AnswerVerdict {
  const { equal, share = 0, decided = true } = compared
  return { equal, score: equal ? 1 : Math.min(share, 0.99), extracted, why, decided }
}

function jsonVerdict(reply: string, expected: string): AnswerVerdict {
  const wanted = findJson(expected)
  if (wanted === undefined) throw new MyriadError('reward', 'the expected answer is no JSON')
  const given = findJson(withoutThinking(reply) ?? '')
  if (given === undefined) return verdict({ equal: false }, null, 'no JSON in the reply')
  const { same, share } = compareJson(given, wanted)
  return verdict({ equal: same, share }, JSON.stringify(given).slice(0, 200), same ? 'equal JSON' : 'other JSON')
}

/** The type that an expected answer is of. */
export function typeOf(expected: string, options: AnswerOptions = {}): AnswerType {
  const language = options.expectedLanguage ?? options.language ?? 'en'
  const text = expected.trim()
  if (options.choices) return 'choice'
  // Chemical formulas and the like: letters and digits in an order that matters.
  if (/^(?:[A-Z][a-z]?\d*){2,}$/.test(text) && /[A-Z].*\d|\d.*[A-Z]/.test(text)) return 'text'
  if (/^[[{]/.test(text) && typeof findJsonWhole(text) === 'object')
    return /^\{\s*"|^\[\s*[{"]/.test(text) ? 'json' : mathType(text, language)
  if (readYesNo(text, language) !== null && text.length < 20 && /^[\p{L}\p{M} .]+$/u.test(text)) return 'boolean'
  if (/\p{Nd}/u.test(text) && isDate(text, language)) return 'date'
  const number = readNumber(text, language)
  if (number?.rest === '' && !number.currency) return 'number'
  const quantity = readQuantity(text, language)
  if (quantity && quantity.unit !== '') return 'unit'
  if (number && /^\p{L}[\p{L}\p{M} ]*$/u.test(number.rest) && number.rest.length > 3) return 'number'
  return mathType(text, language)
}

function mathType(text: string, language: string): AnswerType {
  const mathematical = /[\\^=<>≤≥√π∞∪∅{}()[\]+*/°]|\p{Nd}/u.test(text) || /^\p{L}$/u.test(text)
  if (!mathematical || readMath(text, language).length === 0) return 'text'
  return isInterval(text, language) ? 'interval' : 'math'
}

function isDate(text: string, language: string): boolean {
  if (/^[\p{Nd}]+$/u.test(text)) return false
  const date = readDate(text, language)
  return date !== null && date.month !== null && date.day !== null && text.length < 60
}

function findJsonWhole(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // a set or an interval
  }
}

function comparison(
  type: AnswerType,
  expected: string,
  language: string,
  options: AnswerOptions,
  found: ExtractedAnswers,
): (text: string) => Compared {
  const expectedLanguage = options.expectedLanguage ?? language
  const stated = isStated(found.mark)
  switch (type) {
    case 'number':
      return sameNumber(expected, { ...options, language, expectedLanguage, stated })
    case 'choice':
      return choiceComparison(expected, language, options)
    case 'date': {
      const wanted = readDate(expected, expectedLanguage)
      if (!wanted) throw new MyriadError('reward', `the expected answer ${JSON.stringify(expected)} is no date`)
      return (text) => {
        const given = readDate(text, language)
        if (!given) return { equal: false, why: 'no date' }
        const { same, share } = compareDates(given, wanted)
        return { equal: same, share }
      }
    }
    case 'unit': {
      const wanted = readQuantity(trimAnswer(expected), expectedLanguage)
      if (!wanted || wanted.unit === '')
        throw new MyriadError('reward', `the expected answer ${JSON.stringify(expected)} is no number with a unit`)
      const tolerance = options.relativeTolerance ?? 1e-9
      return (text) => {
        const given = readQuantity(text, language) ?? lastQuantity(text, language)
        if (!given) return { equal: false, why: 'no number with a unit' }
        if (given.unit === '') return { equal: false, share: given.value === wanted.value ? 0.5 : 0, why: 'no unit' }
        return { equal: sameQuantity(given, wanted, language, tolerance) === true }
      }
    }
    case 'boolean': {
      const wanted = readYesNo(expected, expectedLanguage)
      if (wanted === null)
        throw new MyriadError('reward', `the expected answer ${JSON.stringify(expected)} is neither yes nor no`)
      return (text) => ({ equal: readYesNo(text, language) === wanted })
    }
    case 'set':
      return (text) => compareSets(text, expected, language, expectedLanguage)
    case 'interval':
      return (text) => {
        const { same, ends } = sameInterval(text, expected, language, expectedLanguage)
        if (same === null && matchesAnswer(text, [expected])) return { equal: true }
        return { equal: same === true, share: ends ? 0.5 : 0, decided: same !== null }
      }
    case 'math':
      return mathComparison(expected, language, { ...options, expectedLanguage }, stated)
    default:
      return (text) => ({ equal: sameText(text, expected) || sameText(withoutOutline(text), expected) })
  }
}

/** Words: case, marks on Latin letters and a final full stop do not matter. */
function sameText(given: string, expected: string): boolean {
  const wanted = foldedAnswer(expected)
  if (wanted === '' || normalizeAnswer(expected) === '') return given.trim() === expected.trim()
  return matchesAnswer(given, [expected]) || foldedAnswer(given) === wanted
}

const withoutOutline = (text: string): string => text.replace(/^[^\n:：]{0,30}[:：]\s*/u, '')

function mathComparison(
  expected: string,
  language: string,
  options: AnswerOptions & Tolerance,
  stated: boolean,
): (text: string) => Compared {
  const wanted = unboxed(expected)
  return (text) => {
    const given = trimAnswer(unboxed(text))
    const prose = !stated && isProse(given)
    const same = prose ? null : sameMath(given, wanted, language, options)
    if (same === true) return { equal: true }
    if (squeezed(given) === squeezed(wanted) || sameWords(given, wanted)) return { equal: true }
    if (same === null && !stated) {
      // A sentence: the formulas in it, or its last number.
      const formulas = [...text.matchAll(/\$([^$]+)\$|\\\(((?:[^\\]|\\[^)])*)\\\)/g)].map(
        ([, dollars, marks]) => dollars ?? marks,
      )
      const all = formulas.slice(-20).join(', ')
      for (const one of formulas.length === 0 ? [] : [formulas[formulas.length - 1], all])
        if (sameMath(one, wanted, language, options) === true) return { equal: true }
      if (formulas.length > 0) return { equal: false }
      const number = readNumber(wanted, options.expectedLanguage ?? language)
      if (number?.rest === '' && wordy(given)) return sameNumber(wanted, { ...options, language, stated })(text)
    }
    return { equal: false, decided: same !== null, why: same === null ? 'not told by this library' : undefined }
  }
}

const unboxed = (text: string): string => {
  const found = extractAnswers(text)
  return found.mark === 'boxed' && found.texts.length === 1 ? found.texts[0] : text
}

/** Two words and more that are no names of functions. */
function isProse(text: string): boolean {
  const plain = text.replace(/\\(?:text|mathrm|operatorname|mbox|begin|end)\s*\{[^{}]*\}|\\[A-Za-z]+/g, ' ')
  const words = plain.match(/(?<![\p{L}\p{M}])\p{L}[\p{L}\p{M}]+(?![\p{L}\p{M}])/gu) ?? []
  return (
    words.filter(
      (word) =>
        !/^(?:a?(?:sin|cos|tan)h?|arc(?:sin|cos|tan)|log|ln|exp|sqrt|pi|or|and|inf|oo|deg|degrees?)$/.test(word),
    ).length >= 2
  )
}

/** Answers in words within \\text{}, or of four letters and more. */
function sameWords(given: string, wanted: string): boolean {
  const plain = (text: string): string => foldedAnswer(text).replace(/^\(([a-z])\)$/, '$1')
  if (!/\\text|\p{L}{4}/u.test(`${given} ${wanted}`)) return false
  return plain(given) === plain(wanted)
}

const squeezed = (text: string): string =>
  text.normalize('NFKC').replace(/\\(?:left|right|,|;|!)(?![A-Za-z])|[\s$]/g, '')

function choiceComparison(expected: string, language: string, options: AnswerOptions): (text: string) => Compared {
  const choices = options.choices ?? null
  const wanted = readChoice(expected, options.expectedLanguage ?? language, choices)
  if (!wanted) throw new MyriadError('reward', `the expected answer ${JSON.stringify(expected)} is none of the options`)
  return (text) => {
    let given = readChoice(trimAnswer(text), language, choices) ?? readChoice(text, language, choices)
    if (!given) {
      const labels = labelsIn(text)
      if (labels.length === 1) given = readChoice(labels[0], language, choices)
    }
    if (!given) return { equal: false, why: 'no option' }
    const { same, share } = compareChoices(given, wanted)
    return { equal: same, share: wanted.indices.length > 1 || given.indices.length > 1 ? share : 0 }
  }
}
