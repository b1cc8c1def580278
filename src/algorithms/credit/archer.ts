import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { compose } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import { clippedValueLoss } from '../policy-gradient/value-loss.js'
import { sumLosses } from '../sum-losses.js'
import type { AdvantageEstimator } from '../types.js'
import { criticOptions } from './critic.js'
import { turnRewards, turnSpans } from './turns.js'

/**
 * Targets of ArCHer's critics for one turn: Q(s, a) <- r + gamma V'(s') (r where the episode ended), V(s) <- Q'(s, a') for
 * an a' that the policy samples. Primes are slowly moving copies. Source: arXiv 2402.19446.
 *
 * @example archerTargets({ reward: 1, done: false, nextValue: 2, sampledQ: 3 }, 0.9) // { q: 2.8, v: 3 }
 */
export function archerTargets(
  turn: { reward: number; done: boolean; nextValue: number; sampledQ: number },
  gamma: number,
): { q: number; v: number } {
  return { q: turn.reward + (turn.done ? 0 : gamma * turn.nextValue), v: turn.sampledQ }
}

/** Advantage of a fresh utterance by two critics each: min(Q1, Q2) - min(V1, V2). */
export function archerAdvantage(q: readonly [number, number], v: readonly [number, number]): number {
  return Math.min(...q) - Math.min(...v)
}

/** Rewards of turns on the first token of each, where `utteranceAdvantages` finds them. */
const rewardsAtStarts: AdvantageEstimator = (groups) =>
  groups.map(({ trajectories }) =>
    trajectories.map((trajectory) => {
      const row = new Float32Array(trajectory.mask.length)
      const rewards = turnRewards(trajectory)
      turnSpans(trajectory.mask).forEach(({ start }, k) => (row[start] = rewards[k]))
      return row
    }),
  )

/**
 * Sequences whose advantages hold the reward of each turn at its first token, with advantages of utterances instead:
 * delta_k = r_k + gamma V(s_(k+1)) - V(s_k), V read at the first token of a turn; A_k = delta_k + gamma lambda A_(k+1).
 * Every token of a turn has its advantage, and its target A_k + V(s_k).
 */
export function utteranceAdvantages(
  sequences: readonly TrainSequence[],
  { gamma, lambda }: { gamma: number; lambda: number },
): TrainSequence[] {
  return sequences.map((sequence) => {
    const { mask, values, advantages: rewards } = sequence
    if (!values) throw new MyriadError('usage', 'archer needs the values of a value head; score them first')
    const [advantages, returns] = [new Float32Array(mask.length), new Float32Array(mask.length)]
    let [nextValue, nextAdvantage] = [0, 0]
    for (const { start, end } of turnSpans(mask).toReversed()) {
      nextAdvantage = rewards[start] + gamma * nextValue - values[start] + gamma * lambda * nextAdvantage
      nextValue = values[start]
      advantages.fill(nextAdvantage, start, end)
      returns.fill(nextAdvantage + nextValue, start, end)
    }
    return { ...sequence, advantages, returns }
  })
}

const about = {
  family: 'credit',
  reference: 'ArCHer, arXiv 2402.19446, and its repository',
  rows: ['A107', 'B016'],
} as const

export const archerTargetsPart = objective({
  ...about,
  kind: 'function',
  name: 'archer-targets',
  summary: 'Targets of double utterance-level critics, and the advantage of a fresh utterance.',
  formula: "Q <- r + gamma V'(s');  V <- Q'(s, a');  A = min(Q1, Q2) - min(V1, V2)",
  standing: 'source',
  use: 'Off-policy critics with a replay buffer, which the loop does not train.',
  options: z.strictObject({ gamma: z.number().min(0).max(1).default(0.9) }),
  make: ({ gamma }) => ({
    targets: (turn: Parameters<typeof archerTargets>[0]) => archerTargets(turn, gamma),
    advantage: archerAdvantage,
  }),
})

export const archer = objective({
  ...about,
  kind: 'method',
  name: 'archer',
  summary: 'A critic of utterances: its one-step advantage is the weight of REINFORCE on every token of the turn.',
  formula:
    'A_k = r_k + gamma V(s_(k+1)) - V(s_k);  L = -mean over utterances of A_k sum_t lp_t + coefficient (V - target)^2 / 2',
  reference: `${about.reference}. Decided here: one value head on policy stands in for the double critics off policy; V is read at a turn's first token and taught at all of them`,
  standing: 'ours',
  use: 'Many turns with turn rewards or a late outcome. It needs a value head that has warmed up.',
  options: z.strictObject({
    gamma: z.number().min(0).max(1).default(0.9),
    /** 0 is ArCHer's one-step advantage; 1 is the return of turns less V. */
    lambda: z.number().min(0).max(1).default(0),
    valueCoefficient: criticOptions.valueCoefficient,
    aggregation: criticOptions.aggregation.default('sequence-mean-token-sum'),
    fixedLength: criticOptions.fixedLength,
  }),
  make: ({ valueCoefficient, ...options }) => ({
    ...compose({
      ...options,
      name: 'archer',
      advantage: rewardsAtStarts,
      dynamicSampling: false,
      loss: sumLosses([{ loss: crossEntropy() }, { loss: clippedValueLoss(null), coefficient: valueCoefficient }]),
      needs: { values: true },
    }),
    refine: (sequences) => utteranceAdvantages(sequences, options),
  }),
})
