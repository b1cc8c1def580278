import type { MathValue } from './expression.js'
import { foldedAnswer, trimAnswer } from './extract.js'
import { joinsNext, listWords } from './locale.js'
import { readMath } from './math-parser.js'
import { sameValue } from './same-math.js'

const MOST_MEMBERS = 200

/** A member: mathematics where it is, words else. */
type Member = { math: readonly MathValue[] } | { words: string }

/**
 * Compares two sets: braces or a list in words ("1, 2 y 3", "1、2"), members by value, order and multiplicity aside.
 *
 * @returns equal; and the share of members that are in both, of those in either
 * @example compareSets('red and blue', '{blue, red}', 'en', 'en').equal // true
 */
export function compareSets(
  given: string,
  expected: string,
  language: string,
  expectedLanguage: string,
): { equal: boolean; share: number } {
  let best = 0
  for (const a of readingsOf(given, language))
    for (const b of readingsOf(expected, expectedLanguage)) {
      const share = overlap(a, b, language)
      if (share === 1) return { equal: true, share: 1 }
      best = Math.max(best, share)
    }
  return { equal: false, share: best }
}

function readingsOf(given: string, language: string): Member[][] {
  const text = trimAnswer(given).replace(/^(?:[\p{L}\p{M}]\w*)\s*(?:∈|\\in\b)\s*/u, '')
  const sets: Member[][] = []
  for (const value of readMath(text, language)) {
    if (value.kind === 'set') sets.push(value.items.map((item) => ({ math: [item] })))
    else if (value.kind === 'expression' && !/[,،、;]/u.test(text) && !wordy(text)) sets.push([{ math: [value] }])
  }
  if (sets.length === 0 || wordy(text)) {
    sets.push(membersOf(text, language))
    if (/\p{Script=Han}/u.test(text)) sets.push(membersOf(text, language, true))
    // "The primes are {2, 3, 5}": the last braces in a sentence.
    const braces = /^[^{}]*[^{}\\\s][^{}]*?(\\?\{[^{}]*\})[^{}]*$/u.exec(text)
    if (braces) sets.push(...readingsOf(braces[1], language))
  }
  return sets
}

/** Words rather than formulas: two letters in a row that no LaTeX command has. */
export const wordy = (text: string): boolean => /[\p{L}\p{M}]{2}/u.test(text.replace(/\\[A-Za-z]+/g, ''))

function membersOf(given: string, language: string, unspaced = false): Member[] {
  const inside = /^\\?\{([\s\S]*?)\\?\}$/.exec(given)?.[1] ?? given
  const { and, or } = listWords(language)
  const spaced = [...and, ...or].filter((word) => !joinsNext(word)).join('|')
  const joined = [...and].filter(joinsNext).map((word) => `\\s${word}\\s?`)
  if (unspaced) joined.push(...and.filter((word) => /\p{Script=Han}/u.test(word)))
  const commas = /;|؛/.test(inside) ? '[;؛、]' : '[,،、，](?!\\p{Nd}{3}(?!\\p{Nd}))'
  const pattern = new RegExp(
    [`\\s*${commas}\\s*(?:(?:${spaced})\\s+)?`, `\\s+(?:${spaced})\\s+`, ...joined].join('|'),
    'u',
  )
  return inside
    .split(pattern)
    .slice(0, MOST_MEMBERS + 1)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '')
    .map((piece) => {
      const math = wordy(piece) ? [] : readMath(piece, language).map(valueOf)
      return math.length > 0 ? { math } : { words: foldedAnswer(piece) }
    })
}

const valueOf = (value: MathValue): MathValue =>
  value.kind === 'relation' && value.operator === '=' && value.left.kind === 'symbol'
    ? { kind: 'expression', tree: value.right, unit: '' }
    : value

function overlap(a: readonly Member[], b: readonly Member[], language: string): number {
  if (a.length > MOST_MEMBERS || b.length > MOST_MEMBERS) return 0
  if (a.length === 0 || b.length === 0) return a.length === b.length ? 1 : 0
  const same = (x: Member, y: Member): boolean => {
    if ('words' in x || 'words' in y) return 'words' in x && 'words' in y && x.words === y.words
    return x.math.some((one) => y.math.some((other) => sameValue(one, other, language) === true))
  }
  const distinct = (members: readonly Member[]): Member[] =>
    members.filter((member, k) => !members.slice(0, k).some((earlier) => same(earlier, member)))
  const [left, right] = [distinct(a), distinct(b)]
  const common = left.filter((member) => right.some((other) => same(member, other))).length
  return common / (left.length + right.length - common)
}
