import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { weigh } from '../compose.js'
import { grpo } from '../grpo.js'
import { objective } from '../objective.js'
import type { Algorithm } from '../types.js'
import { clipOptions, dualClipLoss } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import type { TrainSequence } from '../../policy/types.js'

const penalty = z.strictObject({
  maxTokens: z.number().positive(),
  marginTokens: z.number().min(0),
  weight: z.number().optional(),
})

/** Options of handling replies that ran into a limit. */
export const overlongOption = z.union([z.literal('keep'), z.literal('mask'), penalty])

const groupOptions = {
  normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
  /** Added to the standard deviation. */
  epsilon: z.number().min(0).default(1e-6),
  /** Replies cut off: ordinary, silent, or punished softly. */
  overlong: overlongOption.default('keep'),
}

/**
 * Aggregation weights by micro-batch: each run of `microBatch` sequences has the token mean of its own, and the runs count
 * alike. A run without a trainable token is not counted.
 *
 * Source: TRL loss_type "bnpo" under gradient accumulation.
 */
export function microBatchWeights(sequences: readonly TrainSequence[], microBatch: number): TrainSequence[] {
  const runs: (readonly TrainSequence[])[] = []
  for (let at = 0; at < sequences.length; at += microBatch) runs.push(sequences.slice(at, at + microBatch))
  const counted = runs.filter((run) => run.some(({ mask }) => mask.includes(1))).length
  return runs
    .flatMap((run) => weigh(run, 'token-mean'))
    .map((sequence) => ({ ...sequence, weights: sequence.weights.map((weight) => weight / counted || 0) }))
}

const about = { kind: 'method' as const, family: 'policy-gradient' as const, standing: 'source' as const }

export const grpoMethod = objective({
  ...about,
  name: 'grpo',
  summary: 'Group-relative advantages, the clipped loss, and an optional divergence from the initial policy.',
  formula: 'A_i = (R_i - mean_G) / (std_G + epsilon);  l = -min(r A, clip(r) A) + klCoefficient k3',
  reference:
    'DeepSeekMath, arXiv 2402.03300 (sequence-mean-token-mean, klCoefficient 0.04 there); token-mean here as TRL',
  use: 'The default. Several samples a problem. Very easy and very hard groups weigh as much as others.',
  rows: ['A063', 'B096', 'B063', 'B149', 'A087', 'B028', 'B029'],
  options: z.strictObject({
    ...groupOptions,
    ...clipOptions,
    /** Bound of the ratio for negative advantages; null: none. */
    dualClip: z.number().gt(1).nullable().default(null),
    ...klOptions,
    ...aggregationOptions('token-mean'),
  }),
  make: (options): Algorithm => {
    const { dualClip, klEstimator, ...rest } = options
    if (dualClip === null && (klEstimator === 'k1' || klEstimator === 'k2' || klEstimator === 'k3'))
      return grpo({ ...rest, klEstimator })
    return method('grpo', options, {
      advantage: groupAdvantages(options),
      overlong: options.overlong,
      loss: dualClipLoss(
        options.dualClip === null ? { clipLow: options.clipLow, clipHigh: options.clipHigh } : options,
      ),
    })
  },
})

export const drGrpo = objective({
  ...about,
  name: 'dr-grpo',
  summary: 'GRPO without its two biases: no division by the deviation, and a constant length in the mean.',
  formula: 'A_i = R_i - mean_G;  c = 1 / (N fixedLength)',
  reference: 'Dr. GRPO, arXiv 2503.20783 (no KL; the length is the token limit of a reply)',
  use: 'When wrong replies grow long under grpo. Step sizes follow the scale of rewards and the length given.',
  rows: ['B078'],
  options: z.strictObject({
    overlong: groupOptions.overlong,
    ...clipOptions,
    ...klOptions,
    /** L in tokens: the limit of a reply. */
    fixedLength: z.number().positive().default(1024),
  }),
  make: (options) =>
    method(
      'dr-grpo',
      { ...options, aggregation: 'fixed-length' },
      {
        advantage: groupAdvantages({ normalization: 'mean' }),
        overlong: options.overlong,
        loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
      },
    ),
})

export const microBatchGrpo = objective({
  ...about,
  name: 'micro-batch-grpo',
  summary: 'GRPO whose token mean is taken in each micro-batch: what TRL calls loss_type "bnpo".',
  formula: 'c = 1 / (M Ntok_m), M micro-batches of microBatch sequences, Ntok_m tokens in that of the sequence',
  reference: 'TRL GRPOTrainer, loss_type "bnpo"; not the beta normalization of arXiv 2506.02864, which is `bnpo`',
  use: 'To repeat runs of TRL. Weights depend on which sequences happen to share a micro-batch.',
  rows: [],
  options: z.strictObject({
    ...groupOptions,
    ...clipOptions,
    ...klOptions,
    /** Sequences in a micro-batch. */
    microBatch: z.int().positive().default(8),
  }),
  make: (options) => ({
    ...method(
      'micro-batch-grpo',
      { ...options, aggregation: 'token-mean' },
      {
        advantage: groupAdvantages(options),
        overlong: options.overlong,
        loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
      },
    ),
    weigh: (sequences: readonly TrainSequence[]) => microBatchWeights(sequences, options.microBatch),
  }),
})
