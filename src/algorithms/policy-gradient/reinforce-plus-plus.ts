import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import type { ComposeOptions } from '../compose.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Algorithm } from '../types.js'
import type { TrainSequence } from '../../policy/types.js'
import { clipOptions } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method, type CommonOptions } from './method-options.js'
import {
  placedRewards,
  returnsToGo,
  REWARD_SOURCES,
  rewardsLessKl,
  whitenTokens,
  type RewardSource,
} from './returns.js'
import { spread } from './baselines.js'

/**
 * From sequences whose `advantages` are rewards to sequences whose advantages are returns-to-go, less the divergence from the
 * reference, whitened over all trainable tokens given.
 *
 * Source: REINFORCE++, arXiv 2501.03262; verl compute_reinforce_plus_plus_outcome_advantage.
 */
export function whitenedReturns(
  sequences: readonly TrainSequence[],
  options: { gamma: number; klInReward: number },
): TrainSequence[] {
  const returns = sequences.map((sequence) =>
    returnsToGo(rewardsLessKl(sequence, options.klInReward), sequence.mask, options.gamma),
  )
  const advantages = whitenTokens(
    returns,
    sequences.map(({ mask }) => mask),
  )
  return sequences.map((sequence, i) => ({ ...sequence, advantages: advantages[i] }))
}

/**
 * Rewards less their group mean, then whitened over the batch: over tokens, so that long replies weigh more (verl, OpenRLHF),
 * or over trajectories (ms-swift). A group of one counts as 0.
 *
 * @example const estimate = centredThenWhitened('tokens')
 */
export function centredThenWhitened(over: 'tokens' | 'sequences'): AdvantageEstimator {
  const centre = groupAdvantages({ normalization: 'mean' })
  return (groups) => {
    const centred = centre(groups)
    const masks = groups.map(({ trajectories }) => trajectories.map(({ mask }) => mask))
    if (over === 'sequences') {
      const numbers = centred.flat().map((row, i) => [row[Math.max(0, masks.flat()[i].indexOf(1))] ?? 0])
      const white = whitenTokens(
        numbers,
        numbers.map(() => Uint8Array.of(1)),
      )
      let next = 0
      const byGroup = groups.map(({ trajectories }) => trajectories.map(() => white[next++][0]))
      return spread(groups, byGroup)
    }
    const white = whitenTokens(centred.flat(), masks.flat())
    let next = 0
    return centred.map((group) => group.map(() => white[next++]))
  }
}

/** A method whose advantages are made from rewards by `refine`, once sequences are scored. */
export function refined(
  name: string,
  options: CommonOptions & { klInReward: number; rewards: RewardSource },
  parts: Omit<ComposeOptions, 'name' | 'advantage'>,
  refine: (sequences: readonly TrainSequence[], step: number) => TrainSequence[],
): Algorithm {
  const needs = options.klInReward === 0 ? {} : { reference: 'initial' as const, old: true }
  const algorithm = method(name, options, {
    dynamicSampling: false,
    ...parts,
    advantage: placedRewards(options.rewards),
    needs: { ...parts.needs, ...needs },
  })
  return {
    ...algorithm,
    refine: (sequences, context) =>
      refine(algorithm.refine?.(sequences, context) ?? sequences, context?.step ?? Infinity),
  }
}

/** Options of methods that learn from rewards token by token. */
export const rewardOptions = {
  /** Discount of later rewards, by token. */
  gamma: z.number().min(0).max(1).default(1),
  /** Weight of olp - rlp taken from the reward of every token; 0 needs no reference. */
  klInReward: z.number().min(0).default(0),
  /** The whole reward at the end, or what turns or tokens earned where trajectories tell. */
  rewards: z.enum(REWARD_SOURCES).default('outcome'),
}

export const centredThenWhitenedPart = objective({
  kind: 'advantage',
  name: 'centred-then-whitened',
  family: 'policy-gradient',
  summary: 'Rewards less their group mean, then whitened over the batch.',
  formula:
    'A_t = (R_i - mean_G - mean_B) / sqrt(var_B + 1e-8), mean_B and var_B of R_i - mean_G over tokens (or sequences)',
  reference: 'REINFORCE++-baseline, arXiv 2501.03262; verl (tokens), ms-swift (sequences)',
  standing: 'source',
  use: 'Several samples a problem, without the bias of a deviation by group.',
  rows: [],
  options: z.strictObject({ over: z.enum(['tokens', 'sequences']).default('tokens') }),
  make: ({ over }) => centredThenWhitened(over),
})

export const reinforcePlusPlus = objective({
  kind: 'method',
  name: 'reinforce-plus-plus',
  family: 'policy-gradient',
  summary: 'Returns with the divergence in the reward, whitened over all tokens of the batch, and the clipped loss.',
  formula: 'G_t = r_t - klInReward (olp - rlp) + gamma G_{t+1};  A = (G - mean_B) / sqrt(var_B + 1e-8)',
  reference: 'REINFORCE++, arXiv 2501.03262; verl',
  standing: 'source',
  use: 'One sample a problem, no value head. Problems of unlike difficulty share one baseline.',
  rows: [],
  options: z.strictObject({ ...rewardOptions, ...clipOptions, ...aggregationOptions('token-mean') }),
  make: (options) =>
    refined('reinforce-plus-plus', options, { loss: clippedLoss(options) }, (sequences) =>
      whitenedReturns(sequences, options),
    ),
})

export const reinforcePlusPlusBaseline = objective({
  kind: 'method',
  name: 'reinforce-plus-plus-baseline',
  family: 'policy-gradient',
  summary: 'Rewards less their group mean, whitened over the batch; clipped loss, divergence k2.',
  formula: 'A = whiten_B(R_i - mean_G);  l = clipped + klCoefficient k2',
  reference: 'REINFORCE++-baseline, arXiv 2501.03262; verl',
  standing: 'source',
  use: 'Several samples a problem. Unlike grpo an easy group does not weigh as much as a hard one.',
  rows: [],
  options: z.strictObject({
    /** Over what the centred rewards are whitened. */
    over: z.enum(['tokens', 'sequences']).default('tokens'),
    ...clipOptions,
    ...klOptions,
    klEstimator: klOptions.klEstimator.default('k2'),
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    method('reinforce-plus-plus-baseline', options, {
      advantage: centredThenWhitened(options.over),
      dynamicSampling: false,
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})
