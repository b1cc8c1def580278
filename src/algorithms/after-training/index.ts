/**
 * What can be made of models once they are trained, without training: averages, task vectors, arcs, extrapolations, and
 * logits or prompts lent from one to another. Two models and what training changed: src/models/arithmetic.ts.
 */
import type { Objective } from '../objective.js'
import { alphaRl, rankOne } from './alpha-rl.js'
import { interpolation, soup, taskArithmetic } from './averages.js'
import { logitTransfer } from './logit-transfer.js'
import { taskPromptVectors } from './prompt-vectors.js'
import { sphericalInterpolation } from './slerp.js'
import { ties } from './ties.js'

export * from './alpha-rl.js'
export * from './averages.js'
export * from './logit-transfer.js'
export * from './prompt-vectors.js'
export * from './slerp.js'
export * from './ties.js'

export const afterTrainingObjectives: readonly Objective[] = [
  interpolation,
  soup,
  taskArithmetic,
  ties,
  sphericalInterpolation,
  rankOne,
  alphaRl,
  logitTransfer,
  taskPromptVectors,
]
