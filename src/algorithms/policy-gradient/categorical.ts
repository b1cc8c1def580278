import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

/** K values on an interval; a head answers K logits, and says their mean under softmax. */
export interface Bins {
  minimum: number
  maximum: number
  /** At least 2. */
  count: number
}

/**
 * Two-hot target: the two values next to `target` share the mass so that the mean is `target`, which is held within the
 * interval. The values are evenly spaced with one on each end.
 *
 * Source: arXiv 2403.03950; MuZero, arXiv 1911.08265.
 *
 * @returns probabilities [count]
 * @throws MyriadError 'usage' on an empty interval or fewer than 2 bins, 'numeric' on a target that is not finite
 * @example twoHot(0.25, { minimum: 0, maximum: 1, count: 2 }) // [0.75, 0.25]
 */
export function twoHot(target: number, bins: Bins): Float64Array {
  check(target, bins)
  const { minimum, maximum, count } = bins
  const place = ((Math.min(maximum, Math.max(minimum, target)) - minimum) / (maximum - minimum)) * (count - 1)
  const below = Math.min(Math.floor(place), count - 2)
  const probabilities = new Float64Array(count)
  probabilities[below] = 1 - (place - below)
  probabilities[below + 1] = place - below
  return probabilities
}

/**
 * Histogram of a normal distribution about `target`, cut to the interval and renormalized. The interval is split into
 * `count` bins of equal width; sigma is `sigmaRatio` bin widths. The target is held within the interval.
 *
 * Source: HL-Gauss, arXiv 1806.04613 and 2403.03950 (sigmaRatio 0.75).
 *
 * @returns probabilities [count]
 * @throws as twoHot
 * @example hlGauss(0.5, { minimum: 0, maximum: 1, count: 2 }, 0.75) // [0.5, 0.5]
 */
export function hlGauss(target: number, bins: Bins, sigmaRatio = 0.75): Float64Array {
  check(target, bins)
  const { minimum, maximum, count } = bins
  const width = (maximum - minimum) / count
  const centre = Math.min(maximum, Math.max(minimum, target))
  const edge = (k: number): number => (minimum + k * width - centre) / (sigmaRatio * width)
  const total = normalBetween(edge(0), edge(count))
  return Float64Array.from({ length: count }, (_, k) => normalBetween(edge(k), edge(k + 1)) / total)
}

/** The values that the logits of a head weigh: ends included for two-hot, middles of bins for HL-Gauss. [count] */
export function binValues(bins: Bins, kind: 'two-hot' | 'hl-gauss'): Float64Array {
  const { minimum, maximum, count } = bins
  return Float64Array.from({ length: count }, (_, k) =>
    kind === 'two-hot'
      ? minimum + (k * (maximum - minimum)) / (count - 1)
      : minimum + ((k + 0.5) * (maximum - minimum)) / count,
  )
}

/**
 * Cross-entropy of a categorical head against target probabilities, -sum q_k log softmax(u)_k, its derivative p_k - q_k, and
 * the value the head says.
 *
 * @param logits [count] @param target probabilities [count] @param values of the bins [count]
 * @example categoricalValueLoss([0, 0], twoHot(1, bins), binValues(bins, 'two-hot')).predicted // 0.5
 */
export function categoricalValueLoss(
  logits: ArrayLike<number>,
  target: ArrayLike<number>,
  values: ArrayLike<number>,
): { value: number; gradient: Float64Array; predicted: number } {
  const list = Array.from(logits)
  const largest = Math.max(...list)
  const logTotal = largest + Math.log(list.reduce((sum, logit) => sum + Math.exp(logit - largest), 0))
  let [value, predicted] = [0, 0]
  const gradient = Float64Array.from(list, (logit, k) => {
    const probability = Math.exp(logit - logTotal)
    value -= target[k] * (logit - logTotal)
    predicted += probability * values[k]
    return probability - target[k]
  })
  return { value, gradient, predicted }
}

function check(target: number, { minimum, maximum, count }: Bins): void {
  if (!(minimum < maximum && count >= 2))
    throw new MyriadError(
      'usage',
      `bins need minimum < maximum and at least 2, not ${count} in [${minimum}, ${maximum}]`,
    )
  if (!Number.isFinite(target)) throw new MyriadError('numeric', `the target of a value must be finite, not ${target}`)
}

/** Mass of the standard normal between a and b, a <= b, exact in the tails too. */
function normalBetween(a: number, b: number): number {
  if (a > 0) return upperTail(a) - upperTail(b)
  if (b < 0) return upperTail(-b) - upperTail(-a)
  return 1 - upperTail(-a) - upperTail(b)
}

/** P(Z > x), x >= 0: a series near 0, a continued fraction beyond (Abramowitz and Stegun 26.2.11 and 26.2.14). */
function upperTail(x: number): number {
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
  if (x > 38) return 0
  if (x < 3) {
    let [sum, term] = [0, x]
    for (let n = 1; Math.abs(term) > 1e-18; n++) {
      sum += term
      term *= (x * x) / (2 * n + 1)
    }
    return 0.5 - density * sum
  }
  let fraction = x
  for (let n = 60; n >= 1; n--) fraction = x + n / fraction
  return density / fraction
}

const binOptions = {
  minimum: z.number().default(-1),
  maximum: z.number().default(1),
  count: z.int().min(2).default(51),
}

const about = {
  kind: 'function' as const,
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  reference: 'arXiv 2403.03950 and 1806.04613',
}

export const ppoCategorical = objective({
  ...about,
  name: 'ppo-categorical',
  summary:
    'The value loss of PPO as classification over bins, two-hot or HL-Gauss: targets, loss, derivative, prediction.',
  formula: 'l = -sum_k q_k log softmax(u)_k;  d l / d u_k = p_k - q_k;  V = sum_k p_k z_k',
  use: 'With a head of your own that answers logits. The head of a policy answers one number, so this is no runnable method.',
  options: z.strictObject({
    ...binOptions,
    targets: z.enum(['two-hot', 'hl-gauss']).default('hl-gauss'),
    /** Width of HL-Gauss in bins. */
    sigmaRatio: z.number().positive().default(0.75),
  }),
  make: ({ targets, sigmaRatio, ...bins }) => {
    const values = binValues(bins, targets)
    return (logits: ArrayLike<number>, target: number) =>
      categoricalValueLoss(
        logits,
        targets === 'two-hot' ? twoHot(target, bins) : hlGauss(target, bins, sigmaRatio),
        values,
      )
  },
})

export const twoHotPart = objective({
  ...about,
  name: 'two-hot',
  summary: 'A number as probabilities of the two bins next to it.',
  formula: 'q_j = (z_{j+1} - y) / (z_{j+1} - z_j), q_{j+1} = 1 - q_j',
  use: 'Targets of a categorical head.',
  options: z.strictObject(binOptions),
  make: (bins) => (target: number) => twoHot(target, bins),
})

export const hlGaussPart = objective({
  ...about,
  name: 'hl-gauss',
  summary: 'A number as the histogram of a normal distribution about it.',
  formula: 'q_k = (F(e_{k+1}) - F(e_k)) / (F(e_{K+1}) - F(e_1)), F normal about y with sigma = 0.75 bins',
  use: 'Targets of a categorical head, smoother than two-hot.',
  options: z.strictObject({ ...binOptions, sigmaRatio: z.number().positive().default(0.75) }),
  make:
    ({ sigmaRatio, ...bins }) =>
    (target: number) =>
      hlGauss(target, bins, sigmaRatio),
})
