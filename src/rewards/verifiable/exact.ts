/** An exact rational number: numerator / denominator × 10^exponent. The denominator is above zero. */
export interface Exact {
  numerator: bigint
  denominator: bigint
  exponent: number
}

/**
 * A rational number.
 *
 * @returns null when the denominator is zero
 * @example exact(1n, 2n) // 1/2
 */
export function exact(numerator: bigint, denominator = 1n, exponent = 0): Exact | null {
  if (denominator === 0n) return null
  return denominator < 0n
    ? { numerator: -numerator, denominator: -denominator, exponent }
    : { numerator, denominator, exponent }
}

/** A decimal number out of its digits: whole part and fraction, ASCII. */
export function decimal(whole: string, fraction = '', exponent = 0): Exact {
  return { numerator: BigInt(`${whole}${fraction}` || '0'), denominator: 1n, exponent: exponent - fraction.length }
}

export function negated({ numerator, denominator, exponent }: Exact): Exact {
  return { numerator: -numerator, denominator, exponent }
}

export function product(a: Exact, b: Exact): Exact {
  return {
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
    exponent: a.exponent + b.exponent,
  }
}

/** a / b; null when b is zero. */
export function quotient(a: Exact, b: Exact): Exact | null {
  return exact(a.numerator * b.denominator, a.denominator * b.numerator, a.exponent - b.exponent)
}

/** Differences of exponents beyond this are not written out as digits. */
const MOST_SHIFT = 5000

/** a + b; null when their sizes are too far apart to write out. */
export function sum(a: Exact, b: Exact): Exact | null {
  const exponent = Math.min(a.exponent, b.exponent)
  if (Math.abs(a.exponent - b.exponent) > MOST_SHIFT) return null
  const left = a.numerator * b.denominator * 10n ** BigInt(a.exponent - exponent)
  const right = b.numerator * a.denominator * 10n ** BigInt(b.exponent - exponent)
  return { numerator: left + right, denominator: a.denominator * b.denominator, exponent }
}

/** Are two numbers the same, without rounding? Exponents of any size. */
export function equalExact(a: Exact, b: Exact): boolean {
  const left = a.numerator * b.denominator
  const right = b.numerator * a.denominator
  if (left === 0n || right === 0n) return left === right
  const shift = a.exponent - b.exponent
  // 10^k has k digits more: numbers whose digits cannot make up for the shift differ.
  if (Math.abs(shift) > MOST_SHIFT) return false
  return shift >= 0 ? left * 10n ** BigInt(shift) === right : left === right * 10n ** BigInt(-shift)
}

/** The nearest floating-point number; ±Infinity or 0 outside its range. */
export function toFloat({ numerator, denominator, exponent }: Exact): number {
  if (numerator === 0n) return 0
  const sign = numerator < 0n ? -1 : 1
  const digits = (numerator < 0n ? -numerator : numerator).toString()
  const below = denominator.toString()
  const shift = exponent + digits.length - below.length
  const mantissa = Number(`${digits[0]}.${digits.slice(1, 20)}`) / Number(`${below[0]}.${below.slice(1, 20)}`)
  if (denominator === 1n) return sign * Number(`${digits.slice(0, 400)}e${exponent + Math.max(0, digits.length - 400)}`)
  if (exponent === 0 && digits.length < 300 && below.length < 300) return sign * (Number(digits) / Number(below))
  return sign * mantissa * 10 ** shift
}

/** The number as a whole one, or null when it has a fraction or more digits than `MOST_SHIFT`. */
export function toInteger(value: Exact): bigint | null {
  const { numerator, denominator, exponent } = value
  if (Math.abs(exponent) > MOST_SHIFT) return null
  const above = exponent > 0 ? numerator * 10n ** BigInt(exponent) : numerator
  const below = exponent < 0 ? denominator * 10n ** BigInt(-exponent) : denominator
  return above % below === 0n ? above / below : null
}

export interface Tolerance {
  /** Largest difference, in the number's own unit. */
  absoluteTolerance?: number
  /** Largest difference as a share of the expected number. */
  relativeTolerance?: number
}

/** The same number, exactly or within a tolerance. The edge of a tolerance is inside, up to the rounding of a difference. */
export function near(a: Exact, b: Exact, { absoluteTolerance = 0, relativeTolerance = 0 }: Tolerance = {}): boolean {
  if (equalExact(a, b)) return true
  const room = Math.max(absoluteTolerance, relativeTolerance * Math.abs(toFloat(b)))
  if (!(room > 0)) return false
  const difference = sum(a, negated(b))
  return difference !== null && Math.abs(toFloat(difference)) <= room * (1 + 1e-12)
}
