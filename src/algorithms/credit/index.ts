/**
 * Who in a reply gets the credit: tokens, n-grams, segments, steps, turns and attempts, by returns, critics, process
 * rewards, entropy, covariance or the set of tokens that were likely.
 */
import type { Objective } from '../objective.js'
import { archer, archerTargetsPart } from './archer.js'
import { clipCov, clipCovPart, klCov, klCovPart } from './covariance.js'
import * as entropy from './entropy.js'
import { macroRatio, maRlhf, maRlhfMacroRatio } from './macro.js'
import { mirrorDescent, r3l, sharedPrefix } from './pivot.js'
import { positionWeightsPart, twGrpo } from './position.js'
import { processGrpo, processPart } from './process.js'
import { nlpo, promising, rlpt } from './promising.js'
import { rlmec } from './rlmec.js'
import { segmentPart, tapo } from './segments.js'
import { uiS1 } from './semi-online.js'
import { supo } from './supo.js'
import * as rewards from './token-rewards.js'
import { lamer, mage, orbit } from './trials.js'
import { gigpo, gigpoPart, turnLevelGrpo, turnReturnsPart } from './turn-returns.js'

export * from './archer.js'
export * from './covariance.js'
export * from './critic.js'
export * from './entropy.js'
export * from './macro.js'
export * from './pivot.js'
export * from './position.js'
export * from './process.js'
export * from './promising.js'
export * from './rlmec.js'
export * from './segments.js'
export * from './semi-online.js'
export * from './supo.js'
export * from './token-rewards.js'
export * from './trials.js'
export * from './turn-returns.js'
export * from './turns.js'

export const creditObjectives: readonly Objective[] = [
  promising,
  rlpt,
  nlpo,
  entropy.highEntropyTokensPart,
  entropy.highEntropyMinority,
  entropy.highEntropyTurnsPart,
  entropy.dart,
  entropy.resolutionFirstPart,
  entropy.heroSwe,
  clipCovPart,
  clipCov,
  klCovPart,
  klCov,
  positionWeightsPart,
  twGrpo,
  macroRatio,
  maRlhf,
  maRlhfMacroRatio,
  segmentPart,
  tapo,
  sharedPrefix,
  mirrorDescent,
  r3l,
  rewards.attentionRedistribution,
  rewards.uniformRedistribution,
  rewards.fineGrainedRlhf,
  rewards.severity,
  rewards.tokenRewardReinforce,
  rlmec,
  turnReturnsPart,
  turnLevelGrpo,
  gigpoPart,
  gigpo,
  lamer,
  orbit,
  mage,
  uiS1,
  archerTargetsPart,
  archer,
  supo,
  processPart,
  processGrpo,
]
