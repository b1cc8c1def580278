import { commonLength } from './edit-distance.js'
import { splitSpace } from './python-space.js'

export interface PrecisionRecall {
  precision: number
  recall: number
  /** Harmonic mean of the two. */
  f: number
}

export interface RougeOptions {
  /**
   * How words are found. `rouge`: lower case, runs of a-z and 0-9, as the reference implementation (other scripts have no words
   * then); `space`: between white space; `segmenter`, unless given: lower case, words of Intl.Segmenter, for every script.
   */
  words?: 'rouge' | 'space' | 'segmenter'
  /** For the segmenter; BCP 47. */
  language?: string
}

/**
 * ROUGE-N: n-grams of words in common. Lin 2004, "ROUGE: a package for automatic evaluation of summaries". With `rouge` words
 * equal to the package rouge-score (without stemming).
 *
 * @example rougeN('the cat', 'the cat sat', 1) // precision 1, recall 2/3
 */
export function rougeN(hypothesis: string, reference: string, n: number, options: RougeOptions = {}): PrecisionRecall {
  const [given, wanted] = [gramsOf(wordsOf(hypothesis, options), n), gramsOf(wordsOf(reference, options), n)]
  let common = 0
  for (const [gram, count] of wanted.counts) common += Math.min(count, given.counts.get(gram) ?? 0)
  return ofCounts(common, given.total, wanted.total)
}

/** ROUGE-L: the longest common subsequence of words, over the whole text. */
export function rougeL(hypothesis: string, reference: string, options: RougeOptions = {}): PrecisionRecall {
  const [given, wanted] = [wordsOf(hypothesis, options), wordsOf(reference, options)]
  return ofCounts(commonLength(wanted, given), given.length, wanted.length)
}

/**
 * ROUGE-Lsum: for each line of the reference, the words that are in its longest common subsequence with some line of the
 * hypothesis, none counted more often than either text has it.
 */
export function rougeLsum(hypothesis: string, reference: string, options: RougeOptions = {}): PrecisionRecall {
  const linesOf = (text: string): string[][] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => wordsOf(line, options))
  const [given, wanted] = [linesOf(hypothesis), linesOf(reference)]
  const [leftGiven, leftWanted] = [gramsOf(given.flat(), 1), gramsOf(wanted.flat(), 1)]
  let hits = 0
  for (const line of wanted) {
    const covered = new Set(given.flatMap((other) => commonIndices(line, other)))
    for (const index of [...covered].sort((a, b) => a - b)) {
      const word = line[index]
      const [inGiven, inWanted] = [leftGiven.counts.get(word) ?? 0, leftWanted.counts.get(word) ?? 0]
      if (inGiven === 0 || inWanted === 0) continue
      hits++
      leftGiven.counts.set(word, inGiven - 1)
      leftWanted.counts.set(word, inWanted - 1)
    }
  }
  return ofCounts(hits, leftGiven.total, leftWanted.total)
}

function ofCounts(common: number, given: number, wanted: number): PrecisionRecall {
  const precision = common / Math.max(given, 1)
  const recall = common / Math.max(wanted, 1)
  return { precision, recall, f: precision + recall > 0 ? (2 * precision * recall) / (precision + recall) : 0 }
}

function gramsOf(words: readonly string[], n: number): { counts: Map<string, number>; total: number } {
  const counts = new Map<string, number>()
  const total = Math.max(0, words.length - n + 1)
  for (let i = 0; i < total; i++) {
    const gram = words.slice(i, i + n).join(' ')
    counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  return { counts, total }
}

/** Places in `a` of one longest common subsequence with `b`: of several, the one that keeps to the end of `b`. */
function commonIndices(a: readonly string[], b: readonly string[]): number[] {
  const width = b.length + 1
  const length = new Int32Array((a.length + 1) * width)
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j < width; j++)
      length[i * width + j] =
        a[i - 1] === b[j - 1]
          ? length[(i - 1) * width + j - 1] + 1
          : Math.max(length[(i - 1) * width + j], length[i * width + j - 1])
  const indices: number[] = []
  let [i, j] = [a.length, b.length]
  while (i > 0 && j > 0) {
    if (a[i - 1] === b[j - 1]) {
      indices.push(--i)
      j--
    } else if (length[i * width + j - 1] > length[(i - 1) * width + j]) j--
    else i--
  }
  return indices
}

const segmenters = new Map<string, Intl.Segmenter>()

function wordsOf(text: string, { words = 'segmenter', language = 'en' }: RougeOptions): string[] {
  if (words === 'space') return splitSpace(text)
  if (words === 'rouge') return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  let segmenter = segmenters.get(language)
  if (!segmenter) segmenters.set(language, (segmenter = new Intl.Segmenter(language, { granularity: 'word' })))
  const found: string[] = []
  for (const { segment, isWordLike } of segmenter.segment(text.normalize('NFC').toLowerCase()))
    if (isWordLike) found.push(segment)
  return found
}
