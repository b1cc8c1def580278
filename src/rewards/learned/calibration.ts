/** What the scores of a reward model are worth as probabilities. */
import { MyriadError } from '../../core/index.js'
import { sigmoid, softplus } from './sigmoid.js'

/** probability = sigmoid(scale * score + offset) */
export interface Calibration {
  scale: number
  offset: number
}

/** The probability a calibrated score stands for, in (0, 1). */
export function calibrated(score: number, { scale, offset }: Calibration): number {
  return sigmoid(scale * score + offset)
}

function requireLabels(what: string, scores: readonly number[], labels: readonly number[]): void {
  if (scores.length === 0 || scores.length !== labels.length)
    throw new MyriadError('usage', `${what}: ${scores.length} scores and ${labels.length} labels`)
  const bad = scores.findIndex((score, i) => !Number.isFinite(score) || !(labels[i] >= 0 && labels[i] <= 1))
  if (bad >= 0) throw new MyriadError('usage', `${what}: item ${bad} has score ${scores[bad]} and label ${labels[bad]}`)
}

/**
 * Temperature scaling: the one positive factor by which scores become the most likely logits of their labels; `offset` is 0. Of
 * differences of scores of better and worse replies all labels are 1. Source: Guo et al. 2017, arXiv 1706.04599. Newton's method
 * on the log of the factor, which is held to [1/1000, 1000] (perfectly separated scores would have none).
 *
 * @param labels in [0, 1]; all 1 unless given
 * @throws MyriadError 'usage' when there are no scores, or labels do not fit
 */
export function fitTemperature(
  scores: readonly number[],
  labels: readonly number[] = scores.map(() => 1),
): Calibration {
  requireLabels('temperature', scores, labels)
  const slope = (scale: number): number =>
    scores.reduce((sum, score, i) => sum + (sigmoid(scale * score) - labels[i]) * score, 0)
  // The loss is convex in the factor: its slope has one root, or none within.
  let [low, high] = [-Math.log(1000), Math.log(1000)]
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (slope(Math.exp(middle)) < 0) low = middle
    else high = middle
  }
  return { scale: Math.exp((low + high) / 2), offset: 0 }
}

/**
 * Platt scaling: factor and offset that make labels most likely, by Newton's method with halved steps. Labels are drawn a little
 * inward, (n+ + 1) / (n+ + 2) and 1 / (n- + 2), so that separated scores have an answer too. Source: Platt 1999; Lin, Lin and
 * Weng 2007.
 *
 * @param labels 0 or 1
 * @param options.smoothing false: labels as they are, as a logistic regression without penalty has them
 */
export function fitPlatt(
  scores: readonly number[],
  labels: readonly number[],
  options: { smoothing?: boolean } = {},
): Calibration {
  requireLabels('Platt scaling', scores, labels)
  const positive = labels.filter((label) => label > 0.5).length
  const [high, low] =
    options.smoothing === false ? [1, 0] : [(positive + 1) / (positive + 2), 1 / (labels.length - positive + 2)]
  const targets = labels.map((label) => low + label * (high - low))
  const loss = (a: number, b: number): number =>
    scores.reduce((sum, score, i) => {
      const z = a * score + b
      return sum + targets[i] * softplus(-z) + (1 - targets[i]) * softplus(z)
    }, 0)
  let [scale, offset] = [0, Math.log((positive + 1) / (labels.length - positive + 1))]
  let value = loss(scale, offset)
  for (let i = 0; i < 100; i++) {
    let [ga, gb, haa, hab, hbb] = [0, 0, 1e-12, 0, 1e-12]
    scores.forEach((score, k) => {
      const p = sigmoid(scale * score + offset)
      const error = p - targets[k]
      const weight = p * (1 - p)
      ga += error * score
      gb += error
      haa += weight * score * score
      hab += weight * score
      hbb += weight
    })
    if (Math.abs(ga) < 1e-10 && Math.abs(gb) < 1e-10) break
    const determinant = haa * hbb - hab * hab
    const [da, db] = [-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant]
    let step = 1
    while (step > 1e-10 && !(loss(scale + step * da, offset + step * db) < value)) step /= 2
    if (step <= 1e-10) break
    scale += step * da
    offset += step * db
    value = loss(scale, offset)
  }
  return { scale, offset }
}

/** Mean squared error of probabilities, in [0, 1]; 0 is best. Source: Brier 1950. */
export function brierScore(probabilities: readonly number[], labels: readonly number[]): number {
  requireLabels('Brier score', probabilities, labels)
  return probabilities.reduce((sum, p, i) => sum + (p - labels[i]) ** 2, 0) / labels.length
}

/**
 * Expected calibration error: how far the mean label and the mean probability are apart within bins of equal width, weighted by
 * how much is in them; in [0, 1], 0 is best. A probability on a border is in the lower bin. Source: Naeini et al. 2015.
 *
 * @example expectedCalibrationError([0.9, 0.8], [1, 0], 10) // 0.45
 */
export function expectedCalibrationError(
  probabilities: readonly number[],
  labels: readonly number[],
  bins = 10,
): number {
  requireLabels('calibration error', probabilities, labels)
  const sums = Array.from({ length: bins }, () => ({ count: 0, probability: 0, label: 0 }))
  probabilities.forEach((p, i) => {
    const bin = sums[Math.min(bins - 1, Math.max(0, Math.ceil(p * bins) - 1))]
    bin.count++
    bin.probability += p
    bin.label += labels[i]
  })
  return sums.reduce((sum, { probability, label }) => sum + Math.abs(probability - label), 0) / labels.length
}
