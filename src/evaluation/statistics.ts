import { MyriadError } from '../core/index.js'

/** Two-sided 95 percent of the standard normal. */
const Z = 1.959963984540054

export interface Interval {
  low: number
  high: number
}

/**
 * Wilson's score interval for a proportion: 95 percent, within [0, 1], never empty at 0 or 1.
 * Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
 *
 * @param success observed share in [0, 1]
 * @param n number of independent trials, or an effective number, which need not be whole
 * @example wilson(0, 10) // { low: 0, high: 0.2775... }
 */
export function wilson(success: number, n: number): Interval {
  if (!(n > 0)) return { low: 0, high: 1 }
  const z2 = Z * Z
  const centre = (success + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z / (1 + z2 / n)) * Math.sqrt((success * (1 - success)) / n + z2 / (4 * n * n))
  return { low: success <= 0 ? 0 : Math.max(0, centre - half), high: success >= 1 ? 1 : Math.min(1, centre + half) }
}

/**
 * Interval for a success rate when each problem was tried several times. Tries of one problem are alike, so the problem,
 * not the try, is the independent unit. The variance between problems gives an effective number of tries,
 *
 *     n* = p (1 - p) / variance(p),   variance(p) = mean over strata of  s^2 / problems, over strata
 *
 * held between the number of problems (tries of one problem all alike) and the number of tries (all independent), and the
 * interval is Wilson's at n*. With one try per problem it is Wilson's interval exactly. p is the mean over strata of the
 * mean over problems. Source: Franco, Little, Louis and Slud, Comparative study of confidence intervals for proportions in
 * complex sample surveys, J. Survey Statistics and Methodology 7 (2019).
 *
 * @param strata per stratum (a cell of task and language), per problem: share of successful tries, in [0, 1]
 * @param tries of each problem
 * @example clusteredInterval([[1, 1, 0.5, 0]], 8)
 */
export function clusteredInterval(strata: readonly (readonly number[])[], tries: number): Interval {
  const filled = strata.filter((problems) => problems.length > 0)
  const problems = filled.reduce((sum, stratum) => sum + stratum.length, 0)
  if (problems === 0) return { low: 0, high: 1 }
  const p = mean(filled.map(mean))
  const variance =
    filled.reduce((sum, stratum) => sum + sampleVariance(stratum) / stratum.length, 0) / filled.length ** 2
  const effective = variance > 0 ? (p * (1 - p)) / variance : problems
  return wilson(p, Math.min(Math.max(effective, problems), problems * tries))
}

/**
 * Unbiased estimate of pass@k from n tries of one problem, c of them successful: 1 - C(n - c, k) / C(n, k).
 * Source: Chen et al., arXiv 2107.03374.
 *
 * @throws MyriadError 'usage' unless 0 <= successes <= tries and 1 <= k <= tries
 * @example passAtK(8, 1, 1) // 0.125
 */
export function passAtK(tries: number, successes: number, k: number): number {
  if (!(successes >= 0 && successes <= tries && k >= 1 && k <= tries)) {
    throw new MyriadError('usage', `pass@${k} of ${successes} successes in ${tries} tries: need 1 <= k <= tries`)
  }
  let fail = 1
  for (let i = 0; i < k; i++) fail *= Math.max(0, tries - successes - i) / (tries - i)
  return 1 - fail
}

/** Mean; 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Mean of what is not null; null when nothing is. */
export function meanOfKnown(values: readonly (number | boolean | null)[]): number | null {
  const known = values.filter((value) => value !== null).map(Number)
  return known.length === 0 ? null : mean(known)
}

function sampleVariance(values: readonly number[]): number {
  if (values.length < 2) return 0
  const centre = mean(values)
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1)
}
