/**
 * Preferences: losses on sums of logprobs of compared replies, and the methods that make their comparisons on-line from the
 * rewards of a group. A loss reads `info` of its sequences: role chosen or rejected, the same `pair` for what is compared, and
 * `rank` for rankings; so comparisons from a file are learnt with the same losses.
 */
import type { Objective } from '../objective.js'
import { apoDownDpo, apoZeroDpo, bco, mpo, nca } from './absolute.js'
import { brpo } from './brpo.js'
import { cpl } from './contrastive.js'
import { croco } from './croco.js'
import { doublyRobust, doublyRobustPart } from './doubly-robust.js'
import { cdpo, discopop, dpo, exo, fDpo, hingeDpo, ipo, normalizedDpo, robustDpo } from './dpo.js'
import { plackettLuceDpo } from './listwise.js'
import { nash, nashPart, onlineDpo, pairwiseRl, winRatePart } from './online.js'
import { pairwisePpo } from './p3o.js'
import { alphaPo, cpo, orpo, simpo, slic } from './reference-free.js'
import { rebel, refuel, sppo, sppoHard } from './regression.js'
import { aot } from './transport.js'
import { kto, ktoPart } from './verdicts.js'

export * from './absolute.js'
export * from './brpo.js'
export * from './comparisons.js'
export * from './completions.js'
export * from './contrastive.js'
export * from './croco.js'
export * from './doubly-robust.js'
export * from './dpo.js'
export * from './listwise.js'
export * from './logistic.js'
export * from './margins.js'
export * from './method.js'
export * from './online.js'
export * from './p3o.js'
export * from './pair-loss.js'
export * from './reference-free.js'
export * from './regression.js'
export * from './transport.js'
export * from './verdicts.js'

const both = [
  dpo,
  cdpo,
  robustDpo,
  hingeDpo,
  normalizedDpo,
  ipo,
  fDpo,
  exo,
  discopop,
  apoZeroDpo,
  apoDownDpo,
  nca,
  bco,
  mpo,
  aot,
  cpo,
  slic,
  simpo,
  alphaPo,
  orpo,
  sppoHard,
  rebel,
  plackettLuceDpo,
  cpl,
  pairwisePpo,
  onlineDpo,
]

export const preferenceObjectives: readonly Objective[] = [
  ...both.flatMap(({ loss, method }) => [loss as Objective, method as Objective]),
  ktoPart,
  kto,
  doublyRobustPart,
  doublyRobust,
  sppo,
  refuel,
  winRatePart,
  pairwiseRl,
  nashPart,
  nash,
  brpo,
  croco,
]
