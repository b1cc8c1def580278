import type { Loss } from '../policy/types.js'

/**
 * Maximum likelihood, the loss of pretraining and of learning from demonstrations: minus the log-probability of each
 * token, summed with the tokens' weights. Advantages and old logprobs are not looked at.
 *
 *     l = -logprob,   d l / d logprob = -1
 *
 * @example await policy.update(batch, { loss: crossEntropy(), learningRate: 1e-3 })
 */
export function crossEntropy(): Loss {
  return {
    name: 'cross-entropy',
    evaluate: ({ logprobs, weights }) => ({
      value: logprobs.reduce((sum, logprob, t) => sum - weights[t] * logprob, 0),
      gradient: weights.map((weight) => -weight),
      metrics: {},
    }),
  }
}
