import { z } from 'zod'
import type { Random } from '../../core/index.js'
import type { Loss, LossTokens } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { criticMethod, criticOptions } from './critic.js'

/**
 * Lengths of macro actions: n-grams from the first token on, the last token alone, so that its score is not averaged away.
 *
 * @example macroSizes(8, 3) // [3, 3, 1, 1]
 */
export function macroSizes(tokens: number, n: number): number[] {
  if (tokens <= 0) return []
  const sizes: number[] = []
  for (let left = tokens - 1; left > 0; left -= n) sizes.push(Math.min(n, left))
  return [...sizes, 1]
}

/** Macro actions of random lengths out of `lengths`, the last token alone. */
export function randomMacroSizes(tokens: number, lengths: readonly number[], random: Random): number[] {
  if (tokens <= 0) return []
  const sizes: number[] = []
  for (let left = tokens - 1; left > 0; left -= sizes[sizes.length - 1])
    sizes.push(Math.min(random.pick(lengths), left))
  return [...sizes, 1]
}

/**
 * The clipped loss with one ratio for each macro action, as the paper of MA-RLHF writes it: R = exp(sum of log-ratios of
 * its tokens). With the means A of the advantages and c of the weights of its tokens, a macro adds
 *
 *     c l,  l = -min(R A, clip(R, 1 - clipLow, 1 + clipHigh) A),   and d / d lp_t = -c R A for each of its tokens
 *
 * (0 for all of them where the clip is active). Macros are n-grams of a sequence's trainable tokens, the last alone.
 * Source: arXiv 2410.02743 (the released code keeps a ratio for each token).
 */
export function macroRatioLoss({
  n = 5,
  clipLow = 0.2,
  clipHigh = 0.2,
}: { n?: number; clipLow?: number; clipHigh?: number } = {}): Loss {
  return { name: 'macro-ratio', evaluate: (tokens) => evaluateMacro(tokens, n, clipLow, clipHigh) }
}

function evaluateMacro(tokens: LossTokens, n: number, clipLow: number, clipHigh: number): ReturnType<Loss['evaluate']> {
  const { logprobs, oldLogprobs, advantages, weights, segments } = tokens
  const gradient = new Float64Array(logprobs.length)
  let [value, macros, clippedMacros, start] = [0, 0, 0, 0]
  while (start < logprobs.length) {
    let end = start
    while (end < logprobs.length && segments[end] === segments[start]) end++
    for (const size of macroSizes(end - start, n)) {
      let [logRatio, advantage, weight] = [0, 0, 0]
      for (let t = start; t < start + size; t++) {
        logRatio += logprobs[t] - oldLogprobs[t]
        advantage += advantages[t] / size
        weight += weights[t] / size
      }
      const ratio = clampedExp(logRatio)
      const bounded = Math.min(Math.max(ratio.value, 1 - clipLow), 1 + clipHigh)
      const isClipped = (advantage > 0 && ratio.value > 1 + clipHigh) || (advantage < 0 && ratio.value < 1 - clipLow)
      value -= weight * Math.min(ratio.value * advantage, bounded * advantage)
      if (!isClipped) gradient.fill(-weight * ratio.slope * advantage, start, start + size)
      macros++
      if (isClipped) clippedMacros++
      start += size
    }
  }
  return { value, gradient, metrics: { macroClipFraction: macros === 0 ? 0 : clippedMacros / macros } }
}

/** The trajectory's reward, clamped, on its last sampled token: [group][trajectory][tokens]. */
export function rewardAtEnd(limit = Infinity): AdvantageEstimator {
  return (groups) =>
    groups.map(({ trajectories }) =>
      trajectories.map(({ mask, reward }) => {
        const row = new Float32Array(mask.length)
        const last = mask.lastIndexOf(1)
        if (last >= 0) row[last] = Math.min(limit, Math.max(-limit, reward))
        return row
      }),
    )
}

const options = {
  ...criticOptions,
  /** Tokens of a macro action. */
  n: z.number().int().positive().default(5),
  /** Rewards are clamped to +- this. */
  rewardLimit: z.number().positive().default(2.5),
  klReward: z.number().min(0).default(0.05),
}

const about = {
  family: 'credit',
  reference: 'MA-RLHF, arXiv 2410.02743, and its code; n = 5 from memory',
  standing: 'source',
  rows: ['B126'],
} as const

const sizesOf =
  (n: number) =>
  (turns: readonly number[]): number[] =>
    macroSizes(
      turns.reduce((sum, length) => sum + length, 0),
      n,
    )

export const macroRatio = objective({
  ...about,
  kind: 'loss',
  name: 'macro-ratio',
  summary: 'A clipped loss with one ratio for each n-gram.',
  formula: 'l = -min(R A, clip(R) A), R = exp(sum over the macro of lp - olp)',
  use: 'Where a whole n-gram should be clipped or kept as one.',
  options: z.strictObject({
    n: options.n,
    clipLow: criticOptions.clipLow,
    clipHigh: criticOptions.clipHigh,
  }),
  make: macroRatioLoss,
})

export const maRlhf = objective({
  ...about,
  kind: 'method',
  name: 'ma-rlhf',
  summary: 'PPO whose values and advantages are of n-grams; ratios stay those of tokens, as in the released code.',
  formula: 'V and r of a macro: means over its tokens; GAE over macros; l_t = -min(r_t A, clip(r_t) A)',
  use: 'Long replies with one reward at the end: credit has n times fewer steps to travel. n = 1 is PPO.',
  options: z.strictObject(options),
  make: (chosen) =>
    criticMethod('ma-rlhf', chosen, { rewards: rewardAtEnd(chosen.rewardLimit), sizes: sizesOf(chosen.n) }),
})

export const maRlhfMacroRatio = objective({
  ...about,
  kind: 'method',
  name: 'ma-rlhf-macro-ratio',
  summary: 'PPO whose values, advantages and ratios are of n-grams, as the paper writes it.',
  formula: 'GAE over macros;  l = -min(R A, clip(R) A), R = exp(sum over the macro of lp - olp)',
  use: 'As ma-rlhf; a product of n ratios leaves the clip range sooner, so updates are more careful.',
  options: z.strictObject(options),
  make: (chosen) =>
    criticMethod('ma-rlhf-macro-ratio', chosen, {
      rewards: rewardAtEnd(chosen.rewardLimit),
      sizes: sizesOf(chosen.n),
      loss: macroRatioLoss(chosen),
    }),
})
