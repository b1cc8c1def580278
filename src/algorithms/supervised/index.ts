/**
 * Learning from what is shown or chosen: likelihood of demonstrations with weights of many kinds, of filtered samples, of
 * samples given their return; and mixtures of it with RL.
 */
import type { Objective } from '../objective.js'
import { expertIteration, rest, rft, turnWeightedSft } from './filtered.js'
import { luffy, srft, visurf } from './in-group.js'
import * as likelihood from './likelihood.js'
import { chord, datamind, interleaved, relift, scheduledMixture } from './mixture.js'
import { midTraining } from './mid-training.js'
import { paw, worldModelFirst } from './observations.js'
import { prefixRft } from './prefix.js'
import { returnConditioned } from './return-conditioned.js'
import { rlmt } from './rlmt.js'
import { mixtureSchedule } from './schedule.js'

export * from './filtered.js'
export * from './in-group.js'
export * from './likelihood.js'
export * from './mid-training.js'
export * from './mixture.js'
export * from './observations.js'
export * from './prefix.js'
export * from './return-conditioned.js'
export * from './rlmt.js'
export * from './schedule.js'
export * from './shown.js'

export const supervisedObjectives: readonly Objective[] = [
  likelihood.dftPart,
  likelihood.phiPart,
  likelihood.focalPart,
  likelihood.unlikelihoodPart,
  likelihood.smoothedPart,
  likelihood.sft,
  likelihood.dft,
  likelihood.focal,
  likelihood.unlikelihood,
  rft,
  rest,
  expertIteration,
  turnWeightedSft,
  returnConditioned,
  mixtureSchedule,
  scheduledMixture,
  interleaved,
  chord,
  datamind,
  relift,
  luffy,
  visurf,
  srft,
  prefixRft,
  rlmt,
  paw,
  worldModelFirst,
  midTraining,
]
