import { createRandom, type Random } from '../../core/index.js'
import { NoValue, Unknown } from './complex.js'
import { toInteger } from './exact.js'
import { some, type Expression } from './expression.js'

const PRIME = 2n ** 61n - 1n
const MODULAR_ROUNDS = 3

/**
 * Are two rational expressions the same, by their values modulo 2^61 - 1 at random points? Functions that are not known count as
 * variables of their argument. Null for what is not rational.
 */
export function sameModulo(a: Expression, b: Expression): boolean | null {
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
