import { z } from 'zod'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { rewardsOf, spread } from './baselines.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { meanOf } from './token-loss.js'

/**
 * Group policy gradient: A_i = (n / m)(R_i - mean_G), n samples in the batch, of which m have a reward that is not 0 (at least
 * 1 is counted). A group of one has advantage 0.
 *
 * Source: GPG, arXiv 2504.02546; verl compute_gpg_outcome_advantage.
 */
export const gpgAdvantages: AdvantageEstimator = (groups) => {
  const rewards = groups.map(rewardsOf)
  const all = rewards.flat()
  const alpha = all.length / Math.max(1, all.filter((reward) => reward !== 0).length)
  return spread(
    groups,
    rewards.map((group) => {
      const mean = meanOf(group)
      return group.map((reward) => (group.length < 2 ? 0 : alpha * (reward - mean)))
    }),
  )
}

const about = {
  family: 'policy-gradient' as const,
  reference: 'GPG, arXiv 2504.02546; verl compute_gpg_outcome_advantage',
  standing: 'source' as const,
  rows: [],
}

export const gpgPart = objective({
  ...about,
  kind: 'advantage',
  name: 'group-policy-gradient',
  summary: 'Rewards less their group mean, times the samples of the batch by those with a reward.',
  formula: 'A_i = (n / #{R != 0}) (R_i - mean_G)',
  use: 'Rewards that are 0 for failure: keeps the size of a step where most samples fail.',
  options: z.strictObject({}),
  make: () => gpgAdvantages,
})

export const gpg = objective({
  ...about,
  kind: 'method',
  name: 'gpg',
  summary: 'Group policy gradient: no ratio, no clip, no reference; rescaled where most samples fail.',
  formula: 'l = -A lp, A = (n / #{R != 0}) (R - mean_G)',
  use: 'One update a batch.',
  options: z.strictObject({ ...klOptions, ...aggregationOptions('token-mean') }),
  make: (options) => method('gpg', options, { advantage: gpgAdvantages, loss: crossEntropy(), dynamicSampling: false }),
})
