import { z } from 'zod'
import { compose, type ComposeOptions } from '../compose.js'
import type { Algorithm } from '../types.js'
import { AGGREGATIONS, type Aggregation } from '../weights.js'
import { klParts, type KlEstimator } from './kl.js'

/** How tokens are averaged, with a method's own default. */
export const aggregationOptions = (aggregation: Aggregation) => ({
  aggregation: z.enum(AGGREGATIONS).default(aggregation),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
})

/** Options that say how tokens are averaged and whether a divergence is added as a loss. */
export interface CommonOptions {
  aggregation: Aggregation
  fixedLength?: number
  klCoefficient?: number
  klEstimator?: KlEstimator
}

/**
 * `compose`, with the aggregation and the divergence of the options; regularizers and needs of `parts` are added to theirs.
 *
 * @example method('gspo', options, { advantage, loss: gspoLoss(options) })
 */
export function method(
  name: string,
  options: CommonOptions,
  parts: Omit<ComposeOptions, 'name' | 'aggregation' | 'fixedLength'>,
): Algorithm {
  const { aggregation, fixedLength, klCoefficient = 0, klEstimator = 'k3' } = options
  const kl = klParts({ klCoefficient, klEstimator })
  return compose({
    aggregation,
    fixedLength,
    ...parts,
    name,
    regularizers: [...kl.regularizers, ...(parts.regularizers ?? [])],
    needs: { ...kl.needs, ...parts.needs },
  })
}
