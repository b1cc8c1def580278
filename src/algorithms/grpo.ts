import type { Loss } from '../policy/types.js'
import { groupAdvantages } from './advantages.js'
import { clippedLoss, type ClippedLossOptions } from './clipped.js'
import { compose } from './compose.js'
import type { OverlongHandling } from './overlong.js'
import type { AdvantageEstimator, Algorithm } from './types.js'
import type { Aggregation } from './weights.js'

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
  const { normalization = 'mean-std', epsilon, klCoefficient = 0 } = options
  return compose({
    ...options,
    name: 'grpo',
    loss: options.loss ?? clippedLoss(options),
    advantage: options.estimator ?? groupAdvantages({ normalization, epsilon }),
    needs: klCoefficient !== 0 ? { reference: 'initial' } : {},
  })
}
