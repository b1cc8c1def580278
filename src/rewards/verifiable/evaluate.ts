import { createRandom, type Random } from '../../core/index.js'
import { equalExact, toFloat, toInteger } from './exact.js'
import { canonical, some, symbolsOf, type Expression } from './expression.js'

interface Complex {
  re: number
  im: number
}

const PRIME = 2n ** 61n - 1n
const MODULAR_ROUNDS = 3
const POINTS = 12
const TRIES = 40

/** Not a value: undefined here, or beyond floating point. */
class NoValue extends Error {}
/** Nothing this evaluation knows. */
class Unknown extends Error {}

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

function sameModulo(a: Expression, b: Expression): boolean | null {
  const random = createRandom(1)
  const both = { kind: 'sum', terms: [a, b] } as const
  const transcendentals = (['pi', 'e'] as const).filter((name) =>
    some(both, (node) => node.kind === 'constant' && node.name === name),
  )
  let agreed = 0
  for (let round = 0; round < 4 * MODULAR_ROUNDS && agreed < MODULAR_ROUNDS; round++) {
    const at = new Map<string, bigint>()
    try {
      if (modulo(a, at, random) !== modulo(b, at, random)) return transcendentals.length > 1 ? null : false
      agreed++
    } catch (error) {
      if (error instanceof Unknown) return null
      if (!(error instanceof NoValue)) throw error
    }
  }
  return agreed === MODULAR_ROUNDS ? true : null
}

const residue = (value: bigint): bigint => ((value % PRIME) + PRIME) % PRIME

function modularPower(base: bigint, exponent: bigint): bigint {
  if (exponent < 0n) return modularPower(inverse(base), -exponent)
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % PRIME
    square = (square * square) % PRIME
  }
  return result
}

function inverse(value: bigint): bigint {
  if (value === 0n) throw new NoValue()
  return modularPower(value, PRIME - 2n)
}

function drawn(name: string, at: Map<string, bigint>, random: Random): bigint {
  let value = at.get(name)
  if (value === undefined) {
    value = (BigInt(random.integer(1, 2 ** 30)) << 30n) + BigInt(random.integer(1, 2 ** 30))
    at.set(name, value)
  }
  return value
}

function modulo(tree: Expression, at: Map<string, bigint>, random: Random): bigint {
  switch (tree.kind) {
    case 'number': {
      const { numerator, denominator, exponent } = tree.value
      return residue(residue(numerator) * inverse(residue(denominator)) * modularPower(10n, BigInt(exponent)))
    }
    case 'symbol':
      return drawn(tree.name, at, random)
    case 'constant':
      if (tree.name === 'i' || tree.name === 'inf') throw new Unknown()
      return drawn(`constant ${tree.name}`, at, random)
    case 'sum':
      return tree.terms.reduce((total, term) => (total + modulo(term, at, random)) % PRIME, 0n)
    case 'product':
      return tree.terms.reduce((total, term) => (total * modulo(term, at, random)) % PRIME, 1n)
    case 'quotient':
      return residue(modulo(tree.left, at, random) * inverse(modulo(tree.right, at, random)))
    case 'minus':
      return residue(-modulo(tree.of, at, random))
    case 'power': {
      const exponent = integerOf(tree.right)
      if (exponent === null) throw new Unknown()
      return modularPower(modulo(tree.left, at, random), exponent)
    }
    case 'function': {
      if (tree.name === 'factorial') return factorial(tree.of[0])
      if (tree.name === 'binomial') return binomial(tree.of[0], tree.of[1])
      if (!tree.name.startsWith('call ')) throw new Unknown()
      const inside = tree.of.map((part) => modulo(part, at, random))
      return drawn(`${tree.name}(${inside.join(',')})`, at, random)
    }
    default:
      throw new Unknown()
  }
}

/** Bits of the largest exponent that is worked out exactly. */
const MOST_BITS = 4096

/** The value of a constant expression that is a whole number of reasonable size, or null. */
function integerOf(tree: Expression): bigint | null {
  switch (tree.kind) {
    case 'number':
      return toInteger(tree.value)
    case 'minus': {
      const value = integerOf(tree.of)
      return value === null ? null : -value
    }
    case 'sum':
    case 'product': {
      let total = tree.kind === 'sum' ? 0n : 1n
      for (const term of tree.terms) {
        const value = integerOf(term)
        if (value === null) return null
        total = tree.kind === 'sum' ? total + value : total * value
        if (total.toString(2).length > MOST_BITS) return null
      }
      return total
    }
    case 'quotient': {
      const [above, below] = [integerOf(tree.left), integerOf(tree.right)]
      return above !== null && below && above % below === 0n ? above / below : null
    }
    case 'power': {
      const [base, exponent] = [integerOf(tree.left), integerOf(tree.right)]
      if (base === null || exponent === null || exponent < 0n) return null
      return BigInt(base.toString(2).length) * exponent > BigInt(MOST_BITS) ? null : base ** exponent
    }
    default:
      return null
  }
}

/** Largest n of n! that is worked out. */
const MOST_FACTORIAL = 10_000n

function factorial(tree: Expression): bigint {
  const n = integerOf(tree)
  if (n === null || n < 0n || n > MOST_FACTORIAL) throw new Unknown()
  let result = 1n
  for (let k = 2n; k <= n; k++) result = (result * k) % PRIME
  return result
}

