import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { logSumExp } from '../preference/logistic.js'

/**
 * What a judge that writes a grade expects it to be: sum_k g_k P_k with P the softmax of the logits of the grades' tokens, and
 * its derivative by each logit, P_k (g_k - E). A verdict good or bad has grades 1 and 0.
 *
 * @throws MyriadError 'usage' without a grade, or when logits and grades do not fit
 * @example expectedGrade([0, 0], [1, 0]) // { value: 0.5, gradient: [0.25, -0.25] }
 */
export function expectedGrade(
  logits: readonly number[],
  grades: readonly number[],
): { value: number; gradient: number[] } {
  if (logits.length === 0 || logits.length !== grades.length)
    throw new MyriadError('usage', `${logits.length} logits of ${grades.length} grades`)
  const total = logSumExp(logits)
  if (!Number.isFinite(total)) throw new MyriadError('numeric', 'a judge gives no grade any probability')
  const p = logits.map((logit) => Math.exp(logit - total))
  const value = p.reduce((sum, each, k) => sum + each * grades[k], 0)
  return { value, gradient: p.map((each, k) => each * (grades[k] - value)) }
}

/**
 * The probability that a reply is preferred, out of both orders of showing it: `first` when it was shown first, `second` when
 * second. The bias is how much the place alone counts, in [0, 1].
 *
 * @param first P(the one shown first is better), the reply being first
 * @param second P(the one shown second is better), the reply being second
 * @example bothOrders(0.9, 0.5) // { value: 0.7, bias: 0.4 }
 */
export function bothOrders(first: number, second: number): { value: number; bias: number } {
  return { value: (first + second) / 2, bias: Math.abs(first - second) }
}

/**
 * How well a listwise judge's scores agree with true ones over all pairs, in [0, 1]: a pair in the wrong order costs
 * 1 + |difference of the true scores|, one falsely tied half of it. Pairs truly tied are right when tied, and cost half their
 * weight otherwise (ours). Fewer than two replies answer 0: there is nothing to agree on (the published code says 1).
 *
 * Source: RewardAnything, arXiv 2506.03637 (number from memory), its repository.
 *
 * @param predicted NaN where the judge gave none, and the reply is left out
 * @example listAgreement([5, 1], [4, 2]) // 1
 */
export function listAgreement(predicted: readonly number[], truth: readonly number[]): number {
  const scored = [...truth.keys()].filter((i) => !Number.isNaN(predicted[i] ?? NaN))
  if (scored.length < 2) return 0
  let [total, penalty] = [0, 0]
  for (const [a, i] of scored.entries())
    for (const j of scored.slice(a + 1)) {
      const weight = 1 + Math.abs(truth[i] - truth[j])
      const [said, is] = [Math.sign(predicted[i] - predicted[j]), Math.sign(truth[i] - truth[j])]
      total += weight
      if (said !== is) penalty += said === 0 || is === 0 ? weight / 2 : weight
    }
  return Math.max(0, 1 - penalty / total)
}

export const gradeReward = objective({
  kind: 'function',
  name: 'expected-grade',
  family: 'reward-model',
  summary: 'A generative judge as a reward: the grade it expects to write.',
  formula: 'R = sum_k g_k softmax(z)_k;  dR/dz_k = P_k (g_k - R)',
  reference: 'GenRM, arXiv 2408.15240 (number from memory)',
  standing: 'second-hand',
  use: 'A judge whose verdict is one token. Finer than the verdict itself, and differentiable.',
  rows: ['A058', 'B185'],
  options: z.strictObject({
    /** Worth of each grade's token, in the order of the logits. */
    grades: z.array(z.number()).min(1).default([1, 0]),
  }),
  make:
    ({ grades }) =>
    (logits: readonly number[]) =>
      expectedGrade(logits, grades),
})

export const listAgreementReward = objective({
  kind: 'function',
  name: 'list-agreement',
  family: 'reward-model',
  summary: 'The reward of a listwise judge in training: how its scores order replies whose worth is known.',
  formula: 'max(0, 1 - sum penalty / sum w),  w = 1 + |y_i - y_j|, penalty w if reversed, w / 2 if tied',
  reference: 'RewardAnything, arXiv 2506.03637 (number from memory), accuracy part; its format part is not here',
  standing: 'second-hand',
  use: 'Training a judge by reinforcement. Not a loss: a number for a group advantage.',
  rows: ['A043'],
  options: z.strictObject({}),
  make: () => listAgreement,
})
