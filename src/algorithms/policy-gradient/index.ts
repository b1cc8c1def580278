/**
 * Policy gradients: advantage estimators, ratio losses, value heads, corrections for a sampler that differs, divergences from
 * a reference, and the published methods composed of them.
 */
import type { Objective } from '../objective.js'
import { lolPart, rLol, aLol, aLolRefFree, aLolSeq, aLolKl } from './a-lol.js'
import { adaptiveKlGrpo } from './adaptive-kl.js'
import { agroPart, agro } from './agro.js'
import {
  plainRewardPart,
  batchMeanPart,
  groupRelativePart,
  leaveOneOutPart,
  lengthWeightedPart,
  mostProbablePart,
  greedyPart,
  runningBaselinePart,
} from './baselines.js'
import { betaNormalizedPart, bnpo } from './beta-normalization.js'
import { ppoCategorical, twoHotPart, hlGaussPart } from './categorical.js'
import { cispoPart, cispo } from './cispo.js'
import { clipped, dualClip } from './clip.js'
import { mixedGroupsPart, dapo } from './dapo.js'
import {
  behaviourWeightPart,
  silenceStalePart,
  mayBeginPart,
  loglinearProximalPart,
  decoupledPpo,
} from './decoupled.js'
import { dppoPart, dppo } from './dppo.js'
import { dynamicScalingPart, grpoS } from './dynamic-scaling.js'
import { gaePart } from './gae.js'
import { gmpoPart, gmpo } from './gmpo.js'
import { gpgPart, gpg } from './gpg.js'
import { grpoMethod, drGrpo, microBatchGrpo } from './grpo.js'
import { gspoPart, gspoTokenPart, gspo, gspoToken } from './gspo.js'
import { truncatedImportancePart, maskedImportancePart, icepopPart, tis, mis, icepop } from './importance.js'
import { klK1, klK2, klK3, klUnbiased, klStraightThrough, adaptiveKl } from './kl.js'
import { groupMeanBatchDeviationPart, litePpo } from './lite-ppo.js'
import { opsmPart, opsm } from './opsm.js'
import { ppo, positiveLikelihoodPart, vapo } from './ppo.js'
import { centredThenWhitenedPart, reinforcePlusPlus, reinforcePlusPlusBaseline } from './reinforce-plus-plus.js'
import { importanceWeighted, reinforce, remax, opo, rapid } from './reinforce.js'
import { sequenceRatio, rloo } from './rloo.js'
import { sapoPart, sapo } from './sapo.js'
import { preClipped, stableReinforce } from './stable-reinforce.js'
import { clippedValue } from './value-loss.js'
import { vespoPart, vespo } from './vespo.js'

export * from './a-lol.js'
export * from './adaptive-kl.js'
export * from './agro.js'
export * from './baselines.js'
export * from './beta-normalization.js'
export * from './categorical.js'
export * from './cispo.js'
export * from './clip.js'
export * from './dapo.js'
export * from './decoupled.js'
export * from './dppo.js'
export * from './dynamic-scaling.js'
export * from './gae.js'
export * from './gmpo.js'
export * from './gpg.js'
export * from './grpo.js'
export * from './gspo.js'
export * from './importance.js'
export * from './kl.js'
export * from './lite-ppo.js'
export * from './method-options.js'
export * from './opsm.js'
export * from './ppo.js'
export * from './reinforce-plus-plus.js'
export * from './reinforce.js'
export * from './returns.js'
export * from './rloo.js'
export * from './sapo.js'
export * from './stable-reinforce.js'
export * from './token-loss.js'
export * from './value-loss.js'
export * from './vespo.js'

export const policyGradientObjectives: readonly Objective[] = [
  lolPart,
  rLol,
  aLol,
  aLolRefFree,
  aLolSeq,
  aLolKl,
  agroPart,
  agro,
  plainRewardPart,
  batchMeanPart,
  groupRelativePart,
  leaveOneOutPart,
  lengthWeightedPart,
  mostProbablePart,
  greedyPart,
  runningBaselinePart,
  betaNormalizedPart,
  bnpo,
  ppoCategorical,
  twoHotPart,
  hlGaussPart,
  cispoPart,
  cispo,
  clipped,
  dualClip,
  mixedGroupsPart,
  dapo,
  behaviourWeightPart,
  silenceStalePart,
  mayBeginPart,
  loglinearProximalPart,
  decoupledPpo,
  dppoPart,
  dppo,
  dynamicScalingPart,
  grpoS,
  gaePart,
  gmpoPart,
  gmpo,
  gpgPart,
  gpg,
  grpoMethod,
  drGrpo,
  microBatchGrpo,
  gspoPart,
  gspoTokenPart,
  gspo,
  gspoToken,
  truncatedImportancePart,
  maskedImportancePart,
  icepopPart,
  tis,
  mis,
  icepop,
  klK1,
  klK2,
  klK3,
  klUnbiased,
  klStraightThrough,
  adaptiveKl,
  adaptiveKlGrpo,
  groupMeanBatchDeviationPart,
  litePpo,
  opsmPart,
  opsm,
  ppo,
  positiveLikelihoodPart,
  vapo,
  centredThenWhitenedPart,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  importanceWeighted,
  reinforce,
  remax,
  opo,
  rapid,
  sequenceRatio,
  rloo,
  sapoPart,
  sapo,
  preClipped,
  stableReinforce,
  clippedValue,
  vespoPart,
  vespo,
]
