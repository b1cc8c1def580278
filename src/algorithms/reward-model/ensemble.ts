import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

export const ENSEMBLES = ['mean', 'min', 'variance', 'deviation', 'quantile'] as const

export interface EnsembleOptions {
  /** `mean`; `min` (worst case); mean - k `variance`; mean - k `deviation`; `quantile`. */
  by: (typeof ENSEMBLES)[number]
  /** k: how much disagreement is punished (1). */
  penalty?: number
  /** In [0, 1], linear between members (0.25). */
  quantile?: number
}

/**
 * One score out of those of several reward models, lower where they disagree, and its derivative by each member.
 *
 *     mean        1/M
 *     min         1 at the first least one
 *     variance    mean - k var (of the population):   1/M - (2 k / M)(R_i - mean)
 *     deviation   mean - k std (of the population):   1/M - k (R_i - mean) / (M std), 1/M where all are equal
 *     quantile    of the sorted scores, linear between neighbours
 *
 * Members must be on one scale first: standardizeMembers. Source: arXiv 2310.02743 (worst case, variance).
 *
 * @param scores of the members: [members], at least one, finite
 * @throws MyriadError 'usage' of no member, 'numeric' on a score that is not finite
 * @example ensembleScore([1, 3], { by: 'deviation', penalty: 0.5 }) // { value: 1.5, gradient: [0.75, 0.25] }
 */
export function ensembleScore(
  scores: readonly number[],
  options: EnsembleOptions,
): { value: number; gradient: number[] } {
  const m = scores.length
  if (m === 0) throw new MyriadError('usage', 'an ensemble needs at least one member')
  const bad = scores.findIndex((score) => !Number.isFinite(score))
  if (bad >= 0) throw new MyriadError('numeric', `member ${bad} of the ensemble answers ${scores[bad]}`)
  const { by, penalty = 1 } = options
  const mean = scores.reduce((sum, score) => sum + score / m, 0)
  const flat = scores.map(() => 1 / m)
  const at = (weights: ReadonlyMap<number, number>): { value: number; gradient: number[] } => ({
    value: [...weights].reduce((sum, [i, weight]) => sum + weight * scores[i], 0),
    gradient: scores.map((_, i) => weights.get(i) ?? 0),
  })
  switch (by) {
    case 'mean':
      return { value: mean, gradient: flat }
    case 'min':
      return at(new Map([[scores.indexOf(Math.min(...scores)), 1]]))
    case 'variance': {
      const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2 / m, 0)
      return {
        value: mean - penalty * variance,
        gradient: scores.map((score) => (1 - 2 * penalty * (score - mean)) / m),
      }
    }
    case 'deviation': {
      const scale = Math.max(...scores.map((score) => Math.abs(score - mean)))
      if (scale === 0 || scores.every((score) => score === scores[0])) return { value: mean, gradient: flat }
      const deviation = scale * Math.sqrt(scores.reduce((sum, score) => sum + ((score - mean) / scale) ** 2 / m, 0))
      return {
        value: mean - penalty * deviation,
        gradient: scores.map((score) => (1 - (penalty * (score - mean)) / deviation) / m),
      }
    }
    case 'quantile': {
      const place = (options.quantile ?? 0.25) * (m - 1)
      const order = [...scores.keys()].sort((a, b) => scores[a] - scores[b])
      const [low, high] = [Math.floor(place), Math.ceil(place)]
      if (low === high) return at(new Map([[order[low], 1]]))
      return at(
        new Map([
          [order[low], high - place],
          [order[high], place - low],
        ]),
      )
    }
  }
}

/**
 * A function that puts the scores of every member on one scale: mean 0 and standard deviation 1 over the same calibration set.
 * A member that answers the same for all of it is only centred.
 *
 * @param calibration [members][items]
 * @example standardizeMembers([[0, 2], [10, 30]])([1, 40]) // [0, 2]
 */
export function standardizeMembers(
  calibration: readonly (readonly number[])[],
): (scores: readonly number[]) => number[] {
  const fits = calibration.map((row) => {
    if (row.length === 0) throw new MyriadError('usage', 'an ensemble cannot be calibrated on nothing')
    const mean = row.reduce((sum, score) => sum + score / row.length, 0)
    const deviation = Math.sqrt(row.reduce((sum, score) => sum + (score - mean) ** 2 / row.length, 0))
    return { mean, deviation: deviation > 0 ? deviation : 1 }
  })
  return (scores) => {
    if (scores.length !== fits.length)
      throw new MyriadError('usage', `${scores.length} scores of an ensemble calibrated for ${fits.length} members`)
    return scores.map((score, i) => (score - fits[i].mean) / fits[i].deviation)
  }
}

export const ensembleReward = objective({
  kind: 'function',
  name: 'reward-ensemble',
  family: 'reward-model',
  summary: 'Several reward models as one that trusts them where they agree.',
  formula: 'R = min_i R_i | mean - k var | mean - k std | quantile',
  reference: 'arXiv 2310.02743 (worst case, mean - lambda var); mean - k std: a lower confidence bound',
  standing: 'source',
  use: 'Against over-optimization of one reward model. Members have to be on one scale: standardizeMembers.',
  rows: [],
  options: z.strictObject({
    by: z.enum(ENSEMBLES).default('deviation'),
    penalty: z.number().min(0).default(1),
    quantile: z.number().min(0).max(1).default(0.25),
  }),
  make: (options) => (scores: readonly number[]) => ensembleScore(scores, options),
})
