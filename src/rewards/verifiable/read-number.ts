import { decimal, exact, negated, product, quotient, sum, type Exact } from './exact.js'
import { cached, fold, multipliers, numberMarks, percentWords } from './locale.js'
import { minusWords } from './number-words.js'
import { decodeLiteral, literalSource, plainNumbers } from './number-text.js'

/** A number as it was written. */
export interface NumberReading {
  /** Without the percent sign. */
  value: Exact
  percent: boolean
  /** ISO code, or the sign where it stands for several. */
  currency: string | null
  /** Where it stands in the plain text. */
  start: number
  end: number
}

const currencySigns: Readonly<Record<string, string>> = {
  $: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '₹': 'INR',
  '₦': 'NGN',
  '₽': 'RUB',
  '₩': 'KRW',
  '₺': 'TRY',
  '฿': 'THB',
  '₫': 'VND',
  '₪': 'ILS',
  '₴': 'UAH',
  '₱': 'PHP',
  '৳': 'BDT',
  '﷼': 'IRR',
}
/** The currencies whose signs are known. */
export const currencies: readonly string[] = Object.values(currencySigns)
const currencyCodes = cached((_: string): ReadonlySet<string> => new Set(Intl.supportedValuesOf('currency')))

/** The ISO code of a currency's sign or code, or null. */
export function currencyOf(text: string): string | null {
  const upper = text.replace(/^\\/, '').trim()
  return currencySigns[upper] ?? (/^[A-Z]{3}$/.test(upper) && currencyCodes('').has(upper) ? upper : null)
}

const signs = `\\\\?[${Object.keys(currencySigns).join('')}]`
const space = String.raw`[ \t]*`
const power = String.raw`(?:\^|\*\*)${space}(?:\{${space}([-+]?\d{1,7})${space}\}|([-+]?\d{1,7}))`
const times = String.raw`(?:×|·|∙|\*|[xXхХ]|\\times|\\cdot)`

