import { z } from 'zod'
import { objective } from '../objective.js'

export interface RatioBand {
  low: number
  high: number
}

/**
 * The band of length ratios for a source of n characters: wide for short ones.
 *
 *     n <= 4: [0.6 low, 1.4 high]     4 < n < 12: [low (0.4 + 0.5 sqrt(n / 12)), high]     n >= 12: [low, high]
 *
 * @example homuraBand(4) // { low: 0.48, high: 1.26 }
 */
export function homuraBand(characters: number, { low, high }: RatioBand = { low: 0.8, high: 0.9 }): RatioBand {
  if (characters <= 4) return { low: 0.6 * low, high: 1.4 * high }
  if (characters < 12) return { low: low * (0.4 + 0.5 * Math.sqrt(characters / 12)), high }
  return { low, high }
}

/**
 * Reward of a translation's duration, from ratio = syllables of the translation / syllables of the source (at least 1):
 * 1 inside the band, exp(-100 d^2) outside, d the distance to the FARTHER bound (so it jumps at the edge).
 *
 * @example homuraDuration(0.85, { low: 0.8, high: 0.9 }) // 1
 */
export function homuraDuration(ratio: number, { low, high }: RatioBand): number {
  if (ratio >= low && ratio <= high) return 1
  return Math.exp(-100 * Math.max(Math.abs(ratio - low), Math.abs(ratio - high)) ** 2)
}

/**
 * Homura's whole reward: (min(similarity, 0.8) / 0.8 + duration + quality) / 3 + 0.5 (language - 1).
 *
 * @param scores similarity of a back-translation to the source, quality by a judge, both in [0, 1]; language 1 if right
 * @example homuraReward({ similarity: 0.8, duration: 1, quality: 1, language: 1 }) // 1
 */
export function homuraReward(scores: {
  similarity: number
  duration: number
  quality: number
  language: 0 | 1
}): number {
  const { similarity, duration, quality, language } = scores
  return (Math.min(similarity, 0.8) / 0.8 + duration + quality) / 3 + 0.5 * (language - 1)
}

export const homura = objective({
  kind: 'function',
  name: 'homura-duration',
  family: 'multi-reward',
  summary: "Reward of a translation whose syllables keep to a band of the source's, for speech that must fit a time.",
  formula: '1 if low <= rho <= high else exp(-100 max(|rho - low|, |rho - high|)^2)',
  reference: 'Homura, arXiv 2601.10187, and its reward manager',
  standing: 'source',
  use: 'Dubbing and interpreting. Add it to a quality reward: an empty translation is only far from the band.',
  rows: ['A018'],
  options: z.strictObject({ low: z.number().positive().default(0.8), high: z.number().positive().default(0.9) }),
  make:
    (band) =>
    (syllables: number, sourceSyllables: number, sourceCharacters: number): number =>
      homuraDuration(syllables / Math.max(1, sourceSyllables), homuraBand(sourceCharacters, band)),
})
