import type { TrainSequence } from '../policy/types.js'

export interface Mismatch {
  /** With the logprobs of the policy that is trained in place of the sampler's. */
  sequences: TrainSequence[]
  /** Importance weight of each token, 1 where it was not sampled: [sequence][tokens] */
  weights: Float32Array[]
  /** `samplerKl`: mean of log p_sampler - log p over sampled tokens. `samplerWeight`: mean importance weight. */
  metrics: { samplerKl: number; samplerWeight: number }
}

/**
 * What takes out that a sampler with rounded weights is another distribution p_s than the one p that is trained: the
 * probability ratio of the loss is measured from p, and each token's advantage is to be multiplied by min(p / p_s, cap), an
 * importance weight that is cut off so that single tokens cannot rule a step (truncated importance sampling: Ionides 2008;
 * for language models Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training").
 *
 * @param logprobs of the policy that is trained: [sequence][tokens]
 * @param sampled which sequences the policy sampled; others are left alone
 */
export function measureMismatch(
  sequences: readonly TrainSequence[],
  logprobs: readonly Float32Array[],
  options: { cap: number; sampled: readonly boolean[] },
): Mismatch {
  let [count, divergence, sum] = [0, 0, 0]
  const weights = sequences.map(({ mask, logprobs: sampler }, i) =>
    Float32Array.from(mask, (isSampled, t) => {
      if (!isSampled || !options.sampled[i]) return 1
      const difference = logprobs[i][t] - sampler[t]
      const weight = Math.min(Math.exp(difference), options.cap)
      count++
      divergence -= difference
      sum += weight
      return weight
    }),
  )
  const mean = (total: number): number => (count === 0 ? 0 : total / count)
  return {
    sequences: sequences.map((sequence, i) =>
      options.sampled[i] ? { ...sequence, logprobs: logprobs[i] } : { ...sequence },
    ),
    weights,
    metrics: { samplerKl: mean(divergence), samplerWeight: mean(sum) },
  }
}

/** Sequences with their advantages times the weights. */
export function correctMismatch(
  sequences: readonly TrainSequence[],
  weights: readonly Float32Array[],
): TrainSequence[] {
  return sequences.map((sequence, i) => ({
    ...sequence,
    advantages: sequence.advantages.map((advantage, t) => advantage * weights[i][t]),
  }))
}