interface Grammar {
  /** Sign and currency before. */
  head: RegExp
  literal: RegExp
  spacedLiteral: RegExp
  multiplier: RegExp
  percentBefore: RegExp
  percentAfter: RegExp
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const grammar = cached((language): Grammar => {
  const words = [...multipliers(language).keys()].sort((a, b) => b.length - a.length).map(escaped)
  const minus = minusWords(language).map(escaped)
  const percent = percentWords(language).map(escaped)
  const flags = 'iuy'
  return {
    head: new RegExp(
      `(?:([-+])|(${minus.join('|')})(?= ?[\\d.]))?${space}(?:(${signs})|([A-Z]{3})(?= ?\\d))?${space}([-+])?${space}(?:(${words.join('|')})(?= \\d) )?`,
      flags,
    ),
    literal: new RegExp(literalSource, flags),
    spacedLiteral: new RegExp(String.raw`[1-9]\d{0,2}(?:[ ]\d{3})+(?:[.,٫]\d+)?(?!\d)`, flags),
    multiplier: new RegExp(`${space}(?:${words.join('|')})(?![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{M}])`, flags),
    percentBefore: new RegExp(`(?:[%٪]|百分之|(?:${percent.join('|')})(?= ))${space}`, flags),
    percentAfter: new RegExp(`${space}(?:\\\\?[%٪]|(?:${percent.join('|')})(?![\\p{L}\\p{M}]))`, flags),
  }
})

function at(pattern: RegExp, text: string, start: number): RegExpExecArray | null {
  pattern.lastIndex = start
  return pattern.exec(text)
}

const scientific = /[eE]([-+]?\d{1,7})(?![\p{L}\d])/uy
const powerOfTen = new RegExp(`${space}${times}${space}10${space}${power}`, 'uy')
const powered = new RegExp(`${space}${power}`, 'uy')
const slash = /[ \t]*\/[ \t]*(?=[\d.])/uy
const mixedGap = /[ \t]+(?=\d{1,9}[ \t]*\/[ \t]*\d)/uy
const afterCurrency = new RegExp(`${space}(?:(${signs})|([A-Z]{3})(?![\\p{L}]))`, 'uy')
// A letter of these scripts directly behind a number makes it part of something else ("42abc", "3x").
const glued = /[\p{Script=Latin}\p{Script=Greek}_\ufffd]/uy

/**
 * The number that begins at a place of a plain text, or null.
 *
 * @param text as `plainNumbers` makes it
 * @param wide digits may be parted by plain spaces whatever the language
 */
export function numberAt(text: string, start: number, language: string, wide = false): NumberReading | null {
  const { head, literal, spacedLiteral, multiplier, percentBefore, percentAfter } = grammar(language)
  let end = start
  const lead = at(percentBefore, text, end)
  if (lead) end += lead[0].length
  const opening = at(head, text, end)
  if (opening) end += opening[0].length
  const [, sign, minusWord, currencySign, code, innerSign, wordBefore] = opening ?? []
  const spaced = wide || numberMarks(language).spaced ? at(spacedLiteral, text, end) : null
  const found = spaced ?? at(literal, text, end)
  if (!found) return null
  const digits = decodeLiteral(spaced ? found[0].replace(/ /g, '') : found[0], language)
  if (!digits) return null
  // The point behind a number that ends a sentence is not part of it.
  const stop = found[0].endsWith('.') ? 1 : 0
  end += found[0].length - stop
  let value: Exact | null = decimal(digits.whole, digits.fraction)
  const tail = at(scientific, text, end)
  if (tail) {
    value = { ...value, exponent: value.exponent + Number(tail[1]) }
    end += tail[0].length
  }
  const ten = at(powerOfTen, text, end)
  if (ten) {
    value = { ...value, exponent: value.exponent + Number(ten[1] ?? ten[2]) }
    end += ten[0].length
  } else {
    const raised = at(powered, text, end)
    const exponent = raised ? Number(raised[1] ?? raised[2]) : 0
    if (raised && Math.abs(exponent) * found[0].length > 4000) return null
    if (raised) {
      value = raise(value, exponent)
      end += raised[0].length
    }
  }
  if (value && !stop) [value, end] = withFraction(value, text, end, language, digits.fraction === '')
  if (value === null) return null
  ;[value, end] = withMultipliers(value, text, end, language, multiplier)
  if (wordBefore) value = { ...value, exponent: value.exponent + (multipliers(language).get(fold(wordBefore)) ?? 0) }
  const percentSign = at(percentAfter, text, end)
  if (percentSign) end += percentSign[0].length
  let currency = currencySign ? currencyOf(currencySign) : code ? currencyOf(code) : null
  if (code && currency === null) return null
  const behind = currency === null ? at(afterCurrency, text, end) : null
  const behindCode = behind ? currencyOf(behind[1] ?? behind[2]) : null
  if (behind && behindCode !== null) {
    currency = behindCode
    end += behind[0].length
  }
  if (sign === '-' || minusWord || innerSign === '-') value = negated(value)
  return { value, percent: Boolean(lead ?? percentSign), currency, start, end }
}

function raise(value: Exact, exponent: number): Exact | null {
  const n = BigInt(Math.abs(exponent))
  const raised = {
    numerator: value.numerator ** n,
    denominator: value.denominator ** n,
    exponent: value.exponent * Math.abs(exponent),
  }
  return exponent >= 0 ? raised : quotient({ numerator: 1n, denominator: 1n, exponent: 0 }, raised)
}

/** "1 1/2" and "3/4". */
function withFraction(
  value: Exact,
  text: string,
  end: number,
  language: string,
  whole: boolean,
): [Exact | null, number] {
  const { literal } = grammar(language)
  const gap = whole ? at(mixedGap, text, end) : null
  if (gap) {
    const above = at(literal, text, end + gap[0].length)
    const after = end + gap[0].length + (above?.[0].length ?? 0)
    const bar = at(slash, text, after)
    const below = bar && at(literal, text, after + bar[0].length)
    if (above && bar && below && /^\d+$/.test(above[0]) && /^\d+\.?$/.test(below[0])) {
      const part = exact(BigInt(above[0]), BigInt(below[0].replace('.', '')))
      const stop = below[0].endsWith('.') ? 1 : 0
      return [part && sum(value, part), after + bar[0].length + below[0].length - stop]
    }
  }
  const bar = at(slash, text, end)
  const below = bar && at(literal, text, end + bar[0].length)
  const digits = below && decodeLiteral(below[0], language)
  if (!bar || !below || !digits) return [value, end]
  const stop = below[0].endsWith('.') ? 1 : 0
  return [quotient(value, decimal(digits.whole, digits.fraction)), end + bar[0].length + below[0].length - stop]
}

/** "1.5 million"; in Chinese, Japanese and Korean also "1億2000万". */
function withMultipliers(
  value: Exact,
  text: string,
  start: number,
  language: string,
  multiplier: RegExp,
): [Exact, number] {
  const factor = (place: number): { ends: number; power: number } | null => {
    const found = at(multiplier, text, place)
    return found && { ends: place + found[0].length, power: multipliers(language).get(fold(found[0])) ?? 0 }
  }
  let next = factor(start)
  if (!next) return [value, start]
  let total: Exact = { ...value, exponent: value.exponent + next.power }
  let end = next.ends
  if (!/^(?:ja|zh|ko)\b/.test(language)) return [total, end]
  for (let power = next.power; power > 0;) {
    const more = /[ ]?(\d{1,4})/uy
    const found = at(more, text, end)
    if (!found) break
    next = factor(end + found[0].length)
    const by = next?.power ?? 0
    if (by >= power) break
    total = sum(total, product(decimal(found[1]), { numerator: 1n, denominator: 1n, exponent: by })) ?? total
    end = next?.ends ?? end + found[0].length
    power = by
  }
  return [total, end]
}

/** LaTeX that writes plain numbers, as plain text: fractions of digits, thin spaces, escaped signs, text. */
export function withoutNumberLatex(text: string): string {
  if (!/[\\${}]/.test(text)) return text
  return text
    .replace(
      /\\[dtc]?frac\s*(?:\{\s*(\d{1,40})\s*\}|(\d))\s*(?:\{\s*(\d{1,40})\s*\}|(\d))/g,
      (_, a, b, c, d) => ` ${a ?? b}/${c ?? d}`,
    )
    .replace(/\{,\}/g, ',')
    .replace(/(?<=\d)\\[,;: !](?=\d{3})/g, '’')
    .replace(/\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}/g, '$1')
    .replace(/\$(?![\d.])|(?<=[\d}\s])\$(?=\s*$)|\\[()[\]]|\\(?:left|right|displaystyle|quad|qquad)\b/g, ' ')
    .replace(/\\[,;:!]/g, ' ')
}

