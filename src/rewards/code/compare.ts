import type { Json } from './types.js'

export const COMPARISONS = ['exact', 'lines', 'tokens', 'numbers'] as const

/**
 * How output is compared: `exact`; `lines` without white space at their ends and without empty lines at the end of the text;
 * `tokens` between white space; `numbers`: as tokens, where two numbers may differ by the tolerance.
 */
export type OutputComparison = (typeof COMPARISONS)[number]

/** Between floating-point numbers, absolute or of the larger one. */
export const DEFAULT_TOLERANCE = 1e-9

/** Is a program's output the expected one? */
export function sameOutput(
  actual: string,
  expected: string,
  comparison: OutputComparison = 'lines',
  tolerance = DEFAULT_TOLERANCE,
): boolean {
  if (comparison === 'exact') return actual === expected
  if (comparison === 'lines') return trimmedLines(actual) === trimmedLines(expected)
  const [given, wanted] = [tokens(actual), tokens(expected)]
  if (given.length !== wanted.length) return false
  return given.every((token, i) => {
    if (token === wanted[i]) return true
    if (comparison === 'tokens' || !isNumber(token) || !isNumber(wanted[i])) return false
    return near(Number(token), Number(wanted[i]), tolerance)
  })
}

function trimmedLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()
}

function tokens(text: string): string[] {
  return text.split(/\s+/).filter((token) => token !== '')
}

function isNumber(token: string): boolean {
  return token.length <= 400 && /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(token)
}

function near(a: number, b: number, tolerance: number): boolean {
  return a === b || Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b))
}

export interface ValueComparison {
  tolerance?: number
  /** The order of the outermost list does not matter. */
  unordered?: boolean
}

/**
 * Are two JSON values the same? The order of keys does not matter; whole numbers must be equal, others within the tolerance.
 * Languages without a list of their own give an empty list for an empty object.
 *
 * @example sameValue({ a: 0.1 + 0.2 }, { a: 0.3 }) // true
 */
export function sameValue(actual: Json | undefined, expected: Json, options: ValueComparison = {}): boolean {
  const { tolerance = DEFAULT_TOLERANCE, unordered = false } = options
  if (unordered && Array.isArray(actual) && Array.isArray(expected)) return sameBag(actual, expected, tolerance)
  return same(actual, expected, tolerance)
}

function same(actual: Json | undefined, expected: Json, tolerance: number): boolean {
  if (actual === expected) return true
  if (typeof expected === 'number') {
    // Integers that JSON numbers cannot carry come as digits.
    if (typeof actual === 'string')
      return !Number.isSafeInteger(expected) && /^-?\d+$/.test(actual) && Number(actual) === expected
    if (typeof actual !== 'number') return false
    return Number.isInteger(actual) && Number.isInteger(expected) ? false : near(actual, expected, tolerance)
  }
  if (typeof actual !== 'object' || typeof expected !== 'object' || actual === null || expected === null) return false
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return false
    return (
      actual.length === expected.length && expected.every((item, i) => same(actual[i] as Json, item as Json, tolerance))
    )
  }
  const keys = Object.keys(expected)
  if (Array.isArray(actual)) return actual.length === 0 && keys.length === 0
  const given = actual as Record<string, Json>
  return (
    keys.length === Object.keys(given).length &&
    keys.every(
      (key) => Object.hasOwn(given, key) && same(given[key], (expected as Record<string, Json>)[key], tolerance),
    )
  )
}

/** Each expected item takes one that is left; quadratic, so not for long lists that are equal only in part. */
function sameBag(actual: readonly Json[], expected: readonly Json[], tolerance: number): boolean {
  if (actual.length !== expected.length) return false
  if (expected.length > 2000) {
    const sorted = (items: readonly Json[]): string[] => items.map((item) => JSON.stringify(item)).sort()
    const given = sorted(actual)
    return sorted(expected).every((item, i) => item === given[i])
  }
  const left = [...actual]
  return expected.every((item) => {
    const at = left.findIndex((candidate) => same(candidate, item, tolerance))
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}
