import { MyriadError } from '../core/index.js'
import type { Loss } from '../policy/types.js'

/**
 * Maximum likelihood: the loss of a token is -A log p, with A the token's advantage (1 for plain supervised learning) and
 * its aggregation weight c in front. The gradient is -c A. With rewards as advantages this is REINFORCE (Williams 1992)
 * on the policy's own samples.
 *
 * @throws MyriadError 'numeric' from `evaluate` where the value is not finite
 * @example policy.update(batch, { loss: crossEntropy(), learningRate: 1e-3 })
 */
export function crossEntropy(): Loss {
  return {
    name: 'cross-entropy',
    compiled: { kind: 'linear' },
    evaluate: ({ logprobs, advantages, weights }) => {
      const gradient = weights.map((weight, t) => -weight * advantages[t])
      const value = gradient.reduce((sum, slope, t) => sum + slope * logprobs[t], 0)
      if (!Number.isFinite(value)) {
        const t = gradient.findIndex((slope, at) => !Number.isFinite(slope * logprobs[at]))
        const where = t < 0 ? 'the sum overflows' : `token ${t}: logprob ${logprobs[t]}, advantage ${advantages[t]}`
        throw new MyriadError('numeric', `cross-entropy is not finite: ${where}`)
      }
      return { value, gradient, metrics: {} }
    },
  }
}