/** Text as numbers are looked for in it. */
export function numberText(text: string): string {
  return plainNumbers(withoutNumberLatex(text))
}

const trailing = /^[\s.。।։።!！*_"'”’»)\]}]*$/u

/**
 * The number that a text is, whole: a sign, a currency and words behind it allowed ("$42", "42 apples"), another number not.
 *
 * @example readNumber('1.234,5', 'de')?.value
 */
export function readNumber(text: string, language: string): (NumberReading & { rest: string }) | null {
  const plain = numberText(text)
    .trim()
    .replace(/^[*_"“«(\s]+(?=[-+\d.%])/u, '')
  const reading = numberAt(plain, 0, language, true)
  if (!reading) return null
  const rest = plain.slice(reading.end)
  if (at(glued, rest, 0) && !/^[\p{L}°]/u.test(rest)) return null
  if (/\d|\ufffd/.test(rest.replace(/\^\{?-?\d\}?/g, '').replace(/[(（][^()（）]*[)）]\s*\.?$/u, ''))) return null
  return { ...reading, rest: trailing.test(rest) ? '' : rest.trim() }
}

/**
 * Every number in a text, in order: none that is part of a word ("x3", "42abc"), none in two scripts.
 *
 * @example numbersIn('3 apples and ४ pears', 'hi').length // 2
 */
export function numbersIn(text: string, language: string): NumberReading[] {
  const plain = numberText(text)
  const found: NumberReading[] = []
  const digit = /\.?\d/gu
  let last = 0
  for (;;) {
    digit.lastIndex = last
    const next = digit.exec(plain)
    if (!next) return found
    const start = Math.max(last, startOf(plain, next.index))
    const reading = numberAt(plain, start, language) ?? numberAt(plain, next.index, language)
    if (!reading) {
      last = Math.max(next.index + 1, skipLiteral(plain, next.index))
      // A list without spaces ("1,2,3") is several numbers.
      for (const part of plain.slice(next.index, last).split(/[,،]/u)) {
        const one = numberAt(part, 0, language)
        if (one) found.push({ ...one, start: next.index, end: last })
      }
      continue
    }
    last = Math.max(reading.end, next.index + 1)
    const before = plain.slice(Math.max(0, next.index - 2), next.index)
    if (/[\p{Script=Latin}\p{Script=Greek}_\ufffd]-?$/u.test(before) && reading.start === next.index) continue
    const after = /^\p{L}+/u.exec(plain.slice(reading.end, reading.end + 12))?.[0] ?? ''
    if (
      /^[\p{Script=Latin}\p{Script=Greek}_\ufffd]/u.test(plain.slice(reading.end, reading.end + 1)) &&
      !/^(?:[kcm]?m|k?g|[ml]|[smh]|km|st|nd|rd|th|K|C|F)$/.test(after)
    )
      continue
    if (after === 's' && /(?:^|\D)[12]\d{2}0$/.test(plain.slice(0, reading.end).slice(-5))) continue // the 1990s
    found.push(reading)
  }
}

/** Back over a sign, a currency, a percent sign or a word for minus that belongs to the number. */
function startOf(plain: string, index: number): number {
  const window = plain.slice(Math.max(0, index - 24), index)
  const lead = new RegExp(
    `(?:(?:^|[^\\p{L}\\p{Nd})\\]}])([-+] ?(?:${signs})? ?)|(?:^|[^\\d])([%٪] ?|百分之)|((?:${signs}) ?-?)|(?:^|[^\\p{L}])(\\p{L}[\\p{L}\\p{M} ]* ))$`,
    'u',
  ).exec(window)
  const text = lead?.[1] ?? lead?.[2] ?? lead?.[3] ?? null
  if (text !== null) return index - text.length
  const word = /(?:^|[^\p{L}])([\p{L}\p{M}]+ ?)$/u.exec(window)?.[1]
  return word === undefined ? index : index - word.length
}

function skipLiteral(plain: string, index: number): number {
  const pattern = new RegExp(literalSource, 'uy')
  return index + (at(pattern, plain, index)?.[0].length ?? 1)
}