function binomial(above: Expression, below: Expression): bigint {
  const [n, k] = [integerOf(above), integerOf(below)]
  if (n === null || k === null || n < 0n || n > MOST_FACTORIAL) throw new Unknown()
  if (k < 0n || k > n) return 0n
  let result = 1n
  for (let j = 1n; j <= k; j++) result = (((result * (n - k + j)) % PRIME) * inverse(j)) % PRIME
  return result
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

const multiply = (a: Complex, b: Complex): Complex => ({ re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re })

function divide(a: Complex, b: Complex): Complex {
  const size = b.re * b.re + b.im * b.im
  if (size === 0) throw new NoValue()
  return { re: (a.re * b.re + a.im * b.im) / size, im: (a.im * b.re - a.re * b.im) / size }
}

function logarithm(z: Complex): Complex {
  const size = Math.hypot(z.re, z.im)
  if (size === 0) throw new NoValue()
  return { re: Math.log(size), im: Math.atan2(z.im, z.re) }
}

function exponential(z: Complex): Complex {
  const size = Math.exp(z.re)
  return z.im === 0 ? { re: size, im: 0 } : { re: size * Math.cos(z.im), im: size * Math.sin(z.im) }
}

function power(base: Complex, exponent: Complex): Complex {
  if (base.im === 0 && exponent.im === 0 && (base.re >= 0 || Number.isInteger(exponent.re))) {
    if (base.re === 0 && exponent.re < 0) throw new NoValue()
    return { re: base.re ** exponent.re, im: 0 }
  }
  if (base.re === 0 && base.im === 0) throw new NoValue()
  if (exponent.im === 0 && Number.isInteger(exponent.re) && Math.abs(exponent.re) <= 64) {
    let result: Complex = { re: 1, im: 0 }
    for (let k = 0; k < Math.abs(exponent.re); k++) result = multiply(result, base)
    return exponent.re < 0 ? divide({ re: 1, im: 0 }, result) : result
  }
  return exponential(multiply(exponent, logarithm(base)))
}

function root(z: Complex): Complex {
  if (z.im === 0) return z.re >= 0 ? { re: Math.sqrt(z.re), im: 0 } : { re: 0, im: Math.sqrt(-z.re) }
  return power(z, { re: 0.5, im: 0 })
}

function realOf(z: Complex): number {
  if (Math.abs(z.im) > 1e-12 * Math.max(1, Math.abs(z.re))) throw new NoValue()
  return z.re
}

const real = (re: number): Complex => {
  if (Number.isNaN(re)) throw new NoValue()
  return { re, im: 0 }
}

const i: Complex = { re: 0, im: 1 }

function sine(z: Complex): Complex {
  return z.im === 0
    ? real(Math.sin(z.re))
    : { re: Math.sin(z.re) * Math.cosh(z.im), im: Math.cos(z.re) * Math.sinh(z.im) }
}

function cosine(z: Complex): Complex {
  return z.im === 0
    ? real(Math.cos(z.re))
    : { re: Math.cos(z.re) * Math.cosh(z.im), im: -Math.sin(z.re) * Math.sinh(z.im) }
}

const unary: Readonly<Record<string, (z: Complex) => Complex>> = {
  sin: sine,
  cos: cosine,
  tan: (z) => divide(sine(z), cosine(z)),
  cot: (z) => divide(cosine(z), sine(z)),
  sec: (z) => divide(real(1), cosine(z)),
  csc: (z) => divide(real(1), sine(z)),
  sinh: (z) => multiply({ re: 0, im: -1 }, sine(multiply(i, z))),
  cosh: (z) => cosine(multiply(i, z)),
  tanh: (z) => real(Math.tanh(realOf(z))),
  asin: (z) => real(Math.asin(realOf(z))),
  acos: (z) => real(Math.acos(realOf(z))),
  atan: (z) => real(Math.atan(realOf(z))),
  exp: exponential,
  ln: logarithm,
  lg: (z) => divide(logarithm(z), real(Math.LN10)),
  sqrt: root,
  abs: (z) => real(Math.hypot(z.re, z.im)),
  floor: (z) => real(Math.floor(realOf(z) + 1e-12)),
  ceil: (z) => real(Math.ceil(realOf(z) - 1e-12)),
  sign: (z) => real(Math.sign(realOf(z))),
  degree: (z) => multiply(z, real(Math.PI / 180)),
}

function apply(name: string, of: readonly Complex[], logBase: number): Complex {
  const [z, second] = of
  if (name === 'log') return divide(logarithm(z), second ? logarithm(second) : real(Math.log(logBase)))
  if (name === 'root') {
    const degree = realOf(second)
    if (z.im === 0 && z.re < 0 && Number.isInteger(degree) && degree % 2 !== 0) return real(-((-z.re) ** (1 / degree)))
    return power(z, divide(real(1), second))
  }
  if (name === 'factorial') {
    const n = realOf(z)
    if (!Number.isInteger(n) || n < 0 || n > 170) throw new NoValue()
    let result = 1
    for (let k = 2; k <= n; k++) result *= k
    return real(result)
  }
  if (name === 'binomial') {
    const [n, k] = [realOf(z), realOf(second)]
    if (!Number.isInteger(n) || !Number.isInteger(k) || k < 0 || n < k || n > 1000) throw new NoValue()
    let result = 1
    for (let j = 1; j <= k; j++) result = (result * (n - k + j)) / j
    return real(result)
  }
  const known = unary[name]
  if (!known) throw new Unknown()
  return known(z)
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
