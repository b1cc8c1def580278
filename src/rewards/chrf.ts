import { splitSpace } from './python-space.js'

/** Which chrF: the defaults are sacreBLEU's. */
export interface ChrfOptions {
  /** Longest character n-gram; 6. */
  charOrder?: number
  /** Longest word n-gram: 0 is chrF, 2 is chrF++. */
  wordOrder?: number
  /** How much more recall counts than precision; 2. */
  beta?: number
}

/**
 * Sentence chrF in [0, 1]: the F-score of character n-grams (and, with `wordOrder`, of words) between a text and the
 * reference it is closest to. Needs no tokenizer, so it is the same for every script; white space does not count.
 * Equal to sacreBLEU's `sentence_chrf` divided by 100.
 *
 * Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"; chrF++: Popović 2017.
 *
 * @example sentenceChrf('habari ya dunia', ['habari za dunia']) // 0.63
 */
export function sentenceChrf(hypothesis: string, references: readonly string[], options: ChrfOptions = {}): number {
  if (references.length === 0) throw new RangeError('sentenceChrf: no reference was given')
  const { charOrder = 6, wordOrder = 0, beta = 2 } = options
  const grams = nGrams(hypothesis, charOrder, wordOrder)
  return Math.max(...references.map((reference) => fScore(grams, nGrams(reference, charOrder, wordOrder), beta)))
}

/** Counts of n-grams, one table per order: characters 1..charOrder, then words 1..wordOrder. */
type Grams = readonly ReadonlyMap<string, number>[]

function nGrams(text: string, charOrder: number, wordOrder: number): Grams {
  const words = splitSpace(text)
  const characters = Array.from(words.join(''))
  const separated = wordOrder > 0 ? words.flatMap(separatePunctuation) : []
  return [
    ...Array.from({ length: charOrder }, (_, i) => countGrams(characters, i + 1, '')),
    ...Array.from({ length: wordOrder }, (_, i) => countGrams(separated, i + 1, ' ')),
  ]
}

function countGrams(items: readonly string[], order: number, glue: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (let i = 0; i + order <= items.length; i++) {
    const gram = items.slice(i, i + order).join(glue)
    counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  return counts
}

const asciiPunctuation = /[!-/:-@[-`{-~]/

/** chrF++ takes one ASCII punctuation mark off a word: the last character, or else the first. */
function separatePunctuation(word: string): string[] {
  const characters = Array.from(word)
  if (characters.length === 1) return [word]
  if (asciiPunctuation.test(characters[characters.length - 1])) return [word.slice(0, -1), word.slice(-1)]
  if (asciiPunctuation.test(characters[0])) return [word.slice(0, 1), word.slice(1)]
  return [word]
}

/** Precision and recall averaged over the orders that both texts are long enough for, then their F-score. */
function fScore(hypothesis: Grams, reference: Grams, beta: number): number {
  let precision = 0
  let recall = 0
  let orders = 0
  hypothesis.forEach((counts, order) => {
    const inHypothesis = total(counts)
    const inReference = total(reference[order])
    if (inHypothesis === 0 || inReference === 0) return
    let matches = 0
    for (const [gram, count] of counts) matches += Math.min(count, reference[order].get(gram) ?? 0)
    precision += matches / inHypothesis
    recall += matches / inReference
    orders++
  })
  if (orders === 0 || precision + recall === 0) return 0
  precision /= orders
  recall /= orders
  const factor = beta ** 2
  return ((1 + factor) * precision * recall) / (factor * precision + recall)
}

function total(counts: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}
