import { GramTable, ItemBuffer } from './gram-table.js'
import { isAsciiPunctuation, isSpace, splitSpace } from './python-space.js'

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
  const settings = withDefaults(options)
  let best = 0
  for (const reference of references)
    best = Math.max(best, fScore(countsOf(hypothesis, reference, settings), settings.beta))
  return best
}

/**
 * Corpus chrF in [0, 1]: counts are summed over all segments, each with the reference it is closest to. Equal to sacreBLEU's
 * `corpus_score` divided by 100.
 *
 * @throws RangeError when the lists differ in length or a segment has no reference
 */
export function corpusChrf(
  hypotheses: readonly string[],
  references: readonly (readonly string[])[],
  options: ChrfOptions = {},
): number {
  if (hypotheses.length !== references.length)
    throw new RangeError(`corpusChrf: ${hypotheses.length} hypotheses, but references of ${references.length}`)
  const settings = withDefaults(options)
  const orders = settings.charOrder + settings.wordOrder
  const sum = noCounts(orders)
  hypotheses.forEach((hypothesis, i) => {
    if (references[i].length === 0) throw new RangeError('corpusChrf: no reference was given')
    const all = references[i].map((reference) => countsOf(hypothesis, reference, settings))
    const best = all.reduce((a, b) => (fScore(b, settings.beta) > fScore(a, settings.beta) ? b : a))
    for (let order = 0; order < orders; order++) {
      sum.hypothesis[order] += best.hypothesis[order]
      sum.reference[order] += best.reference[order]
      sum.matches[order] += best.matches[order]
    }
  })
  return fScore(sum, settings.beta)
}

/** Numbers of n-grams by order: characters 1..charOrder, then words 1..wordOrder. */
interface Counts {
  hypothesis: Float64Array
  reference: Float64Array
  matches: Float64Array
}

function noCounts(orders: number): Counts {
  return {
    hypothesis: new Float64Array(orders),
    reference: new Float64Array(orders),
    matches: new Float64Array(orders),
  }
}

function withDefaults({ charOrder = 6, wordOrder = 0, beta = 2 }: ChrfOptions): Required<ChrfOptions> {
  return { charOrder, wordOrder, beta }
}

const tables = new Map<number, GramTable>()
const [ofHypothesis, ofReference] = [new ItemBuffer(), new ItemBuffer()]

function countsOf(hypothesis: string, reference: string, { charOrder, wordOrder }: Required<ChrfOptions>): Counts {
  const counts = noCounts(charOrder + wordOrder)
  readCharacters(hypothesis, ofHypothesis)
  readCharacters(reference, ofReference)
  countMatches(charOrder, counts, 0)
  if (wordOrder > 0) {
    const ids = new Map<string, number>()
    readWords(hypothesis, ofHypothesis, ids)
    readWords(reference, ofReference, ids)
    countMatches(wordOrder, counts, charOrder)
  }
  return counts
}

/** Of what was last read into the two buffers. */
function countMatches(depth: number, counts: Counts, from: number): void {
  let table = tables.get(depth)
  if (!table) tables.set(depth, (table = new GramTable(depth)))
  table.begin(ofReference.length)
  table.add(ofReference.items, ofReference.length)
  table.match(ofHypothesis.items, ofHypothesis.length, counts.matches.subarray(from, from + depth))
  for (let order = 0; order < depth; order++) {
    // Where the reference has no n-gram of an order, those of the hypothesis do not count in a corpus either.
    const inReference = Math.max(0, ofReference.length - order)
    counts.hypothesis[from + order] = inReference === 0 ? 0 : Math.max(0, ofHypothesis.length - order)
    counts.reference[from + order] = inReference
  }
}

/** The code points of a text, but for white space. */
function readCharacters(text: string, buffer: ItemBuffer): void {
  const items = buffer.reserve(text.length)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code >= 0xd800 && code < 0xdc00) {
      code = text.codePointAt(i)!
      if (code > 0xffff) i++
    }
    if (!isSpace(code)) items[length++] = code
  }
  buffer.length = length
}

function readWords(text: string, buffer: ItemBuffer, ids: Map<string, number>): void {
  const words = splitSpace(text).flatMap(separatePunctuation)
  const items = buffer.reserve(words.length)
  words.forEach((word, i) => {
    let id = ids.get(word)
    if (id === undefined) ids.set(word, (id = ids.size))
    items[i] = id
  })
  buffer.length = words.length
}

/** chrF++ takes one ASCII punctuation mark off a word: the last character, or else the first. */
function separatePunctuation(word: string): string | string[] {
  // A word of one character, be it one of two code units, stays as it is.
  if (word.length === 1) return word
  if (isAsciiPunctuation(word.charCodeAt(word.length - 1))) return [word.slice(0, -1), word.slice(-1)]
  if (isAsciiPunctuation(word.charCodeAt(0))) return [word.slice(0, 1), word.slice(1)]
  return word
}

/** Precision and recall averaged over the orders that both texts are long enough for, then their F-score. */
function fScore({ hypothesis, reference, matches }: Counts, beta: number): number {
  let precision = 0
  let recall = 0
  let orders = 0
  for (let order = 0; order < matches.length; order++) {
    if (hypothesis[order] === 0 || reference[order] === 0) continue
    precision += matches[order] / hypothesis[order]
    recall += matches[order] / reference[order]
    orders++
  }
  if (orders === 0 || precision + recall === 0) return 0
  precision /= orders
  recall /= orders
  const factor = beta ** 2
  return ((1 + factor) * precision * recall) / (factor * precision + recall)
}
