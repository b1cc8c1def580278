import { z } from 'zod'
import { homuraBand, homuraDuration } from '../../text/index.js'
import { objective } from '../objective.js'

export { homuraBand, homuraDuration, type RatioBand } from '../../text/index.js'

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
