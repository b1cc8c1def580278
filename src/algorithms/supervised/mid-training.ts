import { z } from 'zod'
import { objective } from '../objective.js'

/** The length a thought may have, and how it shrinks. */
export interface ThinkingBudget {
  /** In tokens, at the first step. */
  from: number
  /** In tokens, after `steps`. */
  to: number
  steps: number
  /** Weight of the length in the reward. */
  weight: number
}

/**
 * The budget of a step, in tokens: from `from` to `to` along a line.
 *
 * @param step from 1
 * @example thinkingBudget({ from: 100, to: 20, steps: 80, weight: 0.5 }, 41) // 60
 */
export function thinkingBudget({ from, to, steps }: ThinkingBudget, step: number): number {
  return from + (to - from) * (steps === 0 ? 1 : Math.min(1, Math.max(0, step - 1) / steps))
}

/**
 * The reward of a next token that was thought about: 0 unless it is the text's, else 1 and a bonus that falls linearly on
 * both sides of the budget.
 *
 *     R = 1[match] (1 + w max(0, 1 - |length - B| / B))
 *
 * @param length of the thought, in tokens
 * @param budget B, positive
 * @example nextTokenReward(true, 60, 60, 0.5) // 1.5
 */
export function nextTokenReward(matches: boolean, length: number, budget: number, weight: number): number {
  return matches ? 1 + weight * Math.max(0, 1 - Math.abs(length - budget) / budget) : 0
}

/**
 * The places of a text worth thinking about: the `share` of highest entropy, the least uncertain of them first, so that one
 * may go from easy to hard.
 *
 * @param entropy in nats: [tokens]
 * @returns places, by rising entropy
 * @example hardPlaces([0.1, 2, 1, 0], 0.5) // [2, 1]
 */
export function hardPlaces(entropy: ArrayLike<number>, share: number): number[] {
  const places = Array.from({ length: entropy.length }, (_, t) => t).sort((a, b) => entropy[b] - entropy[a] || a - b)
  return places.slice(0, Math.ceil(share * places.length)).reverse()
}

export const midTraining = objective({
  kind: 'function',
  name: 'reinforcement-mid-training',
  family: 'supervised',
  summary: 'Next tokens as problems: which to think about, what a right one is worth, and a budget that shrinks.',
  formula: 'R = 1[match] (1 + w max(0, 1 - |len - B_t| / B_t));  hard: top share by entropy;  likelihood of the rest',
  reference: 'RMT, arXiv 2509.24375, known in parts. Ours: the form of the bonus, its weight and the line of B',
  standing: 'ours',
  use: 'For a task made of text, with these as reward and choice of places. The loop has no such task.',
  rows: ['B143'],
  options: z.strictObject({
    from: z.number().positive().default(256),
    to: z.number().positive().default(64),
    steps: z.int().min(0).default(100),
    weight: z.number().min(0).default(0.5),
    share: z.number().min(0).max(1).default(0.2),
  }),
  make: (options) => ({
    budget: (step: number) => thinkingBudget(options, step),
    reward: (matches: boolean, length: number, step: number) =>
      nextTokenReward(matches, length, thinkingBudget(options, step), options.weight),
    places: (entropy: ArrayLike<number>) => hardPlaces(entropy, options.share),
  }),
})
