import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { moments, spread } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'

/**
 * C(a, k) / C(b, k), as a product of k quotients: no binomial is ever large. C(a, k) is 0 for a < k.
 *
 * @param b at least k
 * @example binomialRatio(3, 4, 2) // 3 / 6
 */
export function binomialRatio(a: number, b: number, k: number): number {
  if (a < k) return 0
  let ratio = 1
  for (let i = 0; i < k; i++) ratio *= (a - i) / (b - i)
  return ratio
}

/**
 * The probability that k of n samples, drawn without replacement, hold one of the c correct ones: the unbiased estimate of
 * pass@k, 1 - C(n - c, k) / C(n, k) (arXiv 2107.03374).
 *
 * @param k at most n
 * @example passAtK(4, 1, 2) // 0.5
 */
export function passAtK(n: number, c: number, k: number): number {
  requireK(k, n)
  return 1 - binomialRatio(n - c, n, k)
}

/**
 * Only the best sample learns: A = R_best - R_second, divided by the standard deviation + 1e-6 with `normalize`; all others
 * have 0, and so has everyone where two share the first place.
 *
 * Source: arXiv 2503.19595 as in verl (grpo_passk).
 *
 * @example bestOfGroup([1, 0, 0]) // [1, 0, 0]
 */
export function bestOfGroup(rewards: readonly number[], options: { normalize?: boolean } = {}): number[] {
  const { deviation } = moments(rewards)
  if (rewards.length < 2) return rewards.map(() => 0)
  const best = rewards.indexOf(Math.max(...rewards))
  const second = Math.max(...rewards.filter((_, i) => i !== best))
  const scale = options.normalize ? deviation + 1e-6 : 1
  return rewards.map((reward, i) => (i === best ? (reward - second) / scale : 0))
}

/**
 * Advantages of pass@k training: what belonging to a random subset of k of the N samples is worth, normalized over subsets.
 * With n wrong ones, Rbar = 1 - C(n, k) / C(N, k) and sd = sqrt(Rbar (1 - Rbar)) + 1e-6:
 *
 *     A_correct = (1 - Rbar) / sd,   A_wrong = (1 - Rbar - C(n-1, k-1) / C(N-1, k-1)) / sd
 *
 * All 0 where none or all are correct, or fewer than k wrong. Their sum is 0. Source: arXiv 2508.10751 and its code.
 *
 * @param correct [samples]
 * @param k at most the number of samples
 * @example passAtKTraining([true, false, false], 2)
 */
export function passAtKTraining(correct: readonly boolean[], k: number): number[] {
  const total = correct.length
  if (total === 0) return []
  requireK(k, total)
  const wrong = correct.filter((right) => !right).length
  const failing = binomialRatio(wrong, total, k)
  if (wrong === total || failing === 0) return correct.map(() => 0)
  const deviation = Math.sqrt(failing * (1 - failing)) + 1e-6
  const lost = failing - binomialRatio(wrong - 1, total - 1, k - 1)
  return correct.map((right) => (right ? failing : lost) / deviation)
}

/**
 * The unbiased estimate of the largest of k rewards: the mean over all subsets of k of the n rewards of their maximum.
 *
 * @example maxAtK([0, 1, 2], 2) // (1 + 2 + 2) / 3
 */
export function maxAtK(rewards: readonly number[], k: number): number {
  requireK(k, rewards.length)
  const n = rewards.length
  return [...rewards]
    .sort((a, b) => a - b)
    .reduce((sum, reward, i) => sum + ((reward * k) / n) * binomialRatio(i, n - 1, k - 1), 0)
}

export const PKPO_BASELINES = ['none', 'leave-one-out', 'minus-one'] as const

/**
 * PKPO: rewards of single samples whose policy gradient is that of the largest of k. s_i is the sum over subsets of k that
 * hold i of their maximum, over C(n, k). From it is taken nothing ('none'), the mean of the s_j without sample i
 * ('leave-one-out'; 0 where fewer than k others are left), or (k/n) times max@(k-1) of the others ('minus-one': what is left
 * is what i adds to subsets; least variance; for k = 1 the mean of the others). All leave the gradient unbiased.
 *
 * Source: arXiv 2505.15201, equations 12, 29, 33.
 *
 * @param rewards finite: [samples]
 * @param k at most the number of samples
 * @example pkpo([0, 1], 1, 'none') // [0, 0.5]
 */
export function pkpo(
  rewards: readonly number[],
  k: number,
  baseline: (typeof PKPO_BASELINES)[number] = 'minus-one',
): number[] {
  const n = rewards.length
  if (n === 0) return []
  requireK(k, n)
  const order = rewards.map((_, i) => i).sort((a, b) => rewards[a] - rewards[b])
  const place = new Map(order.map((sample, at) => [sample, at]))
  // In rising order: subsets of i and k - 1 smaller ones have maximum i; those of i and a larger j have j.
  return rewards.map((reward, i) => {
    const at = place.get(i)!
    let share = (k / n) * reward * binomialRatio(at, n - 1, k - 1)
    if (k > 1) {
      for (let j = at + 1; j < n; j++)
        share += (k / n) * ((k - 1) / (n - 1)) * rewards[order[j]] * binomialRatio(j - 1, n - 2, k - 2)
    }
    if (baseline === 'none' || n === 1) return share
    const others = rewards.filter((_, j) => j !== i)
    if (baseline === 'minus-one') return share - (k / n) * maxAtK(others, Math.max(1, k - 1))
    return share - (n - 1 < k ? 0 : (k / (n - 1)) * maxAtK(others, k))
  })
}

