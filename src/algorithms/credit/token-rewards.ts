import { z } from 'zod'
import { compose } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { moments } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Trajectory } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { criticMethod, criticOptions } from './critic.js'

export type Severity = 'minor' | 'major' | 'critical'

/** Values of tokens by the severity of the error they lie in. */
export interface SeverityValues {
  none: number
  minor: number
  major: number
  critical: number
}

/** MQM's 1, 5, 10 as penalties, and 1 for what is right. */
export const SEVERITY_VALUES: SeverityValues = { none: 1, minor: -1, major: -5, critical: -10 }

/**
 * Token rewards of a translation from spans of errors, such as xCOMET's. A token that overlaps several spans has the worst.
 *
 * @param offsets characters of each token, end exclusive: [tokens]
 * @param spans errors, in the same characters
 * @example severityRewards([[0, 3], [3, 6]], [{ start: 4, end: 5, severity: 'major' }]) // [1, -5]
 */
export function severityRewards(
  offsets: readonly (readonly [number, number])[],
  spans: readonly { start: number; end: number; severity: Severity }[],
  values: SeverityValues = SEVERITY_VALUES,
): number[] {
  const order: Severity[] = ['critical', 'major', 'minor']
  return offsets.map(([start, end]) => {
    const touching = spans.filter((span) => span.start < end && start < span.end)
    return values[order.find((severity) => touching.some((span) => span.severity === severity)) ?? 'none']
  })
}

/**
 * Token rewards of several models, each with segments of its own: sum over models of weight times score, at the last token
 * of each segment. Ends past the last token are moved to it. Source: Fine-Grained RLHF, arXiv 2306.01693.
 *
 * @param models segments of a reply by the index of their last token
 * @example segmentRewards(4, [{ weight: 0.5, segments: [{ end: 1, score: 1 }, { end: 9, score: -1 }] }]) // [0, .5, 0, -.5]
 */
export function segmentRewards(
  tokens: number,
  models: readonly { weight: number; segments: readonly { end: number; score: number }[] }[],
): number[] {
  const rewards = Array<number>(tokens).fill(0)
  if (tokens === 0) return rewards
  for (const { weight, segments } of models)
    for (const { end, score } of segments) rewards[Math.min(end, tokens - 1)] += weight * score
  return rewards
}

/**
 * A reward spread over tokens by attention: r_t = b R a_t + (1 - b) R 1[t is last], a_t the weights over the reply divided
 * by their sum (equal where that is 0). The sum is R for any b. Source: attention-based credit, arXiv 2402.00782.
 *
 * @param attention not negative: [tokens]
 * @example attentionRewards(1, [1, 3], 0.5) // [0.125, 0.875]
 */
export function attentionRewards(reward: number, attention: readonly number[], share = 0.5): number[] {
  const total = attention.reduce((sum, weight) => sum + weight, 0)
  return attention.map((weight, t) => {
    const part = total > 0 ? weight / total : 1 / attention.length
    return share * reward * part + (t === attention.length - 1 ? (1 - share) * reward : 0)
  })
}

/** Token rewards of a trajectory, and what is left of its reward at its last token, so that they sum to it. */
export function tokenRewardsOf({ mask, reward, tokenRewards }: Trajectory, rest: boolean): Float32Array {
  const row = Float32Array.from(mask, (sampled, t) => (sampled ? (tokenRewards?.[t] ?? 0) : 0))
  const last = mask.lastIndexOf(1)
  if (last >= 0 && (rest || !tokenRewards)) row[last] += reward - row.reduce((sum, value) => sum + value, 0)
  return row
}

/** The reward in equal parts on all sampled tokens. */
export const uniformRewards: AdvantageEstimator = (groups) =>
  groups.map(({ trajectories }) =>
    trajectories.map(({ mask, reward }) => {
      const tokens = mask.reduce((sum, sampled) => sum + (sampled ? 1 : 0), 0)
      return Float32Array.from(mask, (sampled) => (sampled ? reward / tokens : 0))
    }),
  )

/**
 * Reward-to-go of tokens, divided by the number of tokens that are left (so that it does not grow with length), less the
 * mean over all tokens of the step.
 */
export const rewardToGo: AdvantageEstimator = (groups) => {
  const rows = groups.map(({ trajectories }) =>
    trajectories.map((trajectory) => {
      const row = tokenRewardsOf(trajectory, false)
      let [sum, left] = [0, 0]
      for (let t = row.length - 1; t >= 0; t--) {
        if (!trajectory.mask[t]) continue
        sum += row[t]
        left++
        row[t] = sum / left
      }
      return row
    }),
  )
  const { mean } = moments(
    rows.flatMap((group, g) => group.flatMap((row, i) => [...row].filter((_, t) => groups[g].trajectories[i].mask[t]))),
  )
  return rows.map((group, g) =>
    group.map((row, i) => row.map((value, t) => (groups[g].trajectories[i].mask[t] ? value - mean : 0))),
  )
}

