export interface RatioBand {
  low: number
  high: number
}

/**
 * The band of length ratios for a source of n characters: wide for short ones (Homura, arXiv 2601.10187).
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
