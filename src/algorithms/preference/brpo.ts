import { z } from 'zod'
import { createRandom, deriveSeed } from '../../core/index.js'
import { clippedLoss } from '../clipped.js'
import { compose, FIRST_STEP } from '../compose.js'
import { groupMethodOptions } from '../multi/group-method.js'
import { objective } from '../objective.js'
import type { Algorithm, LearnContext, Lesson } from '../types.js'

/**
 * Advantages against one sibling: 1 for a reply that beats it by more than `margin`, -1 for every other, 0 for the reference
 * itself. A group is left out (null) when it has no variance, or when |sum| / size is more than `maxImbalance`.
 *
 * @param reference place of the sibling the others are compared with
 * @example bootstrappedAdvantages([1, 0, 0], 1, { margin: 0, maxImbalance: 0.6 }) // [1, 0, -1]
 */
export function bootstrappedAdvantages(
  rewards: readonly number[],
  reference: number,
  options: { margin: number; maxImbalance: number },
): number[] | null {
  if (rewards.every((reward) => reward === rewards[0])) return null
  const signs = rewards.map((reward, i): number =>
    i === reference ? 0 : reward - rewards[reference] > options.margin ? 1 : -1,
  )
  const sum = signs.reduce((total, sign) => total + sign, 0)
  return Math.abs(sum) / rewards.length > options.maxImbalance ? null : signs
}

export const brpo = objective({
  kind: 'method',
  name: 'brpo',
  family: 'preference',
  summary:
    'Every reply is compared with one drawn from its own group; win or loss is the advantage (BRPO, Writing-Zero).',
  formula: 'A_i = 1 if i beats o_ref, else -1, 0 for o_ref;  o_ref drawn from the group;  L = clipped(ratio, A)',
  reference:
    'arXiv 2506.00103, by notes on it. Ours: "beats" is a larger reward (by more than `margin`) where the paper asks a judge ' +
    'of pairs in both orders',
  standing: 'second-hand',
  use: 'Rewards without a scale. Ties count as losses; groups that almost all win or all lose are left out.',
  rows: ['B164'],
  options: z.strictObject({
    /** A win is a reward larger by more than this. */
    margin: z.number().min(0).default(0),
    /** Groups whose advantages sum to more than this share of their size are left out. */
    maxImbalance: z.number().gt(0).max(1).default(0.6),
    clipLow: groupMethodOptions.clipLow,
    clipHigh: groupMethodOptions.clipHigh,
    klCoefficient: groupMethodOptions.klCoefficient,
    aggregation: groupMethodOptions.aggregation,
    fixedLength: groupMethodOptions.fixedLength,
  }),
  make(options): Algorithm {
    const whole = compose({
      name: 'brpo',
      advantage: (groups) =>
        groups.map(({ trajectories }) => trajectories.map(({ tokens }) => new Float32Array(tokens.length))),
      loss: clippedLoss(options),
      aggregation: options.aggregation,
      fixedLength: options.fixedLength,
      needs: options.klCoefficient > 0 ? { reference: 'initial' } : {},
    })
    return {
      ...whole,
      learn: (groups, context = FIRST_STEP) => bootstrap(whole.learn(groups, context), options, context, groups),
    }
  },
})

function bootstrap(
  lesson: Lesson,
  options: { margin: number; maxImbalance: number },
  context: LearnContext,
  groups: Parameters<Algorithm['learn']>[0],
): Lesson {
  const random = createRandom(deriveSeed(context.seed, 'brpo', context.step))
  let leftOut = 0
  const signs = groups.map(({ trajectories }) => {
    if (trajectories.length < 2) return null
    const rewards = trajectories.map(({ reward }) => reward)
    const drawn = bootstrappedAdvantages(rewards, random.integer(0, rewards.length - 1), options)
    if (drawn === null) leftOut++
    return drawn
  })
  const advantages = groups.map(({ trajectories }, g) =>
    trajectories.map(({ mask }, i) => Float32Array.from(mask, (sampled) => (sampled && signs[g] ? signs[g][i] : 0))),
  )
  const kept = lesson.origins.flatMap(({ group }, i) => (signs[group] ? [i] : []))
  return {
    ...lesson,
    advantages,
    origins: kept.map((i) => lesson.origins[i]),
    sequences: kept.map((i) => {
      const { group, trajectory } = lesson.origins[i]
      return { ...lesson.sequences[i], advantages: advantages[group][trajectory] }
    }),
    metrics: { ...lesson.metrics, groupsLeftOut: leftOut },
  }
}