/**
 * MaxRL: A = (R - mean) / (mean + 1e-6), which weighs problems that are rarely solved. 0 where the mean is not positive.
 *
 * Source: MaxRL as in SkyRL.
 *
 * @param rewards not negative
 * @example maxRl([1, 0, 0, 0]) // about [3, -1, -1, -1]
 */
export function maxRl(rewards: readonly number[]): number[] {
  const { mean } = moments(rewards)
  return rewards.map((reward) => (mean > 0 ? (reward - mean) / (mean + 1e-6) : 0))
}

function requireK(k: number, n: number): void {
  if (!(Number.isInteger(k) && k >= 1 && k <= n))
    throw new MyriadError('usage', `k is ${k}; it must be an integer from 1 to the number of samples, ${n}`)
}

/** An estimator that looks at the rewards and successes of one group; one number a sample. */
function perGroup(
  advantagesOf: (rewards: readonly number[], successes: readonly boolean[]) => number[],
): AdvantageEstimator {
  return (groups) =>
    spread(
      groups,
      groups.map(({ trajectories }) =>
        advantagesOf(
          trajectories.map((trajectory) => trajectory.reward),
          trajectories.map(({ outcome }) => outcome.success),
        ),
      ),
    )
}

const subset = {
  /** Groups that lost samples and are smaller are treated with k as their size. */
  k: z.number().int().positive().default(4),
}
const { normalization: _normalization, epsilon: _epsilon, ...lossOptions } = groupMethodOptions
const unnormalized = { normalization: 'mean', epsilon: 1e-6 } as const

export const bestOfGroupPart = objective({
  kind: 'advantage',
  name: 'best-of-group',
  family: 'exploration',
  summary: 'Only the best sample of a group learns, by its lead over the second.',
  formula: 'A_best = (R_max - R_second) [/ (std + 1e-6)], others 0',
  reference: 'arXiv 2503.19595, verl grpo_passk',
  standing: 'source',
  use: 'Pass@k with k the group size and graded rewards; with binary ones it learns only where exactly one succeeded.',
  rows: [],
  options: z.strictObject({ normalize: z.boolean().default(true) }),
  make: (options) => perGroup((rewards) => bestOfGroup(rewards, options)),
})

export const passAtKPart = objective({
  kind: 'advantage',
  name: 'pass-at-k',
  family: 'exploration',
  summary:
    'Advantages of samples by what they do for random subsets of k, normalized over subsets; success or not only.',
  formula: 'A_pos = (1 - Rbar)/sd, A_neg = (1 - Rbar - C(n-1,k-1)/C(N-1,k-1))/sd, Rbar = 1 - C(n,k)/C(N,k)',
  reference: 'Pass@k training, arXiv 2508.10751',
  standing: 'source',
  use: 'When several tries are allowed and variety matters. Problems that are mostly solved stop teaching.',
  rows: [],
  options: z.strictObject(subset),
  make: ({ k }) => perGroup((_, successes) => passAtKTraining(successes, Math.min(k, successes.length))),
})

export const pkpoPart = objective({
  kind: 'advantage',
  name: 'pkpo',
  family: 'exploration',
  summary: 'Unbiased policy gradient of the largest of k rewards, from n samples.',
  formula: 's_i = sum over subsets I of k with i of max_I R / C(n,k), minus (k/n) max@(k-1) of the others',
  reference: 'PKPO, arXiv 2505.15201',
  standing: 'second-hand',
  use: 'Pass@k with graded rewards. Advantages are about k/n of the rewards: raise the learning rate accordingly.',
  rows: [],
  options: z.strictObject({ ...subset, baseline: z.enum(PKPO_BASELINES).default('minus-one') }),
  make: ({ k, baseline }) => perGroup((rewards) => pkpo(rewards, Math.min(k, rewards.length), baseline)),
})

export const maxRlPart = objective({
  kind: 'advantage',
  name: 'maxrl',
  family: 'exploration',
  summary: 'Advantages divided by the mean reward of the group: rarely solved problems weigh most.',
  formula: 'A = (R - mean_G) / (mean_G + 1e-6)',
  reference: 'MaxRL as in SkyRL',
  standing: 'source',
  use: 'Hard problems with rewards from 0 to 1.',
  rows: [],
  options: z.strictObject({}),
  make: () => perGroup(maxRl),
})

export const bestOfGroupMethod = objective({
  ...bestOfGroupPart,
  kind: 'method',
  name: 'best-of-group-grpo',
  options: z.strictObject({ ...lossOptions, ...bestOfGroupPart.options.shape }),
  make: (options) =>
    groupMethod('best-of-group-grpo', { ...unnormalized, ...options }, { advantage: bestOfGroupPart.make(options) }),
})

export const passAtKMethod = objective({
  ...passAtKPart,
  kind: 'method',
  name: 'pass-at-k-grpo',
  options: z.strictObject({ ...lossOptions, ...passAtKPart.options.shape }),
  make: (options) =>
    groupMethod('pass-at-k-grpo', { ...unnormalized, ...options }, { advantage: passAtKPart.make(options) }),
})

export const pkpoMethod = objective({
  ...pkpoPart,
  kind: 'method',
  name: 'pkpo-grpo',
  options: z.strictObject({ ...lossOptions, ...pkpoPart.options.shape }),
  make: (options) => groupMethod('pkpo-grpo', { ...unnormalized, ...options }, { advantage: pkpoPart.make(options) }),
})

export const maxRlMethod = objective({
  ...maxRlPart,
  kind: 'method',
  name: 'maxrl-grpo',
  options: z.strictObject(lossOptions),
  make: (options) => groupMethod('maxrl-grpo', { ...unnormalized, ...options }, { advantage: maxRlPart.make({}) }),
})
