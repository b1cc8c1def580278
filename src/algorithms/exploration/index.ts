/**
 * Objectives that keep a policy trying: entropy, bonuses for answers and replies that are new, guides that begin a reply, and
 * pass@k, which asks for one success among several.
 */
import type { Objective } from '../objective.js'
import { adaptiveEntropy, entropyBonusMethod, entropyBonusPart } from './entropy-bonus.js'
import { memoryMethod, memoryPart } from './episodic-memory.js'
import { guidedGrpo, guidedRollIn } from './guided-rollin.js'
import { batchOutcomeExploration, batchPart, historicalPart, outcomeExploration } from './outcome-bonus.js'
import * as pass from './pass-at-k.js'
import { representationMethod, representationPart } from './representation.js'
import { t1 } from './t1.js'

export * from './answers.js'
export * from './entropy-bonus.js'
export * from './episodic-memory.js'
export * from './features.js'
export * from './guided-rollin.js'
export * from './outcome-bonus.js'
export * from './pass-at-k.js'
export * from './representation.js'
export * from './t1.js'

export const explorationObjectives: readonly Objective[] = [
  entropyBonusPart,
  entropyBonusMethod,
  adaptiveEntropy,
  historicalPart,
  batchPart,
  outcomeExploration,
  batchOutcomeExploration,
  representationPart,
  representationMethod,
  memoryPart,
  memoryMethod,
  t1,
  guidedRollIn,
  guidedGrpo,
  pass.bestOfGroupPart,
  pass.passAtKPart,
  pass.pkpoPart,
  pass.maxRlPart,
  pass.bestOfGroupMethod,
  pass.passAtKMethod,
  pass.pkpoMethod,
  pass.maxRlMethod,
]
