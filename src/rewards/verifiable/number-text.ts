import { digitValue } from '../../text/index.js'
import { numberMarks } from './locale.js'

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const subscripts = '₀₁₂₃₄₅₆₇₈₉'
const invisible = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/gu

// The sign of a fraction as "numerator/denominator"; Roman numerals by their value.
const fractionSigns = '½1/2 ⅓1/3 ⅔2/3 ¼1/4 ¾3/4 ⅕1/5 ⅖2/5 ⅗3/5 ⅘4/5 ⅙1/6 ⅚5/6 ⅐1/7 ⅛1/8 ⅜3/8 ⅝5/8 ⅞7/8 ⅑1/9 ⅒1/10 ↉0/3'
const fractions = new Map(fractionSigns.split(' ').map((entry) => [entry[0], entry.slice(1)]))

/**
 * Text as numbers are read from it: ASCII digits (a run in two scripts becomes U+FFFD), ASCII minus and slash, "^{3}" for
 * superscripts, " 1/2" for ½, ’ for unbreakable spaces that group digits, no invisible characters, compatibility forms as
 * plain ones. Linear in the length of the text.
 *
 * @example plainNumbers('١٬٢٣٤٫٥ × 10³') // '1٬234٫5 × 10^{3}'
 */
export function plainNumbers(text: string): string {
  return text
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(invisible, '')
    .replace(/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒↉]/gu, (sign) => ` ${fractions.get(sign)} `)
    .replace(/[Ⅰ-Ⅻⅰ-ⅻ]/gu, (sign) => String(((sign.codePointAt(0) ?? 0) & 15) + 1))
    .replace(/[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/gu, (run) => `^{${run.replace(/./gu, superDigit)}}`)
    .replace(/[₀₁₂₃₄₅₆₇₈₉]+/gu, (run) => `_{${run.replace(/./gu, (sign) => String(subscripts.indexOf(sign)))}}`)
    .replace(/㎡/gu, 'm^{2}')
    .replace(/㎥/gu, 'm^{3}')
    .replace(/(?<=\p{Nd})[\u00a0\u202f\u2009\u2007](?=\p{Nd}{3})/gu, '’')
    .normalize('NFKC')
    .replace(/\p{Nd}[\p{Nd}.,٫٬]*/gu, asciiRun)
    .replace(/[−﹣‐‑]/gu, '-')
    .replace(/(?<![\p{L}\p{Nd})\]}\s])\s*[–—]\s*(?=\d)/gu, '-')
    .replace(/[⁄∕]/gu, '/')
}

function superDigit(sign: string): string {
  return sign === '⁺' ? '' : sign === '⁻' ? '-' : String(superscripts.indexOf(sign))
}

function asciiRun(run: string): string {
  if (/^[0-9.,]*$/.test(run)) return run
  const zeros = new Set<number>()
  const plain = run.replace(/\p{Nd}/gu, (character) => {
    const value = digitValue(character) ?? 0
    zeros.add((character.codePointAt(0) ?? 0) - value)
    return String(value)
  })
  return zeros.size > 1 ? '\ufffd' : plain
}

/** A run of digits and what may stand between them. */
export const literalSource = String.raw`(?:\d+(?:[.,٫٬'’_،]\d+)*\.?|\.\d+)`

export interface Digits {
  whole: string
  fraction: string
}

/**
 * The digits of a literal, or null when its marks cannot be those of one number ("1,2,3"). A mark that could be either is
 * what CLDR says for the language; a single mark that cannot group (no three digits behind it, a zero before it) is the
 * decimal one in any language.
 *
 * @param literal ASCII digits with marks
 * @example decodeLiteral('1.000', 'de') // { whole: '1000', fraction: '' }
 */
export function decodeLiteral(literal: string, language: string): Digits | null {
  const text = literal.replace(/،/g, ',')
  if (/^\.\d+$/.test(text)) return { whole: '0', fraction: text.slice(1) }
  const ended = /^(.*\d)\.$/.exec(text)?.[1] ?? text
  if (/^\d+$/.test(ended)) return { whole: ended, fraction: '' }
  const marks = new Set(ended.replace(/\d/g, ''))
  const decimalMark = decimalOf(ended, marks, language)
  if (decimalMark === null) return null
  const at = decimalMark === '' ? ended.length : ended.lastIndexOf(decimalMark)
  const head = ended.slice(0, at)
  const fraction = ended.slice(at + 1)
  if (!/^\d*$/.test(fraction) || (decimalMark !== '' && head.includes(decimalMark))) return null
  if (!grouped(head)) return null
  return { whole: head.replace(/\D/g, ''), fraction }
}

/** The mark that is the decimal one; '' for none, null when no reading is possible. */
function decimalOf(text: string, marks: ReadonlySet<string>, language: string): string | null {
  if (marks.has('٫')) return '٫'
  const point = marks.has('.')
  const comma = marks.has(',')
  if (point && comma) return text.lastIndexOf('.') > text.lastIndexOf(',') ? '.' : ','
  if (!point && !comma) return ''
  const mark = point ? '.' : ','
  if (marks.size > 1) return mark // the other mark groups
  if (text.indexOf(mark) !== text.lastIndexOf(mark)) return ''
  // In French neither mark groups: both can only be decimal.
  return numberMarks(language).group !== mark || !grouped(text) ? mark : ''
}

/** Digits in threes, or in twos and a last three as in India; one kind of mark. */
function grouped(head: string): boolean {
  if (/^\d+$/.test(head)) return true
  if (new Set(head.replace(/\d/g, '')).size > 1) return false
  return (
    /^[1-9]\d{0,2}(?:\D\d{3})+$/.test(head) || /^[1-9]\d?(?:\D\d{2})*\D\d{3}$/.test(head) || /^\d+(?:_\d+)+$/.test(head)
  )
}
