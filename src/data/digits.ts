import type { Language } from './languages.js'

/** First code point of the digits a person may write in a language beside ASCII. */
const nativeZero: Partial<Record<Language, number>> = { ar: 0x0660, hi: 0x0966 }

/** Does the language have digits of its own in daily use? */
export function hasNativeDigits(language: Language): boolean {
  return nativeZero[language] !== undefined
}

/**
 * A whole number in the language's own digits, ASCII where it has none.
 *
 * @example nativeDigits('hi', 42) // '४२'
 */
export function nativeDigits(language: Language, value: number): string {
  const zero = nativeZero[language]
  if (zero === undefined) return String(value)
  return String(value).replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))
}

/** Any Unicode decimal digit as ASCII: every block of decimal digits is ten code points long, from zero up. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit)))
}

function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  if (code < 0x80) return code - 48
  let zero = code
  while (zero > code - 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  // Blocks that stand next to each other (mathematical digits) start at multiples of ten from the first.
  return code >= 0x1d7ce && code <= 0x1d7ff ? (code - 0x1d7ce) % 10 : code - zero
}

/**
 * The whole number a text writes, in any script's digits, or null.
 *
 * @example parseWhole(' ٤٢ ') // 42
 */
export function parseWhole(text: string): number | null {
  const digits = asciiDigits(text.trim())
  return /^\d{1,9}$/.test(digits) ? Number(digits) : null
}
