/**
 * Objectives of reward models, as pure functions of their scores: comparisons, rankings, ratings, steps; and what is made of
 * scores: ensembles, mixtures of tastes, the best of n, synthetic comparisons, grades of judges.
 */
import type { Objective } from '../objective.js'
import { bestOfN, seamScore, westOfNPairs } from './best-of-n.js'
import { goalContrastReward } from './contrastive.js'
import { ensembleReward } from './ensemble.js'
import { gradeReward, listAgreementReward } from './judge.js'
import { linearReward } from './linear.js'
import { allPairsReward, plackettLuceReward } from './listwise.js'
import { rewardMixture } from './mixture.js'
import { bradleyTerry } from './pairwise.js'
import { binaryReward, regressionReward } from './pointwise.js'
import { processReward, stepAggregation } from './process.js'

export * from './best-of-n.js'
export * from './contrastive.js'
export * from './ensemble.js'
export * from './judge.js'
export * from './linear.js'
export * from './listwise.js'
export * from './mixture.js'
export * from './pairwise.js'
export * from './pointwise.js'
export * from './process.js'
export * from './types.js'

export const rewardModelObjectives: readonly Objective[] = [
  bradleyTerry,
  plackettLuceReward,
  allPairsReward,
  regressionReward,
  binaryReward,
  processReward,
  stepAggregation,
  ensembleReward,
  rewardMixture,
  linearReward,
  goalContrastReward,
  gradeReward,
  listAgreementReward,
  westOfNPairs,
  bestOfN,
  seamScore,
]
