import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { FIRST_STEP, weigh } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import type { TrainSequence } from '../../policy/types.js'
import type { Algorithm } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { mix } from './shown.js'

/**
 * The inner edges of `count` buckets of returns: quantiles at 1/count, 2/count, ..., with linear interpolation.
 *
 * @param returns finite; at least one
 * @throws MyriadError 'numeric' on no return, or one that is not finite
 * @example bucketEdges([0, 1, 2, 3, 4], 2) // [2]
 */
export function bucketEdges(returns: readonly number[], count: number): number[] {
  const bad = returns.find((value) => !Number.isFinite(value))
  if (returns.length === 0 || bad !== undefined)
    throw new MyriadError('numeric', `buckets need finite returns, not ${bad ?? 'none at all'}`)
  const sorted = [...returns].sort((a, b) => a - b)
  return Array.from({ length: count - 1 }, (_, i) => {
    const at = ((i + 1) / count) * (sorted.length - 1)
    const below = Math.floor(at)
    const above = Math.min(below + 1, sorted.length - 1)
    return sorted[below] + (at - below) * (sorted[above] - sorted[below])
  })
}

/**
 * The bucket a return falls into, 0 the lowest; at an edge the higher one. Edges that coincide leave buckets empty.
 *
 * @example bucketOf(2, [1, 2]) // 2
 */
export function bucketOf(value: number, edges: readonly number[]): number {
  return edges.filter((edge) => value >= edge).length
}

/**
 * A sequence with a token put in at `position`, which is not learnt.
 *
 * @param instead in the place of this token, where it stands there
 * @example withControl(sequence, 100, 0).tokens // [100, ...sequence.tokens]
 */
export function withControl(sequence: TrainSequence, token: number, position: number, instead?: number): TrainSequence {
  if (instead !== undefined && sequence.tokens[position] === instead)
    return { ...sequence, tokens: sequence.tokens.map((own, t) => (t === position ? token : own)) }
  const into = <A extends Float32Array | Uint8Array>(values: A): A => {
    const next = new (values.constructor as new (length: number) => A)(values.length + 1)
    next.set(values.subarray(0, position))
    next.set(values.subarray(position), position + 1)
    return next
  }
  const { tokens, mask, logprobs, advantages, weights } = sequence
  return {
    ...sequence,
    tokens: [...tokens.slice(0, position), token, ...tokens.slice(position)],
    mask: into(mask),
    logprobs: into(logprobs),
    advantages: into(advantages),
    weights: into(weights),
  }
}

export const returnConditioned = objective({
  kind: 'method',
  name: 'return-conditioned',
  family: 'supervised',
  summary:
    'Likelihood of every sample, given a control token that says how good it was; ask for the best when playing.',
  formula: 'L = -sum_t c_t log p(y_t | k(R), x, y_<t);  k: the bucket of R among the quantiles of the step',
  reference:
    'Decision Transformer, arXiv 2106.01345; Quark, 2205.13636; for reasoning 2403.04642. Ours: buckets of one step, a token put in front',
  standing: 'ours',
  use: 'Learns from failures as from successes. The run plays and evaluates with the best control token in every prompt; whoever uses the model after it must put it there.',
  rows: ['B172', 'B216'],
  options: z.strictObject({
    /** Ids of the control tokens, from the worst bucket to the best. */
    controls: z.array(z.int().min(0)).min(2),
    /** Where the control token is put in. */
    position: z.int().min(0).default(0),
    /** Returns are taken less the mean of their group. */
    relative: z.boolean().default(false),
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: ({ controls, position, relative, aggregation, fixedLength }): Algorithm => {
    const best = controls[controls.length - 1]
    const base = mix({
      name: 'return-conditioned',
      needs: { control: { token: best, position } },
      loss: crossEntropy(),
      weigh: (sequences) => weigh(sequences, aggregation, fixedLength),
      teach: ({ trajectories }) => ({ samples: trajectories.map(() => 1) }),
    })
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const returns = groups.map(({ trajectories }) => {
          const mean = trajectories.reduce((sum, { reward }) => sum + reward / trajectories.length, 0)
          return trajectories.map(({ reward }) => (relative ? reward - mean : reward))
        })
        if (lesson.sequences.length === 0) return lesson
        const edges = bucketEdges(returns.flat(), controls.length)
        const sequences = lesson.sequences.map((sequence, i) => {
          const { group, trajectory } = lesson.origins[i]
          return withControl(sequence, controls[bucketOf(returns[group][trajectory], edges)], position, best)
        })
        // With the token put in they are no trajectories any more: the sampler's logprobs do not speak of them.
        return { ...lesson, sequences, origins: lesson.origins.map(({ group }) => ({ group, trajectory: -1 })) }
      },
    }
  },
})
