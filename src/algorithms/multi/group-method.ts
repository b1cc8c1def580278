import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { compose, type ComposeOptions } from '../compose.js'
import type { Algorithm } from '../types.js'
import { AGGREGATIONS } from '../weights.js'

/** Options that the group methods of this folder and of credit share; a method may change their defaults. */
export const groupMethodOptions = {
  /** Divide advantages by the group's standard deviation, or only subtract its mean. */
  normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
  /** Added to standard deviations. */
  epsilon: z.number().positive().default(1e-6),
  /** The ratio may fall to 1 - clipLow for negative advantages. */
  clipLow: z.number().min(0).default(0.2),
  /** The ratio may rise to 1 + clipHigh for positive advantages. */
  clipHigh: z.number().min(0).default(0.2),
  /** Weight of the k3 divergence from the initial policy. */
  klCoefficient: z.number().min(0).default(0),
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
}

export type GroupMethodOptions = z.output<z.ZodObject<typeof groupMethodOptions>>

/**
 * GRPO with some of its parts replaced: what is not given is a clipped loss, group advantages and the options' weights.
 *
 * @example groupMethod('mine', options, { shaping: [{ name: 'mine', run: shape }] })
 */
export function groupMethod(
  name: string,
  options: GroupMethodOptions,
  parts: Partial<Omit<ComposeOptions, 'name'>> = {},
): Algorithm {
  const { normalization, epsilon, aggregation, fixedLength, klCoefficient } = options
  return compose({
    loss: clippedLoss(options),
    advantage: groupAdvantages({ normalization, epsilon }),
    aggregation,
    fixedLength,
    ...parts,
    name,
    needs: { ...(klCoefficient !== 0 ? { reference: 'initial' as const } : {}), ...parts.needs },
  })
}
