import type { Loss, TrainSequence } from '../policy/types.js'
import { groupAdvantages, hasVariance } from './advantages.js'
import { clippedLoss, type ClippedLossOptions } from './clipped.js'
import { handleOverlong, type OverlongHandling } from './overlong.js'
import type { AdvantageEstimator, Group } from './types.js'
import { tokenWeights, type Aggregation } from './weights.js'

/** What a step teaches, before aggregation weights. */
export interface Lesson {
  /** Sequences to train on, those of one group next to each other. Weights are still 0. */
  sequences: TrainSequence[]
  /** For each sequence: the index of its group and of its trajectory there. */
  origins: { group: number; trajectory: number }[]
  /** Groups that were left out because their rewards are all equal (or there is only one). */
  zeroVarianceGroups: number
  /** Advantage of every trajectory, for display; 0 in groups left out: [group][trajectory][tokens] */
  advantages: Float32Array[][]
}

/** A learning algorithm: what to learn from the groups of a step. Pure: the same groups give the same lesson. */
export interface Algorithm {
  name: string
  loss: Loss
  /** Whether sequences need `referenceLogprobs`. */
  needsReference: boolean
  learn(groups: readonly Group[]): Lesson
  /** The sequences of one optimizer batch, with aggregation weights. */
  weigh(sequences: readonly TrainSequence[]): TrainSequence[]
}

export interface GrpoOptions extends ClippedLossOptions {
  /** Divide advantages by the group's standard deviation? ('mean-std') */
  normalization?: 'mean' | 'mean-std'
  /** Added to the standard deviation (1e-6). */
  epsilon?: number
  /** ('token-mean') */
  aggregation?: Aggregation
  /** L of 'fixed-length', in tokens. */
  fixedLength?: number
  /** ('keep') */
  overlong?: OverlongHandling
  /** Another objective in place of the clipped one. */
  loss?: Loss
  /** Another advantage estimator in place of the group-relative one. */
  estimator?: AdvantageEstimator
}

/**
 * Group-relative policy optimization and its relatives, composed from parts: overlong handling, dropping of groups
 * without variance (they contribute nothing at all, the KL term included), advantages, weights, clipped loss.
 *
 * - GRPO (arXiv 2402.03300): `{ normalization: 'mean-std', aggregation: 'sequence-mean-token-mean', klCoefficient: 0.04 }`
 * - Dr. GRPO (2503.20783): `{ normalization: 'mean', aggregation: 'fixed-length', fixedLength }`
 * - DAPO (2503.14476): `{ aggregation: 'token-mean', clipHigh: 0.28, overlong: 'mask' }`
 *
 * @example const algorithm = grpo({ normalization: 'mean', klCoefficient: 0.01 })
 */
export function grpo(options: GrpoOptions = {}): Algorithm {
  const loss = options.loss ?? clippedLoss(options)
  const estimate =
    options.estimator ??
    groupAdvantages({ normalization: options.normalization ?? 'mean-std', epsilon: options.epsilon })
  const { aggregation = 'token-mean', overlong = 'keep' } = options
  return {
    name: 'grpo',
    loss,
    needsReference: (options.klCoefficient ?? 0) !== 0,
    learn: (groups) => learn(handleOverlong(groups, overlong), estimate),
    weigh: (sequences) => {
      const weights = tokenWeights(
        sequences.map((sequence) => sequence.mask),
        aggregation,
        options.fixedLength,
      )
      return sequences.map((sequence, i) => ({ ...sequence, weights: weights[i] }))
    },
  }
}

function learn(groups: readonly Group[], estimate: AdvantageEstimator): Lesson {
  const kept = groups.flatMap((group, index) => (hasVariance(group) ? [index] : []))
  const estimates = estimate(kept.map((index) => groups[index]))
  const advantages: Float32Array[][] = groups.map((group) =>
    group.trajectories.map(({ tokens }) => new Float32Array(tokens.length)),
  )
  const sequences: TrainSequence[] = []
  const origins: Lesson['origins'] = []
  kept.forEach((index, k) => {
    advantages[index] = estimates[k]
    groups[index].trajectories.forEach((trajectory, i) => {
      if (!trajectory.mask.includes(1)) return
      const { tokens, mask, logprobs } = trajectory
      sequences.push({
        tokens,
        mask,
        logprobs,
        advantages: estimates[k][i],
        weights: new Float32Array(tokens.length),
      })
      origins.push({ group: index, trajectory: i })
    })
  })
  return { sequences, origins, zeroVarianceGroups: groups.length - kept.length, advantages }
}
