import { MyriadError } from '../../core/index.js'
import { normalizeText } from '../../text/index.js'
import { readable, type Embedder } from './embedder.js'
import { normalized, type Vector } from './vectors.js'

export interface CharacterNgramOptions {
  /** Shortest and longest n-gram, in code points ([2, 4]). */
  orders?: readonly [number, number]
  /** Numbers of a vector; n-grams are hashed into so many places (4096). */
  dimension?: number
}

const longest = 100_000

/**
 * Texts as counts of their character n-grams: 1 + log(count) in the place a hash gives, length 1 over all. It measures spelling,
 * not meaning, and sees nothing in common between languages; it needs no model and is the honest stand-in for one. Case and
 * Unicode form are folded. Of a text the first 100,000 UTF-16 units count.
 *
 * @throws MyriadError 'usage' on orders or a dimension that cannot be
 * @example const [a, b] = await characterNgrams().embed(['habari ya asubuhi', 'habari za asubuhi'])
 */
export function characterNgrams(options: CharacterNgramOptions = {}): Embedder {
  const { orders = [2, 4], dimension = 4096 } = options
  const [low, high] = orders
  if (!(Number.isInteger(low) && Number.isInteger(high) && low >= 1 && low <= high && high <= 16))
    throw new MyriadError('usage', `character n-grams: orders [${orders}] must be whole, from 1 to 16, the lower first`)
  if (!(Number.isInteger(dimension) && dimension >= 1 && dimension <= 1 << 24))
    throw new MyriadError('usage', `character n-grams: the dimension must be from 1 to ${1 << 24}, got ${dimension}`)
  return {
    name: 'character-ngrams',
    dimension,
    embed: (texts) => Promise.resolve(texts.map((text) => ngramVector(text, low, high, dimension))),
    close: () => Promise.resolve(),
  }
}

function ngramVector(text: string, low: number, high: number, dimension: number): Vector {
  const folded = normalizeText(readable(text, longest), { foldCase: true })
  const points = Array.from(folded === '' ? '' : ` ${folded} `, (character) => character.codePointAt(0)!)
  const vector = new Float32Array(dimension)
  for (let start = 0; start < points.length; start++) {
    // FNV-1a over code points.
    let hash = 0x811c9dc5
    for (let n = 1; n <= high && start + n <= points.length; n++) {
      hash = Math.imul(hash ^ points[start + n - 1], 0x01000193)
      if (n >= low) vector[mixed(hash) % dimension]++
    }
  }
  return normalized(vector.map((count) => (count > 0 ? 1 + Math.log(count) : 0)))
}

/** Spreads a hash over all its bits: places are its remainder. */
function mixed(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
