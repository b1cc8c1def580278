import { z } from 'zod'
import type { Random } from '../../core/index.js'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import { hasVariance, normalizeGroup } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { sequenceOf, weigh } from '../compose.js'
import { objective } from '../objective.js'
import { mix } from '../supervised/shown.js'
import type { Algorithm, Trajectory } from '../types.js'
import { AGGREGATIONS } from '../weights.js'

export const GUIDANCE = ['ppo++', 'aggrevated'] as const
/** Who speaks first: the guide and then the policy (PPO++), or the policy and then the guide (AggreVaTeD). */
export type Guidance = (typeof GUIDANCE)[number]

/**
 * How many tokens are rolled in before the other takes over: with probability `share` uniform in 1 .. length - 1, else 0.
 * A reply of fewer than two tokens has none.
 *
 * @param length tokens of the reply
 * @example rollInLength(20, 0.6, createRandom(1))
 */
export function rollInLength(length: number, share: number, random: Random): number {
  const mixed = random.uniform() < share
  return mixed && length >= 2 ? random.integer(1, length - 1) : 0
}

/**
 * The tokens of a mixed reply that the policy is trained on: those it said itself. Under 'ppo++' the guide said the first
 * `rollIn` sampled tokens, under 'aggrevated' all but those; with a roll-in of 0 all are the policy's.
 *
 * @param mask 1 on tokens of the reply, by whomever: [tokens]
 * @throws MyriadError 'usage' on a roll-in that is negative or longer than the reply
 * @example guidedMask(Uint8Array.of(0, 1, 1, 1), 1, 'ppo++') // 0 0 1 1
 */
export function guidedMask(mask: Uint8Array, rollIn: number, guidance: Guidance): Uint8Array {
  const length = mask.reduce((sum, sampled) => sum + (sampled ? 1 : 0), 0)
  if (!(rollIn >= 0 && rollIn <= length))
    throw new MyriadError('usage', `a roll-in of ${rollIn} tokens does not fit a reply of ${length}`)
  if (rollIn === 0) return mask.slice()
  let place = 0
  return mask.map((sampled) => (sampled && place++ < rollIn === (guidance === 'aggrevated') ? 1 : 0))
}

/**
 * Which of the two an episode of LOLS uses: PPO++ with probability `share`, else AggreVaTeD; D2LOLS begins with AggreVaTeD
 * for `switchAt` steps and goes on with PPO++.
 *
 * @param step from 1
 */
export function chooseGuidance(
  schedule: { kind: 'lols'; share: number } | { kind: 'd2lols'; switchAt: number },
  step: number,
  random: Random,
): Guidance {
  if (schedule.kind === 'd2lols') return step <= schedule.switchAt ? 'aggrevated' : 'ppo++'
  return random.uniform() < schedule.share ? 'ppo++' : 'aggrevated'
}

export const guidedRollIn = objective({
  kind: 'function',
  name: 'guided-roll-in',
  family: 'exploration',
  summary:
    'Replies that a guide begins and the policy ends (PPO++), or the other way round (AggreVaTeD): lengths and masks.',
  formula:
    'roll-in ~ U{1..L-1} with probability beta, else 0;  m_t = 1 on tokens of the policy only;  reward of the whole',
  reference:
    'RLGF, arXiv 2306.11816, and tril; ours: LOLS as a choice for each episode; D2LOLS switches at a given step',
  standing: 'second-hand',
  use: 'For code that lets a guide sample part of a reply. The method guided-grpo lets the expert of the task begin it.',
  rows: ['A115', 'B163'],
  options: z.strictObject({
    guidance: z.enum(GUIDANCE).default('ppo++'),
    /** beta. */
    share: z.number().min(0).max(1).default(0.6),
  }),
  make: ({ guidance, share }) => ({
    length: (length: number, random: Random): number => rollInLength(length, share, random),
    mask: (mask: Uint8Array, rollIn: number): Uint8Array => guidedMask(mask, rollIn, guidance),
  }),
})

export const guidedGrpo = objective({
  kind: 'method',
  name: 'guided-grpo',
  family: 'exploration',
  summary:
    "GRPO on free replies and on ones that the task's expert begins and the policy ends, each kind against its own.",
  formula:
    'roll-in ~ U{1..L-1} with probability beta, else 0;  A_i = (R_i - mean) / std of its kind;  clipped loss on m_t',
  reference:
    'RLGF (PPO++), arXiv 2306.11816. Ours: the guide is the expert of the task, and a group mean stands in for the value head',
  standing: 'ours',
  use: 'Rewards are sparse and the task has an expert. Unlike prefix-rft it never learns what the expert said.',
  rows: ['A115', 'B163'],
  options: z.strictObject({
    /** Replies to each problem that the expert begins. */
    continuations: z.int().min(2).default(4),
    /** beta. */
    share: z.number().min(0).max(1).default(0.6),
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    epsilon: z.number().positive().default(1e-6),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: (options): Algorithm => {
    const { continuations, share } = options
    const compared = (trajectories: readonly Trajectory[]): number[] =>
      normalizeGroup(
        trajectories.map(({ reward }) => reward),
        options,
      )
    return {
      ...mix({
        name: 'guided-grpo',
        needs: { continuations },
        loss: clippedLoss(options),
        weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
        teach: (group, _shown, _context, g) => {
          const guided = group.continuations ?? []
          const advantages = compared(guided)
          return {
            samples: hasVariance(group) ? compared(group.trajectories) : null,
            further: guided.flatMap((trajectory, i) => {
              if (advantages[i] === 0) return []
              const row = Float32Array.from(trajectory.mask, (own) => (own ? advantages[i] : 0))
              return [sequenceOf(trajectory, g, row)]
            }),
          }
        },
      }),
      prefixLength: (length, { seed, step }, group, index) =>
        rollInLength(length, share, createRandom(deriveSeed(seed, 'guided-grpo', step, group, index))),
    }
  },
})
