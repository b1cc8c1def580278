import { bleuTokenizers, type BleuTokenizer } from './bleu-tokenizers.js'
import { stripEnd } from './python-space.js'

export interface BleuOptions {
  /** How words are found; `13a` unless given. Use `intl` for many scripts, `zh` or `char` where words have no spaces. */
  tokenize?: BleuTokenizer
}

const longest = 4

/**
 * Sentence BLEU in [0, 1] against one or more references: exponential smoothing, and only orders the hypothesis is long
 * enough for. Equal to sacreBLEU's `BLEU(tokenize, effective_order=True).sentence_score` divided by 100.
 *
 * Papineni et al. 2002; smoothing: Chen and Cherry 2014 (W14-3346), method 3; sacreBLEU: Post 2018 (arXiv:1804.08771).
 *
 * @example sentenceBleu('the cat is on the mat', ['the cat sat on the mat'])
 */
export function sentenceBleu(hypothesis: string, references: readonly string[], options: BleuOptions = {}): number {
  return score(countMatches(hypothesis, references, options), true)
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
  return score(total, false)
}

/** What BLEU is computed from. Arrays are by order, from single words up. */
interface Matches {
  matches: number[]
  possible: number[]
  length: number
  referenceLength: number
}

function noMatches(): Matches {
  return { matches: [0, 0, 0, 0], possible: [0, 0, 0, 0], length: 0, referenceLength: 0 }
}

function countMatches(hypothesis: string, references: readonly string[], { tokenize = '13a' }: BleuOptions): Matches {
  if (references.length === 0) throw new RangeError('BLEU: no reference was given')
  const wordsOf = (text: string): string[] => bleuTokenizers[tokenize](stripEnd(text))
  const words = wordsOf(hypothesis)
  const referenceWords = references.map(wordsOf)
  const result = noMatches()
  result.length = words.length
  // The reference nearest in length; of two as near, the shorter.
  result.referenceLength = referenceWords
    .map((reference) => reference.length)
    .reduce((best, length) => {
      const gain = Math.abs(best - words.length) - Math.abs(length - words.length)
      return gain > 0 || (gain === 0 && length < best) ? length : best
    })
  for (let order = 1; order <= longest; order++) {
    const allowed = new Map<string, number>()
    for (const reference of referenceWords)
      for (const [gram, count] of countGrams(reference, order))
        allowed.set(gram, Math.max(allowed.get(gram) ?? 0, count))
    for (const [gram, count] of countGrams(words, order)) {
      result.possible[order - 1] += count
      result.matches[order - 1] += Math.min(count, allowed.get(gram) ?? 0)
    }
  }
  return result
}

function countGrams(words: readonly string[], order: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (let i = 0; i + order <= words.length; i++) {
    const gram = words.slice(i, i + order).join(' ')
    counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  return counts
}

/** Geometric mean of the precisions, times the brevity penalty. An order without a match counts 1/2, 1/4, ... of a match. */
function score({ matches, possible, length, referenceLength }: Matches, shortOrders: boolean): number {
  if (matches.every((count) => count === 0)) return 0
  const brevity = length < referenceLength ? Math.exp(1 - referenceLength / length) : 1
  let smoothing = 1
  let logs = 0
  let orders = 0
  for (; orders < longest && possible[orders] > 0; orders++) {
    if (matches[orders] === 0) smoothing *= 2
    logs += Math.log((matches[orders] || 1 / smoothing) / possible[orders])
  }
  // A corpus with no n-gram of some order at all has no geometric mean to speak of.
  if (orders < longest && !shortOrders) return 0
  return brevity * Math.exp(logs / orders)
}
