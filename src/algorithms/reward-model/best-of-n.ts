import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid } from '../preference/logistic.js'

/**
 * How likely each of a pool of replies is to be the best of n drawn from it with replacement: F(y)^n - F_below(y)^n shared
 * among the replies of equal score.
 *
 * @param scores of the pool, finite
 * @returns probabilities, which sum to 1: [scores]
 * @throws MyriadError 'usage' when n is not a positive integer
 * @example bestOfNLaw([0, 1], 2) // [0.25, 0.75]
 */
export function bestOfNLaw(scores: readonly number[], n: number): number[] {
  if (!Number.isInteger(n) || n < 1) throw new MyriadError('usage', `best of ${n}: n must be a positive integer`)
  const m = scores.length
  return scores.map((score) => {
    const below = scores.filter((other) => other < score).length
    const equal = scores.filter((other) => other === score).length
    return (((below + equal) / m) ** n - (below / m) ** n) / equal
  })
}

/**
 * Unbiased estimate, from one pool of M >= n replies, of what the reply of best score among n draws is worth: each n of the pool
 * without replacement are as likely. `values` may be another measure than the scores that choose.
 *
 * @throws MyriadError 'usage' when the pool is smaller than n
 * @example bestOfNEstimate([0, 1, 2], [0, 1, 2], 2) // 5/3
 */
export function bestOfNEstimate(scores: readonly number[], values: readonly number[], n: number): number {
  const m = scores.length
  if (!Number.isInteger(n) || n < 1 || n > m)
    throw new MyriadError('usage', `best of ${n} cannot be estimated from a pool of ${m}`)
  // C(c, n) / C(m, n): the chance that all n are among c given ones.
  const chance = (c: number): number => {
    let product = 1
    for (let k = 0; k < n; k++) product *= Math.max(0, c - k) / (m - k)
    return product
  }
  return scores.reduce((sum, score, i) => {
    const below = scores.filter((other) => other < score).length
    const equal = scores.filter((other) => other === score).length
    return sum + (values[i] * (chance(below + equal) - chance(below))) / equal
  }, 0)
}

/**
 * log n - (n - 1) / n nats: the divergence of best-of-n from what it draws from; exact for distinct scores of a continuous
 * distribution, else a bound from above. arXiv 2112.09332; the bound: 2401.01879.
 */
export function bestOfNDivergence(n: number): number {
  return Math.log(n) - (n - 1) / n
}

/** Two replies of a pool, and how sure a reward model is of which is better. */
export interface SyntheticPair {
  /** Place of the prompt. */
  prompt: number
  better: number
  worse: number
  /** sig(R_better - R_worse). */
  confidence: number
}

/**
 * West-of-N: of the replies to each prompt the best and the worst by a reward model become a synthetic comparison to train it
 * on; the least sure ones are left out. Pools of one reply or of equal scores have none; of equal bests and worsts the first.
 *
 * @param scores of replies: [prompts][replies]
 * @param options.keep share of the pairs to keep, the surest first (1)
 * @example westOfN([[0.1, 2, -1], [1, 1]]) // [{ prompt: 0, better: 1, worse: 2, confidence: 0.953 }]
 */
export function westOfN(scores: readonly (readonly number[])[], options: { keep?: number } = {}): SyntheticPair[] {
  const { keep = 1 } = options
  const pairs = scores.flatMap((row, prompt): SyntheticPair[] => {
    const [high, low] = [Math.max(...row), Math.min(...row)]
    if (row.length < 2 || high === low) return []
    return [{ prompt, better: row.indexOf(high), worse: row.indexOf(low), confidence: sigmoid(high - low) }]
  })
  const kept = new Set([...pairs].sort((a, b) => b.confidence - a.confidence).slice(0, Math.ceil(keep * pairs.length)))
  return pairs.filter((pair) => kept.has(pair))
}

/**
 * How far a reward model and a policy are out of joint on a prompt: what the reward model gives worse answers above the good
 * one, weighted by how likely the policy thinks them, length for length.
 *
 *     sum_j P_j max(0, R_j - R_good),  P = softmax of logprob / length over the good and the worse answers
 *
 * @example seam({ score: 0, logprob: -2, length: 2 }, [{ score: 1, logprob: -2, length: 2 }]) // 0.5
 */
export function seam(good: JudgedAnswer, worse: readonly JudgedAnswer[]): number {
  if (worse.length === 0) return 0
  const means = [good, ...worse].map(({ logprob, length }) => logprob / Math.max(1, length))
  const top = Math.max(...means)
  const weights = means.map((mean) => Math.exp(mean - top))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return worse.reduce((sum, { score }, j) => sum + (weights[j + 1] / total) * Math.max(0, score - good.score), 0)
}

/** An answer with what the reward model and the policy say of it. */
export interface JudgedAnswer {
  score: number
  /** Sum over its tokens, in nats. */
  logprob: number
  /** In tokens. */
  length: number
}

export const westOfNPairs = objective({
  kind: 'function',
  name: 'west-of-n',
  family: 'reward-model',
  summary: 'Best and worst of n replies become synthetic comparisons for the reward model that chose them.',
  formula: 'w = argmax R, l = argmin R, kept by sig(R_w - R_l)',
  reference: 'arXiv 2401.12086',
  standing: 'second-hand',
  use: 'Few human comparisons and many prompts. Train on human and synthetic ones together.',
  rows: ['A112'],
  options: z.strictObject({ keep: z.number().gt(0).max(1).default(1) }),
  make: (options) => (scores: readonly (readonly number[])[]) => westOfN(scores, options),
})

export const bestOfN = objective({
  kind: 'function',
  name: 'best-of-n',
  family: 'reward-model',
  summary: 'What choosing the best of n by score is worth, without bias, out of one larger pool.',
  formula: 'E = sum_i v_i [C(F_i, n) - C(F_i-, n)] / (C(M, n) ties_i)',
  reference: 'order statistics; arXiv 2112.09332 for the divergence log n - (n - 1) / n',
  standing: 'source',
  use: 'Judging a reward model by what its choices are worth in another measure, for every n up to the pool.',
  rows: ['B054'],
  options: z.strictObject({ n: z.number().int().positive().default(4) }),
  make:
    ({ n }) =>
    (scores: readonly number[], values: readonly number[]) =>
      bestOfNEstimate(scores, values, n),
})

export const seamScore = objective({
  kind: 'function',
  name: 'seam',
  family: 'reward-model',
  summary: 'Prompts on which the reward model misjudges what the policy is likely to say (SEAM).',
  formula: 'SEAM = sum_j P_j max(0, R_j - R_good),  P = softmax(mean logprob)',
  reference:
    'arXiv 2406.07971 for the ingredients. Ours: how they are put together, and mean logprobs as the length penalty',
  standing: 'ours',
  use: 'Drop the prompts of largest SEAM before training. Scores have to be on one scale.',
  rows: ['B129'],
  options: z.strictObject({}),
  make: () => seam,
})
