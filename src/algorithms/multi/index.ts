/**
 * Several rewards, tasks, languages or constraints in one objective: how parts are summed, normalized, weighted, held to a
 * budget, or the worst of them raised.
 */
import type { Objective } from '../objective.js'
import { agentRl, languageNormalization, languageNormalizedGrpo, taskNormalization } from './by-task.js'
import { laconic, laconicPart, lagrangian, lagrangianPart, pidLagrangian, pidLagrangianPart } from './constraint.js'
import { lagrangianAdvantages, lagrangianAdvantagesPart } from './constraint-advantages.js'
import { antiConsistencyPart, coupledAdvantagesPart, lcrl } from './coupled.js'
import { durationAware, durationWeights } from './duration.js'
import { gdpo, gdpoPart, rewardSum, sumThenNormalizePart } from './gdpo.js'
import { homura } from './homura.js'
import { hybridReward, promptWeightPart, stratifiedReward } from './hybrid.js'
import { minNorm, paretoWeights, paretoWeightsPart } from './pareto.js'
import { dynamicWeightsMethod, dynamicWeightsPart, uncertaintyMethod, uncertaintyPart } from './part-weights.js'
import { rewardCostMethod, rewardCostPart } from './reward-cost.js'
import * as worst from './worst-group.js'

export * from './by-task.js'
export * from './constraint-advantages.js'
export * from './constraint.js'
export * from './cost.js'
export * from './coupled.js'
export * from './duration.js'
export * from './gdpo.js'
export * from './group-method.js'
export * from './homura.js'
export * from './hybrid.js'
export * from './pareto.js'
export * from './part-weights.js'
export * from './reward-cost.js'
export * from './reward-parts.js'
export * from './worst-group.js'

export const multiObjectives: readonly Objective[] = [
  sumThenNormalizePart,
  gdpoPart,
  rewardSum,
  gdpo,
  stratifiedReward,
  promptWeightPart,
  hybridReward,
  taskNormalization,
  languageNormalization,
  agentRl,
  languageNormalizedGrpo,
  antiConsistencyPart,
  coupledAdvantagesPart,
  lcrl,
  worst.maxminParts,
  worst.maxminGroups,
  worst.minimumRewardPart,
  worst.groupDroPart,
  worst.maxminRlhf,
  worst.minimumRewardMethod,
  worst.groupDroMethod,
  lagrangianPart,
  pidLagrangianPart,
  laconicPart,
  lagrangian,
  pidLagrangian,
  lagrangianAdvantagesPart,
  lagrangianAdvantages,
  laconic,
  homura,
  rewardCostPart,
  rewardCostMethod,
  paretoWeightsPart,
  paretoWeights,
  minNorm,
  uncertaintyPart,
  dynamicWeightsPart,
  uncertaintyMethod,
  dynamicWeightsMethod,
  durationWeights,
  durationAware,
]
