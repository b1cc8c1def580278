import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'

export interface PairedTest {
  /** Score of the system, and of the baseline. */
  system: number
  baseline: number
  difference: number
  /** Two-sided. */
  pValue: number
  /** 95 percent interval of the difference; of the bootstrap only. */
  interval?: [low: number, high: number]
}

export interface PairedTestOptions {
  /** Resamples, or shuffles (1000). */
  rounds?: number
  /** (12345) */
  seed?: number
}

/** From the indices of segments, with repetition, to a score of each system: a corpus metric, or a mean. */
export type ScoreOf = (system: 'system' | 'baseline', segments: Int32Array) => number

/**
 * Paired bootstrap resampling: segments are drawn with replacement, the same for both systems. The p-value is the share of
 * resamples whose difference, centred on the mean over resamples, is at least as large as the one observed.
 *
 * Koehn 2004, "Statistical significance tests for machine translation evaluation"; the p-value as in sacreBLEU.
 *
 * @example pairedBootstrap(500, meansOf(a, b))
 */
export function pairedBootstrap(segments: number, scoreOf: ScoreOf, options: PairedTestOptions = {}): PairedTest {
  const { rounds = 1000, seed = 12345 } = checked(segments, options)
  const random = createRandom(deriveSeed(seed, 'bootstrap'))
  const whole = Int32Array.from({ length: segments }, (_, i) => i)
  const observed = [scoreOf('system', whole), scoreOf('baseline', whole)]
  const differences = Array.from({ length: rounds }, () => {
    const drawn = whole.map(() => random.integer(0, segments - 1))
    return scoreOf('system', drawn) - scoreOf('baseline', drawn)
  })
  const difference = observed[0] - observed[1]
  const mean = differences.reduce((sum, x) => sum + x, 0) / rounds
  const extreme = differences.filter((x) => Math.abs(x - mean) >= Math.abs(difference) - 1e-12).length
  differences.sort((a, b) => a - b)
  const at = (share: number): number => differences[Math.min(rounds - 1, Math.max(0, Math.round(share * (rounds - 1))))]
  return {
    system: observed[0],
    baseline: observed[1],
    difference,
    pValue: (extreme + 1) / (rounds + 1),
    interval: [at(0.025), at(0.975)],
  }
}

/**
 * Approximate randomization: outputs of the two systems are exchanged at random, segment by segment. The p-value is the share
 * of exchanges whose difference is at least as large as the one observed.
 *
 * Riezler and Maxwell 2005, "On some pitfalls in automatic evaluation and significance testing for MT".
 *
 * @param scoreOf the score of a mixed system: which of the two each segment is taken from (0 the system, 1 the baseline)
 */
export function approximateRandomization(
  segments: number,
  scoreOf: (from: Uint8Array) => number,
  options: PairedTestOptions = {},
): PairedTest {
  const { rounds = 1000, seed = 12345 } = checked(segments, options)
  const random = createRandom(deriveSeed(seed, 'randomization'))
  const system = scoreOf(new Uint8Array(segments))
  const baseline = scoreOf(new Uint8Array(segments).fill(1))
  const difference = system - baseline
  let extreme = 0
  for (let round = 0; round < rounds; round++) {
    const from = Uint8Array.from({ length: segments }, () => (random.uniform() < 0.5 ? 1 : 0))
    const other = from.map((side) => 1 - side)
    if (Math.abs(scoreOf(from) - scoreOf(other)) >= Math.abs(difference) - 1e-12) extreme++
  }
  return { system, baseline, difference, pValue: (extreme + 1) / (rounds + 1) }
}

/** Means of segment scores, as `pairedBootstrap` takes them. */
export function meansOf(system: ArrayLike<number>, baseline: ArrayLike<number>): ScoreOf {
  return (which, segments) => {
    const values = which === 'system' ? system : baseline
    let sum = 0
    for (const segment of segments) sum += values[segment]
    return sum / segments.length
  }
}

function checked(segments: number, options: PairedTestOptions): PairedTestOptions {
  if (!(segments >= 2)) throw new MyriadError('usage', `a paired test needs at least 2 segments, got ${segments}`)
  return options
}
