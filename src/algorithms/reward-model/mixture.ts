import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { logSumExp, sigmoid, softplus } from '../preference/logistic.js'

/** Differences R_w - R_l of every reward model on every comparison, and whose comparison each is. */
export interface MixtureBatch {
  /** [models][comparisons] */
  differences: readonly (readonly number[])[]
  /** Who compared: [comparisons] */
  users: readonly number[]
}

/**
 * Which of several reward models each user agrees with: the E-step of a mixture, of all comparisons of a user together.
 *
 *     q_hu = softmax_u(log prior_u + sum of log sig(d_u) over comparisons of h);  hard: 1 at the largest, the first of equals
 *
 * Source: MaxMin-RLHF, arXiv 2402.08925 (hard).
 *
 * @param priors [models], positive; uniform unless given
 * @returns by user: [models]
 * @example assignUsers({ differences: [[1, 1], [-1, -1]], users: [7, 7] }, { hard: true }).get(7) // [1, 0]
 */
export function assignUsers(
  batch: MixtureBatch,
  options: { hard?: boolean; priors?: readonly number[] } = {},
): Map<number, number[]> {
  const { differences, users } = batch
  if (differences.some((row) => row.length !== users.length))
    throw new MyriadError('usage', 'a mixture of reward models: every model scores every comparison')
  const priors = options.priors ?? differences.map(() => 1)
  const assigned = new Map<number, number[]>()
  for (const user of new Set(users)) {
    const evidence = differences.map((row, u) =>
      row.reduce((sum, d, i) => (users[i] === user ? sum - softplus(-d) : sum), Math.log(priors[u])),
    )
    const best = evidence.indexOf(Math.max(...evidence))
    const total = logSumExp(evidence)
    assigned.set(
      user,
      evidence.map((each, u) => (options.hard ? (u === best ? 1 : 0) : Math.exp(each - total))),
    )
  }
  return assigned
}

/**
 * Negative log-likelihood of a mixture of reward models, a mean over users, and its derivative by every difference:
 *
 *     L = -mean over users h of log sum_u prior_u prod sig(d_u);   dL/dd_u = -q_hu sig(-d_u) / users
 *
 * With `hard` it is the Bradley-Terry loss of each user's own model: the M-step after a hard E-step.
 *
 * @returns value and derivatives: [models][comparisons]
 * @throws MyriadError 'numeric' when a difference is not finite
 * @example mixtureLoss({ differences: [[1], [-1]], users: [0] })
 */
export function mixtureLoss(
  batch: MixtureBatch,
  options: { hard?: boolean; priors?: readonly number[] } = {},
): { value: number; gradient: number[][] } {
  const { differences, users } = batch
  const assigned = assignUsers(batch, options)
  const priors = options.priors ?? differences.map(() => 1)
  const mass = priors.reduce((sum, prior) => sum + prior, 0)
  const count = assigned.size
  let value = 0
  for (const [user, q] of assigned) {
    const evidence = differences.map((row, u) =>
      row.reduce(
        (sum, d, i) => (users[i] === user ? sum - softplus(-d) : sum),
        options.hard ? 0 : Math.log(priors[u] / mass),
      ),
    )
    value -= (options.hard ? evidence[q.indexOf(1)] : logSumExp(evidence)) / count
  }
  if (!Number.isFinite(value)) throw new MyriadError('numeric', `mixture of reward models is not finite: ${value}`)
  const gradient = differences.map((row, u) => row.map((d, i) => (-assigned.get(users[i])![u] * sigmoid(-d)) / count))
  return { value, gradient }
}

export const rewardMixture = objective({
  kind: 'function',
  name: 'reward-mixture',
  family: 'reward-model',
  summary: 'Several reward models for users of unlike taste, who are assigned by expectation and maximization.',
  formula: 'L = -mean_h log sum_u pi_u prod sig(d_u);  dL/dd_u = -q_hu sig(-d_u)',
  reference: 'MaxMin-RLHF, arXiv 2402.08925 (hard assignment, structure from memory)',
  standing: 'second-hand',
  use: 'Preferences of groups that disagree; then the worst group is optimized: maxmin-rlhf. Normalize each model first.',
  rows: ['A093'],
  options: z.strictObject({ hard: z.boolean().default(false) }),
  make: (options) => (batch: MixtureBatch) => mixtureLoss(batch, options),
})
