import { z } from 'zod'
import type { TrainSequence } from '../../policy/types.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import { byRole, mix, weighByRole } from '../supervised/shown.js'
import { sumLosses } from '../sum-losses.js'
import { divergenceLoss, SUPPORTS } from './divergence.js'
import { averaging } from './methods.js'
import { importanceLoss, teacherGap } from './sampled.js'

export interface MiniLlmOptions {
  /** Discount of later tokens. */
  gamma: number
  /** Divide the sum by the (discounted) number of tokens it runs over. */
  lengthNormalization: boolean
}

/**
 * MiniLLM's return of each token: the teacher's gap from it to the end,
 *
 *     R_t = sum_{t' >= t} gamma^(t' - t) (lpT - lpS)_t'  /  sum_{t' >= t} gamma^(t' - t)
 *
 * Source: arXiv 2306.08543 (gamma 1, the divisor the remaining length); TRL (gamma 0: the token's own gap).
 *
 * @param gaps [tokens], over those where the mask is 1
 * @example miniLlmReturns(Float32Array.of(1, 3), Uint8Array.of(1, 1), { gamma: 1, lengthNormalization: true }) // 2 3
 */
export function miniLlmReturns(gaps: Float32Array, mask: Uint8Array, options: MiniLlmOptions): Float32Array {
  const returns = new Float32Array(gaps.length)
  let [sum, length] = [0, 0]
  for (let t = gaps.length - 1; t >= 0; t--) {
    if (!mask[t]) continue
    sum = gaps[t] + options.gamma * sum
    length = 1 + options.gamma * length
    returns[t] = options.lengthNormalization ? sum / length : sum
  }
  return returns
}

/**
 * Advantages of the trainable tokens of all sequences brought to mean 0 and deviation 1 (over n).
 *
 * @example whitened(sequences)
 */
export function whitened(sequences: readonly TrainSequence[], epsilon = 1e-8): TrainSequence[] {
  const all = sequences.flatMap(({ mask, advantages }) => [...advantages].filter((_, t) => mask[t]))
  const mean = all.reduce((sum, a) => sum + a / all.length, 0)
  const variance = all.reduce((sum, a) => sum + (a - mean) ** 2 / all.length, 0)
  return sequences.map((sequence) => ({
    ...sequence,
    advantages: sequence.advantages.map((a, t) =>
      sequence.mask[t] ? (a - mean) / (Math.sqrt(variance) + epsilon) : 0,
    ),
  }))
}

export const miniLlm = objective({
  kind: 'method',
  name: 'minillm',
  family: 'distillation',
  summary:
    'Reverse KL by policy gradient: whitened returns of the gap to the teacher, and the exact divergence of each step.',
  formula:
    'R_t = sum gamma^k (lpT - olp) / length;  l = clip(r whiten(R)) + singleStep KL(S || T) + language -lp of demonstrations',
  reference:
    "MiniLLM, arXiv 2306.08543, and its authors' code. Ours: samples are the policy's alone (the paper mixes in the teacher's, with weights), demonstrations stand for pretraining text",
  standing: 'ours',
  use: 'A weaker policy and a teacher that tells alternatives. Credit reaches back over the reply, unlike on-policy-distillation.',
  rows: [],
  options: z.strictObject({
    ...averaging,
    gamma: z.number().min(0).max(1).default(1),
    lengthNormalization: z.boolean().default(true),
    whiten: z.boolean().default(true),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    /** Weight of the exact divergence of each step; 0 reads no alternatives. */
    singleStep: z.number().min(0).default(1),
    alternatives: z.int().positive().default(64),
    support: z.enum(SUPPORTS).default('tail'),
    /** Weight of the likelihood of demonstrations; 0 asks for none. */
    language: z.number().min(0).default(0),
  }),
  make: (options) => {
    const { singleStep, language, alternatives } = options
    const policy = sumLosses([
      { loss: importanceLoss(options) },
      ...(singleStep > 0
        ? [{ loss: divergenceLoss({ beta: 1, support: options.support }), coefficient: singleStep }]
        : []),
    ])
    return mix({
      name: 'minillm',
      needs: {
        teacher: 'model',
        old: true,
        ...(singleStep > 0 ? { alternatives } : {}),
        ...(language > 0 ? { demonstrations: true } : {}),
      },
      loss: language > 0 ? byRole(policy, crossEntropy()) : policy,
      weigh: weighByRole(options.aggregation, 'token-mean', options.fixedLength),
      refine: (sequences) => {
        const own = (sequence: TrainSequence): boolean => sequence.info?.role !== 'demonstration'
        const scored = sequences.filter(own).map((sequence) => ({
          ...sequence,
          advantages: miniLlmReturns(teacherGap(sequence), sequence.mask, options),
        }))
        const refined = options.whiten ? whitened(scored) : scored
        return sequences.map((sequence) => (own(sequence) ? refined.shift()! : sequence))
      },
      teach: ({ trajectories }) => ({
        samples: trajectories.map(() => 0),
        demonstration: language > 0 ? 1 : null,
        demonstrationFactor: language,
      }),
    })
  },
})
