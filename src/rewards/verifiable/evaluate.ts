import { createRandom, type Random } from '../../core/index.js'
import { apply, divide, multiply, NoValue, power, Unknown, type Complex } from './complex.js'
import { equalExact, toFloat } from './exact.js'
import { canonical, some, symbolsOf, type Expression } from './expression.js'
import { sameModulo } from './modular.js'

const POINTS = 12
const TRIES = 40

/**
 * Are two expressions the same function of their variables? True or false; null where that cannot be told (too large, undefined
 * nearly everywhere, a sum or an integral).
 *
 * Rational expressions are evaluated modulo 2^61 - 1 at random points, three times: equal ones always agree, others agree with a
 * probability of about (degree / 2^61)^3 (Schwartz 1980, Zippel 1979). All others are evaluated in complex floating point at up to
 * twelve points of a seeded generator, where both have a real value if they do anywhere; constants once, to a relative 1e-12.
 *
 * @example sameExpression(left, right)
 */
export function sameExpression(a: Expression, b: Expression): boolean | null {
  if (canonical(a) === canonical(b)) return true
  if (a.kind === 'number' && b.kind === 'number') return equalExact(a.value, b.value)
  const infinite = (tree: Expression): boolean =>
    some(tree, ({ kind, ...node }) => kind === 'constant' && 'name' in node && node.name === 'inf')
  if (infinite(a) || infinite(b)) return sameInfinity(a, b)
  const modular = sameModulo(a, b)
  if (modular !== null) return modular
  return [10, Math.E]
    .map((base) => sameNumerically(a, b, base))
    .reduce((x, y) => (x === true || y === true ? true : (x ?? y)))
}

function sameInfinity(a: Expression, b: Expression): boolean {
  const signOf = (tree: Expression): number => {
    if (tree.kind === 'constant' && tree.name === 'inf') return 1
    return tree.kind === 'minus' ? -signOf(tree.of) : 0
  }
  return signOf(a) !== 0 && signOf(a) === signOf(b)
}

function sameNumerically(a: Expression, b: Expression, logBase: number): boolean | null {
  const names = [...symbolsOf(b, symbolsOf(a))].sort()
  if (names.length === 0) {
    try {
      const [x, y] = [new Evaluation(new Map(), logBase), new Evaluation(new Map(), logBase)]
      return agree(x.of(a), y.of(b), 1e-12, x.largest + y.largest)
    } catch (error) {
      if (error instanceof NoValue || error instanceof Unknown) return null
      throw error
    }
  }
  const random = createRandom(7)
  let real = 0
  const complex: boolean[] = []
  const imaginary = [a, b].some((tree) => some(tree, (node) => node.kind === 'constant' && node.name === 'i'))
  for (let round = 0; round < TRIES && real < POINTS; round++) {
    const values = new Map(names.map((name, k) => [name, point(random, round, k)]))
    try {
      const [x, y] = [new Evaluation(values, logBase), new Evaluation(values, logBase)]
      const [left, right] = [x.of(a), y.of(b)]
      const same = agree(left, right, 1e-9, x.largest + y.largest)
      if (same === null) continue
      const isReal = (value: Complex): boolean => Math.abs(value.im) <= 1e-9 * Math.max(1, Math.abs(value.re))
      if (imaginary || (isReal(left) && isReal(right))) {
        if (!same) return false
        real++
      } else if (complex.length < POINTS) complex.push(same)
    } catch (error) {
      if (error instanceof Unknown) return null
      if (!(error instanceof NoValue)) throw error
    }
  }
  if (real >= POINTS / 2) return true
  return complex.length >= POINTS / 2 ? complex.every(Boolean) : null
}

/** Small and large values; in every second round some below zero, in all combinations for three variables. */
function point(random: Random, round: number, variable: number): Complex {
  const value = (0.05 + random.uniform()) * [0.9, 3, 12, 0.3][(round + variable) % 4]
  const below = round % 2 === 1 && (((round >> 1) >> (variable % 3)) & 1) === 0
  return { re: below ? -value : value, im: 0 }
}

