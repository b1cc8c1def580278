import { MyriadError } from '../../core/index.js'

export const MEMBER_REDUCTIONS = ['mean', 'min', 'deviation', 'variance'] as const
export type MemberReduction = (typeof MEMBER_REDUCTIONS)[number]

/**
 * One score out of an ensemble's: their mean, the least, or the mean less `penalty` times their standard deviation or variance
 * (of the population), so that a reply its members disagree on earns less. Source: arXiv 2310.02743.
 *
 * @throws MyriadError 'usage' of none
 * @example reduceMembers([1, 3], 'deviation') // 1
 */
export function reduceMembers(scores: readonly number[], by: MemberReduction, penalty = 1): number {
  if (scores.length === 0) throw new MyriadError('usage', 'an ensemble needs at least one member')
  const mean = scores.reduce((sum, score) => sum + score / scores.length, 0)
  if (by === 'min') return Math.min(...scores)
  if (by === 'mean') return mean
  const deviation = disagreement(scores)
  return mean - penalty * (by === 'variance' ? deviation ** 2 : deviation)
}

/** Standard deviation (of the population) of what the members of an ensemble say; 0 of one. */
export function disagreement(scores: readonly number[]): number {
  if (scores.every((score) => score === scores[0])) return 0
  const mean = scores.reduce((sum, score) => sum + score / scores.length, 0)
  return Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2 / scores.length, 0))
}
