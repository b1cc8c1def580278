/**
 * Objectives without labels: what samples agree on, and how sure the policy is, take the place of a reward. All of them make
 * a policy firmer in what it already believes.
 */
import type { Objective } from '../objective.js'
import * as confidence from './confidence.js'
import { consistencyMethod, consistencyPart, frequencyPart, ttrv } from './frequencies.js'
import { ttrl, votePart } from './votes.js'

export * from './confidence.js'
export * from './frequencies.js'
export * from './votes.js'

export const labelFreeObjectives: readonly Objective[] = [
  votePart,
  ttrl,
  frequencyPart,
  ttrv,
  consistencyPart,
  consistencyMethod,
  confidence.intuitor,
  confidence.entropyMinimizationPart,
  confidence.entropyMinimizationMethod,
  confidence.entropyReward,
  confidence.likelihoodPart,
  confidence.likelihoodMethod,
]
