import { MyriadError } from '../core/index.js'
import { defaultSplitPattern, splitWords } from './bpe-pattern.js'
import { byteSymbols } from './byte-level.js'
import { PairHeap } from './pair-heap.js'
import { byteLevelTokenizerJson, type TokenizerJson } from './tokenizer-json.js'

/** A text to learn from. `weight` counts it that many times (1 unless given; fractions are kept to 1/1024). */
export interface CorpusText {
  text: string
  weight?: number
}

export interface BpeOptions {
  /** Ids in the result at most: special tokens, 256 bytes and the learnt tokens. */
  vocabularySize: number
  /** They get the first ids, in order. */
  specialTokens: readonly string[]
  /** How text falls into words; `defaultSplitPattern` unless given. */
  pattern?: string
  /** A pair seen less often (by weight) is never merged; 1 unless given. */
  minimumCount?: number
}

/**
 * Learns a byte-level BPE vocabulary and answers it as a Hugging Face tokenizer.json.
 *
 * Deterministic: the most frequent pair is merged first; of equally frequent pairs, the one whose ids are smaller. The
 * result does not depend on the order of the corpus. If the corpus has too few pairs, the vocabulary is smaller than
 * asked for. Algorithm: Sennrich et al. 2016 (arXiv:1508.07909), with pair counts kept up to date in a heap.
 *
 * A text that should surely become one token is given a large weight: `{ text: ' 57', weight: 1e4 }`.
 *
 * @throws MyriadError 'usage' when `vocabularySize` has no room for the special tokens and the 256 bytes.
 * @example
 * const json = trainBpe([{ text: 'hello hello world' }], { vocabularySize: 300, specialTokens: ['<|end|>'] })
 */
export function trainBpe(corpus: Iterable<CorpusText>, options: BpeOptions): TokenizerJson {
  const { vocabularySize, specialTokens, pattern = defaultSplitPattern, minimumCount = 1 } = options
  const first = specialTokens.length
  if (new Set(specialTokens).size < first) throw new MyriadError('usage', 'trainBpe: a special token is listed twice')
  if (!Number.isInteger(vocabularySize) || vocabularySize < first + 256)
    throw new MyriadError(
      'usage',
      `trainBpe: vocabularySize must be an integer of at least ${first + 256} (256 bytes and ${first} special tokens), got ${vocabularySize}`,
    )

  const tokens = [...specialTokens, ...byteSymbols]
  const idOf = new Map(tokens.map((token, id) => [token, id]))
  const words = countWords(corpus, pattern, first)
  const pairs = new PairTable(words, vocabularySize)
  const merges: [string, string][] = []

  while (tokens.length < vocabularySize) {
    const pair = pairs.pop(minimumCount * weightScale)
    if (pair === null) break
    const text = tokens[pair.left] + tokens[pair.right]
    // Two pairs may spell the same token ("ab"+"c", "a"+"bc"): one id, two merges.
    let id = idOf.get(text)
    if (id === undefined) {
      id = tokens.length
      tokens.push(text)
      idOf.set(text, id)
    }
    merges.push([tokens[pair.left], tokens[pair.right]])
    pairs.merge(pair.left, pair.right, id)
  }
  return byteLevelTokenizerJson({ tokens, specialTokens, merges, pattern })
}

// Weights become integers, so that adding and subtracting counts in any order is exact.
const weightScale = 1024

interface Word {
  symbols: number[]
  count: number
}

function countWords(corpus: Iterable<CorpusText>, pattern: string, firstByte: number): Word[] {
  const regex = new RegExp(pattern, 'gu')
  const counts = new Map<string, number>()
  for (const { text, weight = 1 } of corpus) {
    if (!(weight > 0 && weight < 1e9))
      throw new MyriadError('usage', `trainBpe: the weight of a text must be between 0 and 1e9, got ${weight}`)
    const scaled = Math.max(1, Math.round(weight * weightScale))
    for (const word of splitWords(text, regex)) counts.set(word, (counts.get(word) ?? 0) + scaled)
  }
  const encoder = new TextEncoder()
  const words: Word[] = []
  for (const [word, count] of counts)
    words.push({ symbols: Array.from(encoder.encode(word), (byte) => firstByte + byte), count })
  return words
}

/** How often each pair of neighbours occurs, and in which words. */
class PairTable {
  readonly #words: Word[]
  readonly #base: number
  readonly #counts = new Map<number, number>()
  /** Words that hold, or once held, a pair. */
  readonly #places = new Map<number, number[]>()
  readonly #heap = new PairHeap()
  readonly #merged = new Set<number>()

  constructor(words: Word[], vocabularySize: number) {
    this.#words = words
    this.#base = vocabularySize
    words.forEach(({ symbols, count }, index) => {
      for (let i = 0; i + 1 < symbols.length; i++) this.#add(symbols[i], symbols[i + 1], count, index)
    })
    for (const [key, count] of this.#counts) this.#heap.push(count, key)
  }

  /** The pair to merge next, or null when none is frequent enough. */
  pop(minimum: number): { left: number; right: number } | null {
    for (;;) {
      const top = this.#heap.pop()
      if (top === null) return null
      const count = this.#counts.get(top.key) ?? 0
      if (this.#merged.has(top.key) || count < minimum) continue
      if (count !== top.count) {
        // The entry is stale. Increases were pushed when they happened, so this is a decrease: try again lower down.
        if (count < top.count) this.#heap.push(count, top.key)
        continue
      }
      return { left: Math.floor(top.key / this.#base), right: top.key % this.#base }
    }
  }

  /** Replaces the pair by `id` in every word. */
  merge(left: number, right: number, id: number): void {
    const key = left * this.#base + right
    this.#merged.add(key)
    const places = this.#places.get(key) ?? []
    this.#places.delete(key)
    const grown = new Set<number>()
    for (const index of places) {
      const { symbols, count } = this.#words[index]
      let out = 0
      for (let i = 0; i < symbols.length; i++) {
        if (symbols[i] !== left || i + 1 >= symbols.length || symbols[i + 1] !== right) {
          symbols[out++] = symbols[i]
          continue
        }
        this.#subtract(left, right, count)
        if (out > 0) {
          this.#subtract(symbols[out - 1], left, count)
          grown.add(this.#add(symbols[out - 1], id, count, index))
        }
        if (i + 2 < symbols.length) {
          this.#subtract(right, symbols[i + 2], count)
          grown.add(this.#add(id, symbols[i + 2], count, index))
        }
        symbols[out++] = id
        i++
      }
      symbols.length = out
    }
    for (const pair of grown) {
      const count = this.#counts.get(pair) ?? 0
      if (count > 0) this.#heap.push(count, pair)
    }
  }

  #add(left: number, right: number, count: number, word: number): number {
    const key = left * this.#base + right
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
    const places = this.#places.get(key)
    if (places === undefined) this.#places.set(key, [word])
    else if (places[places.length - 1] !== word) places.push(word)
    return key
  }

  #subtract(left: number, right: number, count: number): void {
    const key = left * this.#base + right
    this.#counts.set(key, (this.#counts.get(key) ?? 0) - count)
  }
}
