/** What replicas are sent to train on: sequences with the arrays that a compiled loss reads, by the names it reads them by. */
import { MyriadError } from '../../core/index.js'
import { alternativesOf, spread, teachesMore } from '../loss-tokens.js'
import type { CompiledLoss, Loss, LossResult, TrainSequence } from '../types.js'
import type { PackItem } from './packing.js'

/**
 * The loss of an objective that was differentiated outside: sums of fixed slopes times logprobs and, where marked, times
 * entropies, values of the head, and logprobs of alternatives.
 */
export interface WeightedLossSpec {
  kind: 'weighted'
  entropy: boolean
  values: boolean
  alternatives: boolean
}

export type ReplicaLoss = CompiledLoss | WeightedLossSpec

/** A sequence with everything the compiled loss reads. */
export interface ReplicaSequence extends PackItem {
  /** By name: [tokens]. */
  reads: Record<string, Float32Array>
  /** [tokens * count]; slopes are 0 where ids are -1. */
  alternatives?: { count: number; ids: Int32Array; slopes: Float32Array }
}

export interface ReplicaLesson {
  loss: ReplicaLoss
  sequences: ReplicaSequence[]
}

/** The arrays a loss reads, one number a token. */
export function arraysOf(loss: ReplicaLoss): string[] {
  if (loss.kind === 'linear') return ['weights', 'advantages']
  if (loss.kind === 'clipped')
    return ['weights', 'advantages', 'oldLogprobs', ...(loss.klCoefficient === 0 ? [] : ['referenceLogprobs'])]
  return ['slopes', ...(loss.entropy ? ['entropySlopes'] : []), ...(loss.values ? ['valueSlopes'] : [])]
}

/** A batch for an objective that is compiled whole. */
export function compiledLesson(batch: readonly TrainSequence[], loss: CompiledLoss): ReplicaLesson {
  const sequences = batch.map((sequence) => {
    const { tokens, mask, weights, advantages, logprobs, referenceLogprobs } = sequence
    const all = { weights, advantages, oldLogprobs: sequence.oldLogprobs ?? logprobs, referenceLogprobs }
    const reads: Record<string, Float32Array> = {}
    for (const name of arraysOf(loss) as (keyof typeof all)[]) {
      const array = all[name]
      if (!array)
        throw new MyriadError(
          'usage',
          'a KL term needs referenceLogprobs on every sequence of the batch; score them first',
        )
      reads[name] = array
    }
    return { tokens, mask, reads }
  })
  return { loss, sequences }
}

/** A batch for the derivatives that an objective answered. */
export function weightedLesson(batch: readonly TrainSequence[], result: LossResult, loss: Loss): ReplicaLesson {
  const slopes = spread(batch, result.gradient, loss)
  if (!teachesMore(result))
    // The linear loss of weight -1 and advantage g has the gradient g; its program is there already.
    return {
      loss: { kind: 'linear' },
      sequences: batch.map(({ tokens, mask }, i) => ({
        tokens,
        mask,
        reads: { weights: new Float32Array(tokens.length).fill(-1), advantages: slopes[i] },
      })),
    }
  const optional = (gradient: Float64Array | undefined, width = 1): Float32Array[] | undefined =>
    gradient && spread(batch, gradient, loss, width)
  const entropySlopes = optional(result.entropyGradient)
  const valueSlopes = optional(result.valueGradient)
  if (result.alternativesGradient && !loss.reads?.alternatives)
    throw new MyriadError(
      'usage',
      `loss "${loss.name}" teaches alternatives that it does not read: say so in its reads`,
    )
  const count = result.alternativesGradient ? alternativesOf(batch, loss) : 1
  const alternativeSlopes = optional(result.alternativesGradient, count)
  return {
    loss: {
      kind: 'weighted',
      entropy: entropySlopes !== undefined,
      values: valueSlopes !== undefined,
      alternatives: alternativeSlopes !== undefined,
    },
    sequences: batch.map(({ tokens, mask, alternatives }, i) => ({
      tokens,
      mask,
      reads: {
        slopes: slopes[i],
        ...(entropySlopes && { entropySlopes: entropySlopes[i] }),
        ...(valueSlopes && { valueSlopes: valueSlopes[i] }),
      },
      ...(alternativeSlopes &&
        alternatives && {
          alternatives: {
            count,
            ids: alternatives.ids,
            slopes: alternativeSlopes[i].map((slope, at) => (alternatives.ids[at] < 0 ? 0 : slope)),
          },
        }),
    })),
  }
}
