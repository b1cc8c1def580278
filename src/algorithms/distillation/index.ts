/**
 * Learning from the probabilities of a teacher, another model or the model itself told more: divergences over alternatives
 * or from sampled tokens, on own samples or on demonstrations.
 */
import type { Objective } from '../objective.js'
import { ril } from './discriminator.js'
import { forwardKl, jensenShannon, reverseKl } from './divergence.js'
import { sdpo } from './feedback.js'
import * as methods from './methods.js'
import { miniLlm } from './minillm.js'
import { lsMopd, onPolicyDistillation, opd2 } from './on-policy.js'
import { sampledDistillation, sampledK2Part, sampledReverseKlPart } from './sampled.js'

export * from './discriminator.js'
export * from './divergence.js'
export * from './feedback.js'
export * from './methods.js'
export * from './minillm.js'
export * from './on-policy.js'
export * from './sampled.js'

export const distillationObjectives: readonly Objective[] = [
  forwardKl,
  reverseKl,
  jensenShannon,
  sampledReverseKlPart,
  sampledK2Part,
  methods.gkd,
  methods.onPolicyDivergence,
  methods.offPolicyDivergence,
  methods.contextDistillation,
  methods.copsd,
  methods.sdft,
  sampledDistillation,
  onPolicyDistillation,
  opd2,
  lsMopd,
  miniLlm,
  sdpo,
  ril,
]
