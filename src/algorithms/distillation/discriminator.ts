import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

/**
 * The loss of a discriminator that says whether the student wrote a reply: binary cross-entropy on its logit, 1 for the
 * student and 0 for a teacher, averaged; d / d logit = (sig(z) - label) / n.
 *
 * Source: RIL, arXiv 2510.19307, from notes on it.
 *
 * @param logits one a reply
 * @param student whether the student wrote it
 * @throws MyriadError 'usage' when the two differ in length
 * @example discriminatorLoss([0, 0], [true, false]) // { value: 0.693..., gradient: [-0.25, 0.25] }
 */
export function discriminatorLoss(
  logits: readonly number[],
  student: readonly boolean[],
): { value: number; gradient: number[] } {
  if (logits.length !== student.length)
    throw new MyriadError('usage', `${logits.length} logits, but ${student.length} labels`)
  const n = Math.max(1, logits.length)
  const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
  return {
    value: logits.reduce((sum, z, i) => sum + softplus(student[i] ? -z : z) / n, 0),
    gradient: logits.map((z, i) => (1 / (1 + Math.exp(-z)) - (student[i] ? 1 : 0)) / n),
  }
}

/**
 * The reward of a student's reply that passes for a teacher's, added to that of its answer: 1[sig(z) < threshold] + answer.
 *
 * @example similarityReward(-2, 1) // 2
 */
export function similarityReward(logit: number, answer: number, threshold = 0.5): number {
  return (1 / (1 + Math.exp(-logit)) < threshold ? 1 : 0) + answer
}

export const ril = objective({
  kind: 'function',
  name: 'ril',
  family: 'distillation',
  summary: "Reward for replies that a discriminator takes for the teacher's, and the loss of that discriminator.",
  formula: 'R = 1[sig(z) < 1/2] + answer;  discriminator: BCE, student 1, teacher 0',
  reference: 'RIL, arXiv 2510.19307, known in parts. Ours: the step at 1/2, and the sum of the two rewards',
  standing: 'ours',
  use: 'As a reward beside dr-grpo. The loop trains no discriminator: this is for code that has one.',
  rows: ['B159'],
  options: z.strictObject({ threshold: z.number().min(0).max(1).default(0.5) }),
  make: ({ threshold }) => ({
    loss: discriminatorLoss,
    reward: (logit: number, answer: number) => similarityReward(logit, answer, threshold),
  }),
})
