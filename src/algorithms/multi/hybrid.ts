import { z } from 'zod'
import { objective, type Adjustment, type Shaping } from '../objective.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { MyriadError } from '../../core/index.js'
import { moments, reward } from './statistics.js'
import type { Group, Trajectory } from '../types.js'

export interface StratifyOptions {
  /** a: wrong answers lie in [-a, a] (0.05). */
  wrongSpread?: number
  /** b: right answers lie in [1 - b, 1 + b] (0.05). */
  rightSpread?: number
  epsilon?: number
}

/**
 * Scores of a reward model, rescaled inside each class of a verifier so that no wrong answer overtakes a right one:
 *
 *     wrong: -a + 2 a (x - min) / (max - min + eps)        right: 1 - b + 2 b (x - min) / (max - min + eps)
 *
 * A class of one member lies at its lower edge. Source: HERO (hybrid ensemble reward optimization), arXiv 2510.07242.
 *
 * @example stratify([true, false, false], [9, 2, 4]) // [0.95, -0.05, 0.05]
 */
export function stratify(
  verified: readonly boolean[],
  scores: readonly number[],
  options: StratifyOptions = {},
): number[] {
  const { wrongSpread = 0.05, rightSpread = 0.05, epsilon = 1e-6 } = options
  const boundsOf = (side: boolean): { low: number; width: number } => {
    const own = scores.filter((_, i) => verified[i] === side)
    const low = Math.min(...own)
    return { low, width: Math.max(...own) - low + epsilon }
  }
  const [right, wrong] = [boundsOf(true), boundsOf(false)]
  return scores.map((score, i) =>
    verified[i]
      ? 1 - rightSpread + (2 * rightSpread * (score - right.low)) / right.width
      : -wrongSpread + (2 * wrongSpread * (score - wrong.low)) / wrong.width,
  )
}

/**
 * Weight of a prompt by how far its scores disagree: low + (high - low) / (1 + exp(-k (sigma - mean sigma))).
 *
 * @example promptWeight(0.3, 0.3) // 1.7, the middle
 */
export function promptWeight(
  sigma: number,
  meanSigma: number,
  { low = 0.4, high = 3, steepness = 6 }: { low?: number; high?: number; steepness?: number } = {},
): number {
  return low + (high - low) / (1 + Math.exp(-steepness * (sigma - meanSigma)))
}

function scoreOf(trajectory: Trajectory, part: string): number {
  const score = trajectory.rewardParts[part] ?? trajectory.outcome.metrics?.[part]
  if (score === undefined) {
    throw new MyriadError('usage', `hybrid reward: a trajectory has neither a reward part nor a metric "${part}"`)
  }
  return score
}

const score = z.string().default('task')

const stratifyOptions = {
  /** Reward part, or metric of the outcome, with the reward model's score. The verifier is the outcome's success. */
  score,
  /** a: wrong answers lie in [-a, a]. */
  wrongSpread: z.number().min(0).default(0.05),
  /** b: right answers lie in [1 - b, 1 + b]. */
  rightSpread: z.number().min(0).default(0.05),
}

const weightOptions = {
  score,
  low: z.number().min(0).default(0.4),
  high: z.number().min(0).default(3),
  steepness: z.number().default(6),
  /** Share of the running mean of sigma that each step keeps. */
  decay: z.number().min(0).max(1).default(0.9),
}

function stratifiedShaping(options: StratifyOptions & { score: string }): Shaping {
  return (groups) => {
    const shaped = groups.map(({ trajectories }) =>
      stratify(
        trajectories.map(({ outcome }) => outcome.success),
        trajectories.map((trajectory) => scoreOf(trajectory, options.score)),
        options,
      ),
    )
    return { groups: reward(groups, 'stratified', (_, g, i) => shaped[g][i]) }
  }
}

interface WeightOptions {
  score: string
  low: number
  high: number
  steepness: number
  decay: number
}

function promptWeightAdjustment(options: WeightOptions): Adjustment {
  const sigmaOf = (group: Group): number =>
    moments(
      group.trajectories.map((trajectory) => scoreOf(trajectory, options.score)),
      0,
    ).deviation
  return (advantages, groups, { state }) => {
    const sigmas = groups.map(sigmaOf)
    const now = moments(sigmas).mean
    const before = (state as { meanSigma?: number } | null)?.meanSigma
    const meanSigma = before === undefined ? now : options.decay * before + (1 - options.decay) * now
    const weights = sigmas.map((sigma) => promptWeight(sigma, meanSigma, options))
    return {
      advantages: advantages.map((group, g) => group.map((row) => row.map((value) => value * weights[g]))),
      ...(groups.length > 0 ? { state: { meanSigma } } : { state }),
      metrics: { meanSigma, weight: moments(weights).mean },
    }
  }
}

const about = {
  family: 'multi-reward',
  reference:
    "HERO (hybrid ensemble reward optimization), arXiv 2510.07242, from two reproductions. Decided here: sigma divides by n; the running mean starts at the first step's; the weight multiplies A",
  standing: 'second-hand',
  rows: ['B069'],
} as const

export const stratifiedReward = objective({
  ...about,
  kind: 'shaping',
  name: 'stratified-reward',
  summary: 'A reward model grades within the classes of a verifier, never across them.',
  formula: 'wrong: -a + 2a (x - min) / (max - min + eps);  right: 1 - b + 2b (x - min) / (max - min + eps)',
  use: 'A verifier that says only right or wrong, and a dense score that is trusted less.',
  options: z.strictObject(stratifyOptions),
  make: stratifiedShaping,
})

export const promptWeightPart = objective({
  ...about,
  kind: 'adjustment',
  name: 'prompt-weight',
  summary: 'Prompts whose scores disagree most weigh most.',
  formula: 'A_i <- A_i (low + (high - low) sig(k (sigma_q - mean sigma)))',
  use: 'After a group normalization: as a factor on rewards it would cancel in (R - mean) / std.',
  options: z.strictObject(weightOptions),
  make: promptWeightAdjustment,
})

export const hybridReward = objective({
  ...about,
  kind: 'method',
  name: 'hybrid-reward',
  summary: 'Verifier and reward model in one reward, stratified, with prompts weighted by disagreement (HERO of Meta).',
  formula: `R = stratified(v, x);  A = w_q (R - mean_G) / (std_G + eps)`,
  use: 'Where right answers still differ in quality, or all are wrong. Plain GRPO learns nothing from such groups.',
  options: z.strictObject({ ...groupMethodOptions, ...stratifyOptions, ...weightOptions }),
  make: (options) =>
    groupMethod('hybrid-reward', options, {
      shaping: [{ name: 'stratified-reward', run: stratifiedShaping({ ...options, epsilon: 1e-6 }) }],
      adjustments: [{ name: 'prompt-weight', run: promptWeightAdjustment(options) }],
    }),
})
