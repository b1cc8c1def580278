import { normalizeText } from './normalize.js'

const digit = /\p{Nd}/u

/** The value of a decimal digit of any script, or null. */
export function digitValue(character: string): number | null {
  const code = character.codePointAt(0)
  if (code === undefined || !digit.test(character)) return null
  // Unicode keeps decimal digits in runs of ten from zero up; runs may follow one another directly.
  let start = code
  while (start > 0 && digit.test(String.fromCodePoint(start - 1))) start--
  return (code - start) % 10
}

/**
 * Digits of any script as ASCII digits; everything else as it is.
 *
 * @example toAsciiDigits('٤٢ and ४२') // '42 and 42'
 */
export function toAsciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (character) => (character <= '9' ? character : String(digitValue(character))))
}

/** The ASCII digits of a text in the digits of a language's own script, as `Intl` names it (`arab`, `deva`, `latn`). */
export function toNativeDigits(text: string, numberingSystem: string): string {
  const format = new Intl.NumberFormat('en', { numberingSystem, useGrouping: false })
  return text.replace(/[0-9]/g, (character) => format.format(Number(character)))
}

/**
 * The number a text is, or null if it is anything else. Accepts the digits of any script (but not two scripts in one
 * number), a sign, grouping and a decimal fraction. A language says which mark is the decimal one; without it, `.` and
 * `٫` are, and `,` is when it cannot be grouping.
 *
 * @example
 * parseNumber('४२') // 42
 * parseNumber('1٢') // null: two scripts
 * parseNumber('1.234,5', { language: 'de' }) // 1234.5
 */
export function parseNumber(text: string, options: { language?: string } = {}): number | null {
  const normal = normalizeText(text)
    .replace(/^[−－﹣]/, '-')
    .replace(/^＋/, '+')
  if (digitScripts(normal) > 1) return null
  const ascii = toAsciiDigits(normal)
  const { decimal, group } = separators(options.language)
  const strict = new RegExp(`^[+-]?(?:\\d+|\\d{1,3}(?:[${group}]\\d{2,3})*[${group}]\\d{3})(?:[${decimal}]\\d+)?$`, 'u')
  if (strict.test(ascii)) {
    const plain = ascii.replace(new RegExp(`[${group}]`, 'gu'), '').replace(new RegExp(`[${decimal}]`, 'u'), '.')
    return Number(plain)
  }
  return options.language === undefined && /^[+-]?\d+,\d+$/.test(ascii) ? Number(ascii.replace(',', '.')) : null
}

function digitScripts(text: string): number {
  const zeros = new Set<number>()
  for (const [character] of text.matchAll(/\p{Nd}/gu)) {
    const value = digitValue(character)
    if (value !== null) zeros.add((character.codePointAt(0) ?? 0) - value)
  }
  return zeros.size
}

function separators(language: string | undefined): { decimal: string; group: string } {
  if (language === undefined) return { decimal: '.٫', group: ",٬’'\\u00a0\\u202f " }
  const parts = new Intl.NumberFormat(language).formatToParts(1234567.8)
  const escaped = (type: string): string =>
    (parts.find((part) => part.type === type)?.value ?? '').replace(/[\]\\^-]/g, '\\$&')
  const decimal = escaped('decimal')
  // Where grouping is written with some space, any space will do.
  const group = escaped('group')
  return {
    decimal: decimal === '٫' ? '٫.' : decimal,
    group: /\s/.test(group) || group === '' ? ' \\u00a0\\u202f' : group === '٬' ? '٬,' : group,
  }
}