/** Null where rounding could have made the difference. */
function agree(a: Complex, b: Complex, tolerance: number, largest: number): boolean | null {
  const size = Math.max(Math.hypot(a.re, a.im), Math.hypot(b.re, b.im))
  if (!Number.isFinite(size) || !Number.isFinite(largest)) return null
  const noise = 1e-14 * largest
  const difference = Math.hypot(a.re - b.re, a.im - b.im)
  if (difference <= Math.max(tolerance * size, noise)) return noise > 1e-3 && noise > 1e-6 * size ? null : true
  return difference <= 100 * noise ? null : false
}

class Evaluation {
  /** Largest term of a sum, or angle: what its rounding could hide. */
  largest = 0
  constructor(
    readonly values: ReadonlyMap<string, Complex>,
    readonly logBase: number,
  ) {}

  of(tree: Expression): Complex {
    const value = this.#value(tree)
    if (!Number.isFinite(Math.hypot(value.re, value.im))) throw new NoValue()
    return value
  }

  #counted(value: Complex): Complex {
    this.largest = Math.max(this.largest, Math.hypot(value.re, value.im))
    return value
  }

  #value(tree: Expression): Complex {
    switch (tree.kind) {
      case 'number':
        return { re: toFloat(tree.value), im: 0 }
      case 'symbol': {
        const value = this.values.get(tree.name)
        if (!value) throw new Unknown()
        return value
      }
      case 'constant':
        if (tree.name === 'inf') throw new Unknown()
        return tree.name === 'i' ? { re: 0, im: 1 } : { re: tree.name === 'pi' ? Math.PI : Math.E, im: 0 }
      case 'sum':
        return tree.terms
          .map((term) => this.#counted(this.of(term)))
          .reduce((x, y) => ({ re: x.re + y.re, im: x.im + y.im }))
      case 'product':
        return tree.terms.map((term) => this.of(term)).reduce(multiply)
      case 'quotient':
        return divide(this.of(tree.left), this.of(tree.right))
      case 'minus': {
        const value = this.of(tree.of)
        return { re: -value.re, im: -value.im }
      }
      case 'power':
        return power(this.of(tree.left), this.of(tree.right))
      case 'function':
        return apply(
          tree.name,
          tree.of.map((part) =>
            /^(?:sin|cos|tan|cot|sec|csc)$/.test(tree.name) ? this.#counted(this.of(part)) : this.of(part),
          ),
          this.logBase,
        )
      default:
        throw new Unknown()
    }
  }
}

/** The value of a constant real expression: ±Infinity for infinity, null where it has none. */
export function realValue(tree: Expression): number | null {
  if (tree.kind === 'constant' && tree.name === 'inf') return Infinity
  if (tree.kind === 'minus') {
    const value = realValue(tree.of)
    return value === null ? null : -value
  }
  try {
    const value = new Evaluation(new Map(), 10).of(tree)
    return Math.abs(value.im) <= 1e-12 * Math.max(1, Math.abs(value.re)) ? value.re : null
  } catch (error) {
    if (error instanceof NoValue || error instanceof Unknown) return null
    throw error
  }
}

/**
 * The constant that `a` is a multiple of `b` by, or null: not a multiple, or not told. For equations whose sides may have been
 * multiplied.
 */
export function ratioOf(a: Expression, b: Expression): number | null {
  const names = [...symbolsOf(b, symbolsOf(a))].sort()
  const random = createRandom(11)
  const ratios: number[] = []
  for (let round = 0; round < TRIES && ratios.length < POINTS; round++) {
    const values = new Map(names.map((name, k) => [name, point(random, round, k)]))
    try {
      const quotient = divide(new Evaluation(values, 10).of(a), new Evaluation(values, 10).of(b))
      if (Math.abs(quotient.im) > 1e-9 * Math.abs(quotient.re)) continue
      ratios.push(quotient.re)
    } catch (error) {
      if (error instanceof Unknown) return null
      if (!(error instanceof NoValue)) throw error
    }
  }
  const [first] = ratios
  if (ratios.length < POINTS / 2 || first === 0) return null
  return ratios.every((ratio) => Math.abs(ratio - first) <= 1e-8 * Math.abs(first)) ? first : null
}
