import { splitSpace } from './python-space.js'

export interface MeteorOptions {
  /** Weight of precision in the mean (0.9). */
  alpha?: number
  /** Shape of the penalty (3). */
  beta?: number
  /** Weight of the penalty (0.5). */
  gamma?: number
  /** Words of Intl.Segmenter in this language, in place of those between white space; for scripts without spaces. */
  language?: string
}

/**
 * METEOR by exact matches alone (no stems, synonyms or paraphrases, which exist for few languages): words are aligned one to one
 * so that most match and the matches lie in fewest runs.
 *
 *     F = P R / (alpha P + (1 - alpha) R),   score = F (1 - gamma (runs / matches)^beta)
 *
 * Banerjee and Lavie 2005; the parameters are those of Lavie and Agarwal 2007. The fewest runs are sought greedily, longest run
 * first, which is not always the least there is.
 *
 * @returns in [0, 1]; a text of one run against itself scores 1 - gamma / matches^beta
 * @example meteor('the cat sat', 'the cat sat') // 0.98
 */
export function meteor(hypothesis: string, reference: string, options: MeteorOptions = {}): number {
  const { alpha = 0.9, beta = 3, gamma = 0.5 } = options
  const [given, wanted] = [wordsOf(hypothesis, options), wordsOf(reference, options)]
  const { matches, runs } = alignRuns(given, wanted)
  if (matches === 0) return 0
  const [precision, recall] = [matches / given.length, matches / wanted.length]
  const mean = (precision * recall) / (alpha * precision + (1 - alpha) * recall)
  return mean * (1 - gamma * (runs / matches) ** beta)
}

/** One to one alignment of equal words, the longest run of neighbours first. */
function alignRuns(a: readonly string[], b: readonly string[]): { matches: number; runs: number } {
  const [takenA, takenB] = [new Uint8Array(a.length), new Uint8Array(b.length)]
  let [matches, runs] = [0, 0]
  for (;;) {
    let best = { i: 0, j: 0, length: 0 }
    let above = new Int32Array(b.length + 1)
    for (let i = 1; i <= a.length; i++) {
      const row = new Int32Array(b.length + 1)
      for (let j = 1; j <= b.length; j++) {
        if (takenA[i - 1] || takenB[j - 1] || a[i - 1] !== b[j - 1]) continue
        row[j] = above[j - 1] + 1
        if (row[j] > best.length) best = { i: i - row[j], j: j - row[j], length: row[j] }
      }
      above = row
    }
    if (best.length === 0) return { matches, runs }
    takenA.fill(1, best.i, best.i + best.length)
    takenB.fill(1, best.j, best.j + best.length)
    matches += best.length
    runs++
  }
}

function wordsOf(text: string, { language }: MeteorOptions): string[] {
  const plain = text.normalize('NFC').toLowerCase()
  if (language === undefined) return splitSpace(plain)
  const segmenter = new Intl.Segmenter(language, { granularity: 'word' })
  return [...segmenter.segment(plain)].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
}
