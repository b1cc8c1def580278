import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { objective } from '../objective.js'
import { leaveOneOut, perGroup } from './baselines.js'
import { clipOptions, clippedTerm, dualClipLoss, type ClipRange } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { sequenceLoss } from './token-loss.js'

/**
 * The clipped loss on the ratio of a whole sequence, rho_i = exp(sum_t (lp - olp)), a product over its tokens:
 *
 *     l_i = -min(rho_i A_i, clip(rho_i, 1 - clipLow, 1 + clipHigh) A_i);   d l_i / d lp_it = -rho_i A_i, or 0 where clipped
 *
 * A_i is the mean of the sequence's advantages; sequences weigh the sum of their token weights.
 *
 * Source: RLOO as in TRL's RLOOTrainer; arXiv 2402.14740.
 *
 * @example const loss = sequenceRatioLoss({ clipLow: 0.2, clipHigh: 0.2 })
 */
export function sequenceRatioLoss(range: ClipRange): Loss {
  return sequenceLoss('sequence-ratio', ({ logprobs, oldLogprobs }, { start, end, advantage }) => {
    let logRatio = 0
    for (let t = start; t < end; t++) logRatio += logprobs[t] - oldLogprobs[t]
    const { slope, ...rest } = clippedTerm(logRatio, advantage, range)
    return { ...rest, slopes: slope }
  })
}

/**
 * Leave-one-out advantages of scored samples whose rewards lose the divergence of the whole sequence:
 * R_i - beta sum_t (olp - rlp). Demonstrations keep their advantages.
 *
 * @throws MyriadError 'usage' where a sample holds no reference logprobs or no info
 */
export function leaveOneOutLessKl(sequences: readonly TrainSequence[], coefficient: number): TrainSequence[] {
  const members = new Map<number, number[]>()
  const rewards = sequences.map((sequence, i) => {
    const { info, mask, referenceLogprobs, logprobs, oldLogprobs = logprobs } = sequence
    if (!info || !referenceLogprobs)
      throw new MyriadError('usage', 'a divergence in the reward needs info and reference logprobs of every sequence')
    if (info.role !== 'sample') return 0
    members.set(info.group, [...(members.get(info.group) ?? []), i])
    const kl = oldLogprobs.reduce((sum, old, t) => (mask[t] ? sum + old - referenceLogprobs[t] : sum), 0)
    return info.reward - coefficient * kl
  })
  const advantages = new Map<number, number>()
  for (const indices of members.values())
    leaveOneOut(indices.map((i) => rewards[i])).forEach((advantage, k) => advantages.set(indices[k], advantage))
  return sequences.map((sequence, i) => {
    const advantage = advantages.get(i)
    if (advantage === undefined) return sequence
    return { ...sequence, advantages: Float32Array.from(sequence.mask, (trained) => (trained ? advantage : 0)) }
  })
}

const about = { family: 'policy-gradient' as const, standing: 'source' as const }

export const sequenceRatio = objective({
  ...about,
  kind: 'loss',
  name: 'sequence-ratio',
  summary: 'The clipped loss on the product of the ratios of a sequence.',
  formula: 'l_i = -min(rho_i A_i, clip(rho_i) A_i), rho_i = exp(sum_t (lp - olp))',
  reference: 'RLOO, arXiv 2402.14740; TRL RLOOTrainer',
  use: 'Short replies, few updates a batch: the product leaves the clip range quickly. gspo takes the geometric mean.',
  rows: [],
  options: z.strictObject(clipOptions),
  make: sequenceRatioLoss,
})

export const rloo = objective({
  ...about,
  kind: 'method',
  name: 'rloo',
  summary: 'Leave-one-out advantages with a clipped loss by token, or on the ratio of the sequence as in TRL.',
  formula: 'A_i = R_i - (1/(G-1)) sum_{j != i} R_j',
  reference: 'RLOO, arXiv 2402.14740; ratio "sequence" as in TRL, "token" as in verl, SkyRL and OpenRLHF',
  use: 'Several samples a problem. Step sizes follow the scale of rewards: rescale when coming from grpo.',
  rows: ['A087', 'B028'],
  options: z.strictObject({
    ratio: z.enum(['token', 'sequence']).default('token'),
    ...clipOptions,
    /** Weight of the sequence's sum of olp - rlp, taken from the reward; 0 needs no reference. */
    klInReward: z.number().min(0).default(0),
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) => {
    const range = { clipLow: options.clipLow, clipHigh: options.clipHigh }
    const algorithm = method('rloo', options, {
      advantage: perGroup((rewards) => leaveOneOut(rewards)),
      // With a divergence in the reward, equal rewards still differ.
      dynamicSampling: options.klInReward === 0,
      loss: options.ratio === 'token' ? dualClipLoss(range) : sequenceRatioLoss(range),
      needs: options.klInReward === 0 ? {} : { reference: 'initial', old: true },
    })
    if (options.klInReward === 0) return algorithm
    return { ...algorithm, refine: (sequences) => leaveOneOutLessKl(sequences, options.klInReward) }
  },
})
