import { createHash } from 'node:crypto'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

/** A seeded source of randomness. Every function that chooses at random takes one as an argument. */
export interface Random {
  /** Uniform in (0, 1): never 0, never 1. */
  uniform(): number
  /** Uniform integer in [low, high], both inclusive. */
  integer(low: number, high: number): number
  /** One element, uniformly. Throws on an empty list. */
  pick<T>(items: readonly T[]): T
  /** A new array in random order. */
  shuffle<T>(items: readonly T[]): T[]
  /** Standard normal. */
  normal(): number
}

/**
 * A 32-bit seed from any path of labels, so that every random choice has a name and needs no stored generator state.
 *
 * @example const random = createRandom(deriveSeed(seed, 'rollout', step, group, sample))
 */
export function deriveSeed(...path: readonly (string | number)[]): number {
  return createHash('sha256').update(JSON.stringify(path)).digest().readInt32LE(0)
}

/** Spreads a seed over all 32 bits (the finalizer of MurmurHash3), so that neighbouring seeds share nothing. */
function scramble(seed: number): number {
  let h = seed | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** A generator (xoroshiro128+) seeded with a 32-bit integer. */
export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(scramble(seed))
  // A 32-bit seed fills a quarter of the state: the first outputs of any two seeds would be near each other.
  for (let i = 0; i < 12; i++) generator.next()
  const uniform = (): number => ((generator.next() >>> 0) + 0.5) / 4294967296
  const integer = (low: number, high: number): number => low + Math.floor(uniform() * (high - low + 1))
  return {
    uniform,
    integer,
    pick: (items) => {
      if (items.length === 0) throw new RangeError('pick: the list is empty')
      return items[integer(0, items.length - 1)]
    },
    shuffle: (items) => {
      const result = [...items]
      for (let i = result.length - 1; i > 0; i--) {
        const j = integer(0, i)
        ;[result[i], result[j]] = [result[j], result[i]]
      }
      return result
    },
    normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  }
}
