import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { moments } from '../multi/statistics.js'
import { compose } from '../compose.js'
import { objective, type Selection } from '../objective.js'
import type { AdvantageEstimator } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { MyriadError } from '../../core/index.js'
import { tokenLoss } from '../policy-gradient/token-loss.js'
import { turnSpans } from './turns.js'

/**
 * Length of the common beginning of two token lists.
 *
 * @example commonPrefix([1, 2, 3], [1, 2, 4]) // 2
 */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

/**
 * 0 on turns that a sequence shares with another of its group, from the first turn on, and 1 on what follows the pivot:
 * what both did alike did not make the difference. A turn is shared if it and everything before it are equal, token by
 * token; of two equal sequences all turns are shared.
 */
export const sharedPrefixMask: Selection = (sequences) =>
  sequences.map(({ tokens, mask, info }, i) => {
    const shared = Math.max(
      0,
      ...sequences.flatMap((other, j) =>
        j !== i && info && other.info?.group === info.group ? [commonPrefix(tokens, other.tokens)] : [],
      ),
    )
    const row = new Float32Array(mask.length)
    for (const { start, end } of turnSpans(mask)) row.fill(end <= shared ? 0 : 1, start, end)
    return row
  })

/**
 * Advantages of R^3L: 1 for rewards of at least 1, whatever the group; else s = R - mean, three times as large where it is
 * not negative.
 *
 * @example pivotalAdvantages([1, 0.5, 0]) // [1, 0, -0.5]
 */
export function pivotalAdvantages(rewards: readonly number[], amplification = 3): number[] {
  const { mean } = moments(rewards)
  return rewards.map((reward) => {
    if (reward >= 1) return 1
    const difference = reward - mean
    return difference >= 0 ? amplification * difference : difference
  })
}

/**
 * Online policy mirror descent as R^3L has it: no ratio, no clip; with d = lp - reference lp,
 *
 *     l = -A lp / (1 + tau) + beta d^2 / 2,    d l / d lp = -A / (1 + tau) + beta d
 *
 * Source: arXiv 2601.03715 and its repository.
 */
export function mirrorDescentLoss({ tau = 1, klCoefficient = 0 }: { tau?: number; klCoefficient?: number } = {}): Loss {
  return tokenLoss('mirror-descent', ({ logprobs, referenceLogprobs, advantages }, t) => {
    if (klCoefficient !== 0 && !referenceLogprobs) {
      throw new MyriadError('usage', 'klCoefficient is not 0 but the batch holds no reference logprobs; score it first')
    }
    const d = klCoefficient !== 0 ? logprobs[t] - referenceLogprobs![t] : 0
    return {
      value: (-advantages[t] * logprobs[t]) / (1 + tau) + (klCoefficient * d * d) / 2,
      slope: -advantages[t] / (1 + tau) + klCoefficient * d,
    }
  })
}

const estimator =
  (amplification: number): AdvantageEstimator =>
  (groups) =>
    groups.map(({ trajectories }) => {
      const advantages = pivotalAdvantages(
        trajectories.map(({ reward }) => reward),
        amplification,
      )
      return trajectories.map(({ mask }, i) => Float32Array.from(mask, (sampled) => (sampled ? advantages[i] : 0)))
    })

const about = {
  family: 'credit',
  reference: 'R^3L, arXiv 2601.03715, and its repository',
  standing: 'source',
  rows: ['A075'],
} as const

export const sharedPrefix = objective({
  ...about,
  kind: 'selection',
  name: 'shared-prefix-mask',
  summary: 'Turns that a trajectory shares with a sibling are not learnt, only what follows the pivot.',
  formula: 'm_t <- 0 on turns equal, with all before them, to those of another trajectory of the group',
  reference: `${about.reference}. There the pivot is told by reflection; here it is where siblings part`,
  standing: 'ours',
  use: 'Groups that branch: retries from a turn, trees. Independent rollouts rarely share a whole turn.',
  options: z.strictObject({}),
  make: () => sharedPrefixMask,
})

export const mirrorDescent = objective({
  ...about,
  kind: 'loss',
  name: 'mirror-descent',
  summary: 'A lp without ratio or clip, tempered, with a squared divergence from the reference.',
  formula: 'l = -A lp / (1 + tau) + beta (lp - rlp)^2 / 2',
  use: 'Nearly on-policy data with guided or replayed samples in it.',
  options: z.strictObject({
    tau: z.number().min(0).default(1),
    klCoefficient: z.number().min(0).default(0),
  }),
  make: mirrorDescentLoss,
})

export const r3l = objective({
  ...about,
  kind: 'method',
  name: 'r3l',
  summary: 'Successes weigh 1, failures by the group; shared beginnings are masked; mirror descent without ratios.',
  formula:
    'A = 1 if R >= 1, else 3 s if s >= 0, else s;  l = -A lp / (1 + tau) + beta (lp - rlp)^2 / 2 behind the pivot',
  reference: `${about.reference}. Retries by reflection are the rollouts' affair; the pivot is where siblings part`,
  use: 'Hard tasks with rare successes. Where all succeed it is supervised learning on them.',
  options: z.strictObject({
    tau: mirrorDescent.options.shape.tau,
    klCoefficient: mirrorDescent.options.shape.klCoefficient,
    amplification: z.number().min(0).default(3),
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    fixedLength: z.number().positive().optional(),
  }),
  make: ({ amplification, tau, klCoefficient, ...options }) =>
    compose({
      ...options,
      name: 'r3l',
      advantage: estimator(amplification),
      // Even where all rewards are equal: successes are worth learning.
      dynamicSampling: false,
      selections: [{ name: 'shared-prefix-mask', run: sharedPrefixMask }],
      loss: mirrorDescentLoss({ tau, klCoefficient }),
      needs: klCoefficient !== 0 ? { reference: 'initial' } : {},
    }),
})
