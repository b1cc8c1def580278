import { bleuTokenizers, type BleuTokenizer } from './bleu-tokenizers.js'
import { GramTable, ItemBuffer } from './gram-table.js'
import { stripEnd } from './python-space.js'

export interface BleuOptions {
  /** How words are found; `13a` unless given. Use `intl` for many scripts, `zh` or `char` where words have no spaces. */
  tokenize?: BleuTokenizer
  /** What an order without a match counts; `exp` unless given. */
  smoothing?: BleuSmoothing
  /** Of `floor` (0.1) and `add-k` (1). */
  smoothingValue?: number
}

/**
 * - `exp`: an order without a match counts 1/2 of a match, the next 1/4, ... (method 3 of Chen and Cherry 2014)
 * - `floor`: it counts a fixed part of a match
 * - `add-k`: k is added to matches and n-grams of all orders but the first
 * - `none`: it makes the score 0, but for rounding
 */
export type BleuSmoothing = 'exp' | 'floor' | 'add-k' | 'none'

const longest = 4

/**
 * Sentence BLEU in [0, 1] against one or more references: only orders the hypothesis is long enough for. Equal to sacreBLEU's `BLEU(tokenize, effective_order=True).sentence_score` divided by 100.
 *
 * Papineni et al. 2002; smoothing: Chen and Cherry 2014 (W14-3346), method 3; sacreBLEU: Post 2018 (arXiv:1804.08771).
 *
 * @example sentenceBleu('the cat is on the mat', ['the cat sat on the mat'])
 */
export function sentenceBleu(hypothesis: string, references: readonly string[], options: BleuOptions = {}): number {
  return score(countMatches(hypothesis, references, options), true, options)
}

/**
 * Corpus BLEU in [0, 1]: counts are summed over all segments first. `references[i]` are those of `hypotheses[i]`. Equal to
 * sacreBLEU's `corpus_score` divided by 100.
 *
 * @throws RangeError when the lists differ in length or a segment has no reference.
 */
export function corpusBleu(
  hypotheses: readonly string[],
  references: readonly (readonly string[])[],
  options: BleuOptions = {},
): number {
  if (hypotheses.length !== references.length)
    throw new RangeError(`corpusBleu: ${hypotheses.length} hypotheses, but references of ${references.length}`)
  const total = noMatches()
  hypotheses.forEach((hypothesis, i) => {
    const segment = countMatches(hypothesis, references[i], options)
    total.length += segment.length
    total.referenceLength += segment.referenceLength
    for (let order = 0; order < longest; order++) {
      total.matches[order] += segment.matches[order]
      total.possible[order] += segment.possible[order]
    }
  })
  return score(total, false, options)
}

/** What BLEU is computed from. Arrays are by order, from single words up. */
interface Matches {
  matches: Float64Array
  possible: Float64Array
  length: number
  referenceLength: number
}

function noMatches(): Matches {
  return { matches: new Float64Array(longest), possible: new Float64Array(longest), length: 0, referenceLength: 0 }
}

const table = new GramTable(longest)
const buffer = new ItemBuffer()
/** Words by number, from one segment to the next. */
const ids = new Map<string, number>()
const REMEMBERED = 100_000

function countMatches(hypothesis: string, references: readonly string[], { tokenize = '13a' }: BleuOptions): Matches {
  if (references.length === 0) throw new RangeError('BLEU: no reference was given')
  const wordsOf = (text: string): string[] => bleuTokenizers[tokenize](stripEnd(text))
  const words = wordsOf(hypothesis)
  const referenceWords = references.map(wordsOf)
  const result = noMatches()
  result.length = words.length
  result.referenceLength = nearestLength(referenceWords, words.length)
  if (ids.size > REMEMBERED) ids.clear()
  table.begin(referenceWords.reduce((sum, reference) => sum + reference.length, 0))
  for (const reference of referenceWords) table.add(idsOf(reference), reference.length)
  table.match(idsOf(words), words.length, result.matches)
  for (let order = 0; order < longest; order++) result.possible[order] = Math.max(0, words.length - order)
  return result
}

/** Of the reference nearest in length; of two as near, the shorter. */
function nearestLength(references: readonly (readonly string[])[], length: number): number {
  let best = references[0].length
  for (const reference of references) {
    const gain = Math.abs(best - length) - Math.abs(reference.length - length)
    if (gain > 0 || (gain === 0 && reference.length < best)) best = reference.length
  }
  return best
}

function idsOf(words: readonly string[]): Int32Array {
  const items = buffer.reserve(words.length)
  for (let i = 0; i < words.length; i++) {
    let id = ids.get(words[i])
    if (id === undefined) ids.set(words[i], (id = ids.size))
    items[i] = id
  }
  return items
}

/** Geometric mean of the precisions, times the brevity penalty. */
function score(
  { matches, possible, length, referenceLength }: Matches,
  shortOrders: boolean,
  options: BleuOptions,
): number {
  if (matches.every((count) => count === 0)) return 0
  const { smoothing = 'exp', smoothingValue = smoothing === 'floor' ? 0.1 : 1 } = options
  const brevity = length < referenceLength ? Math.exp(1 - referenceLength / length) : 1
  let halved = 1
  let logs = 0
  let orders = 0
  for (; orders < longest; orders++) {
    const added = smoothing === 'add-k' && orders > 0 ? smoothingValue : 0
    const total = possible[orders] + added
    if (total === 0) break
    const matched = matches[orders] + added
    if (matched === 0 && smoothing === 'exp') halved *= 2
    const counted = matched || { exp: 1 / halved, floor: smoothingValue, 'add-k': 0, none: 0 }[smoothing]
    logs += counted === 0 ? LOG_OF_NOTHING : Math.log(counted / total)
  }
  // A corpus with no n-gram of some order at all has no geometric mean to speak of.
  if (orders < longest && !shortOrders) return 0
  return brevity * Math.exp(logs / orders)
}

const LOG_OF_NOTHING = -9_999_999_999
