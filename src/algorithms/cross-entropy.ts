import type { Loss } from '../policy/types.js'

/**
 * Maximum likelihood: the loss of a token is -A log p, with A the token's advantage (1 for plain supervised learning) and
 * its aggregation weight c in front. The gradient is -c A. With rewards as advantages this is REINFORCE (Williams 1992)
 * on the policy's own samples.
 *
 * @example policy.update(batch, { loss: crossEntropy(), learningRate: 1e-3 })
 */
export function crossEntropy(): Loss {
  return {
    name: 'cross-entropy',
    compiled: { kind: 'linear' },
    evaluate: ({ logprobs, advantages, weights }) => {
      const gradient = new Float64Array(logprobs.length)
      let value = 0
      for (let t = 0; t < logprobs.length; t++) {
        gradient[t] = -weights[t] * advantages[t]
        value += gradient[t] * logprobs[t]
      }
      return { value, gradient, metrics: {} }
    },
  }
}