const fineGrained = {
  ...criticOptions,
  klReward: z.number().min(0).default(0.3),
  valueCoefficient: z.number().min(0).default(1),
}

export const fineGrainedRlhf = objective({
  kind: 'method',
  name: 'fine-grained-rlhf',
  family: 'credit',
  summary: "PPO on rewards of segments, each at its segment's last token.",
  formula: 'r_t = sum_k w_k R_k(segment ending at t) - beta (lp - rlp);  GAE, clip, clipped value loss',
  reference: 'Fine-Grained RLHF, arXiv 2306.01693, and its code; whitening of rewards before GAE is left out',
  standing: 'source',
  use: 'Trajectories with token rewards (segmentRewards). What is left of the whole reward is paid at the last token.',
  rows: ['B187'],
  options: z.strictObject(fineGrained),
  make: (options) =>
    criticMethod('fine-grained-rlhf', options, {
      rewards: (groups) =>
        groups.map(({ trajectories }) => trajectories.map((trajectory) => tokenRewardsOf(trajectory, true))),
    }),
})

export const uniformRedistribution = objective({
  kind: 'method',
  name: 'uniform-redistribution',
  family: 'credit',
  summary: 'PPO on the reward in equal parts on all tokens, the baseline of redistribution by attention.',
  formula: 'r_t = R / T;  GAE, clip, clipped value loss',
  reference: 'Attention-based credit, arXiv 2402.00782 (its uniform baseline)',
  standing: 'source',
  use: 'A late reward and long replies, where no attention is to be had. It shortens the way of credit at no cost.',
  rows: ['B160'],
  options: z.strictObject(criticOptions),
  make: (options) => criticMethod('uniform-redistribution', options, { rewards: uniformRewards }),
})

export const attentionRedistribution = objective({
  kind: 'function',
  name: 'attention-redistribution',
  family: 'credit',
  summary: "A reward spread over tokens by a reward model's attention.",
  formula: 'r_t = b R a_t + (1 - b) R 1[t last]',
  reference: 'Attention-based credit, arXiv 2402.00782, and its code',
  standing: 'source',
  use: 'With attention of a reward model (last layer, mean of heads, row of the last token); then fine-grained-rlhf.',
  rows: ['B160'],
  options: z.strictObject({
    /** b. */
    share: z.number().min(0).max(1).default(0.5),
  }),
  make:
    ({ share }) =>
    (reward: number, attention: readonly number[]) =>
      attentionRewards(reward, attention, share),
})

export const severity = objective({
  kind: 'function',
  name: 'severity-rewards',
  family: 'credit',
  summary: 'Token rewards from spans of translation errors and their severity.',
  formula: 'r_t = value of the worst span that t overlaps, else none',
  reference: "arXiv 2411.05986; the values are MQM's weights as penalties and 1 for what is right: decided here",
  standing: 'ours',
  use: 'xCOMET or annotated errors; then token-reward-reinforce.',
  rows: ['A082'],
  options: z.strictObject({
    none: z.number().default(SEVERITY_VALUES.none),
    minor: z.number().default(SEVERITY_VALUES.minor),
    major: z.number().default(SEVERITY_VALUES.major),
    critical: z.number().default(SEVERITY_VALUES.critical),
  }),
  make:
    (values) =>
    (
      offsets: readonly (readonly [number, number])[],
      spans: readonly { start: number; end: number; severity: Severity }[],
    ) =>
      severityRewards(offsets, spans, values),
})

export const tokenRewardReinforce = objective({
  kind: 'method',
  name: 'token-reward-reinforce',
  family: 'credit',
  summary: 'REINFORCE on the reward-to-go of tokens.',
  formula: 'l_t = -(G_t - b) lp_t, G_t = mean of the token rewards from t on, b = mean of G over the step',
  reference:
    'arXiv 2411.05986 (token-level rewards of xCOMET). Decided here: division by the tokens left, and the baseline',
  standing: 'ours',
  use: 'Dense token rewards, such as severities of errors. Without any it is REINFORCE with the reward at the end.',
  rows: ['A082'],
  options: z.strictObject({
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    fixedLength: z.number().positive().optional(),
  }),
  make: (options) =>
    compose({
      ...options,
      name: 'token-reward-reinforce',
      advantage: rewardToGo,
      dynamicSampling: false,
      loss: crossEntropy(),
    }),
})
