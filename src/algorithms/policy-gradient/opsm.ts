import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import { clipOptions, clippedTerm, type ClipRange } from './clip.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { spansOf, tokenLoss } from './token-loss.js'

/**
 * Off-policy sequence masking: the clipped loss without the sequences of negative advantage that the policy has left,
 * mean_t (blp - lp) > threshold, with lp of the policy as it is. The mask is not differentiated.
 *
 * Source: DeepSeek-V3.2, arXiv 2512.02556; TRL off_policy_mask_threshold.
 *
 * @example const loss = offPolicyMaskedLoss({ clipLow: 0.2, clipHigh: 0.2, threshold: 0.5 })
 */
export function offPolicyMaskedLoss(options: ClipRange & { threshold: number }): Loss {
  return {
    name: 'off-policy-masked',
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, advantages } = tokens
      const base = tokens.behaviourLogprobs ?? oldLogprobs
      const left = new Uint8Array(logprobs.length)
      const spans = spansOf(tokens)
      for (const { start, end, length } of spans) {
        let sum = 0
        for (let t = start; t < end; t++) sum += base[t] - logprobs[t]
        for (let t = start; t < end; t++) left[t] = advantages[t] < 0 && sum / length > options.threshold ? 1 : 0
      }
      const result = tokenLoss('off-policy-masked', (_, t) => {
        if (left[t]) return { value: 0, slope: 0, clipped: false, ratio: 1 }
        return clippedTerm(logprobs[t] - oldLogprobs[t], advantages[t], options)
      }).evaluate(tokens)
      const masked = spans.filter(({ start, end }) => left.subarray(start, end).includes(1)).length
      result.metrics.maskedSequences = spans.length === 0 ? 0 : masked / spans.length
      return result
    },
  }
}

const threshold = {
  /** Largest mean of blp - lp, in nats a token, of a sequence with negative advantage. */
  threshold: z.number().default(0.5),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'l = M clipped, M = 0 for a sequence with A < 0 and mean_t (blp - lp) > threshold',
  reference: 'DeepSeek-V3.2, arXiv 2512.02556; TRL off_policy_mask_threshold',
}

export const opsmPart = objective({
  ...about,
  kind: 'loss',
  name: 'off-policy-masked',
  summary: 'The clipped loss without bad sequences that the policy has already left.',
  use: 'Many updates a batch: pushing down what is no longer said only does harm.',
  options: z.strictObject({ ...clipOptions, ...threshold }),
  make: offPolicyMaskedLoss,
})

export const opsm = objective({
  ...about,
  kind: 'method',
  name: 'opsm',
  summary: 'GRPO without bad sequences that the policy has already left.',
  use: 'Many updates a batch, or stale samples.',
  options: z.strictObject({
    ...groupOptions,
    ...clipOptions,
    ...threshold,
    ...klOptions,
    klEstimator: klOptions.klEstimator.default('unbiased'),
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    method('opsm', options, { advantage: groupAdvantages(options), loss: offPolicyMaskedLoss(options) }),
})
