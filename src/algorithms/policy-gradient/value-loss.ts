import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss } from '../../policy/types.js'
import { objective } from '../objective.js'

/**
 * Squared error of the value head, clipped about its prediction before the update:
 *
 *     Vc = Vold + clip(V - Vold, -range, range);   l = max((V - Ret)^2, (Vc - Ret)^2) / 2
 *     d l / d V = V - Ret, or 0 where Vc was chosen and is clipped
 *
 * A range of null does not clip. Sources: PPO, arXiv 1707.06347 (code); verl compute_value_loss.
 *
 * @throws MyriadError 'usage' from `evaluate` without values, or without old values where it clips
 * @example compose({ ..., regularizers: [{ loss: clippedValueLoss(0.2), coefficient: 0.1 }], needs: { values: true } })
 */
export function clippedValueLoss(range: number | null): Loss {
  return {
    name: 'value',
    reads: { values: true },
    evaluate: ({ values, oldValues, returns, weights, logprobs }) => {
      const gradient = new Float64Array(logprobs.length)
      const valueGradient = new Float64Array(logprobs.length)
      if (logprobs.length === 0)
        return { value: 0, gradient, valueGradient, metrics: { valueError: 0, valueClipFraction: 0 } }
      if (!values || !returns || (range !== null && !oldValues))
        throw new MyriadError('usage', 'the value loss needs values, those before the update, and returns')
      let [value, clipped, error] = [0, 0, 0]
      values.forEach((predicted, t) => {
        const residual = predicted - returns[t]
        let loss = residual * residual
        let slope = residual
        if (range !== null && Math.abs(predicted - oldValues![t]) > range) {
          const held = oldValues![t] + range * Math.sign(predicted - oldValues![t]) - returns[t]
          if (held * held > loss) [loss, slope, clipped] = [held * held, 0, clipped + 1]
        }
        value += (weights[t] * loss) / 2
        valueGradient[t] = weights[t] * slope
        error += (residual * residual) / values.length
      })
      if (!Number.isFinite(value)) throw new MyriadError('numeric', 'the value loss is not finite')
      const count = Math.max(1, values.length)
      return { value, gradient, valueGradient, metrics: { valueError: error, valueClipFraction: clipped / count } }
    },
  }
}

/** The weighted mean entropy of the policy, sum_t c_t H_t; with a negative coefficient it is a bonus. */
export function weightedEntropy(): Loss {
  return {
    name: 'entropy',
    reads: { entropy: true },
    evaluate: ({ entropy, weights, logprobs }) => {
      if (!entropy) throw new MyriadError('usage', 'an entropy bonus needs the entropy of the policy')
      const value = entropy.reduce((sum, nats, t) => sum + weights[t] * nats, 0)
      return {
        value,
        gradient: new Float64Array(logprobs.length),
        entropyGradient: Float64Array.from(weights),
        metrics: {},
      }
    },
  }
}

export const clippedValue = objective({
  kind: 'loss',
  name: 'clipped-value',
  family: 'policy-gradient',
  summary: 'Squared error of the value head, clipped about its last prediction.',
  formula: 'l = max((V - Ret)^2, (Vold + clip(V - Vold, -range, range) - Ret)^2) / 2',
  reference: 'PPO, arXiv 1707.06347; verl compute_value_loss',
  standing: 'source',
  use: 'As a regularizer of a method with a value head that sets returns.',
  rows: [],
  needs: { values: true },
  options: z.strictObject({ range: z.number().min(0).nullable().default(0.2) }),
  make: ({ range }) => clippedValueLoss(range),
})
