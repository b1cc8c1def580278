import type { Policy, TrainSequence } from '../policy/types.js'

export interface Corrected {
  sequences: TrainSequence[]
  /** `samplerKl`: mean of log p_sampler - log p over sampled tokens. `samplerWeight`: mean importance weight. */
  metrics: { samplerKl: number; samplerWeight: number }
}

/**
 * Takes out that a sampler with rounded weights is another distribution p_s than the one p that is trained: the probability
 * ratio of the loss is measured from p, and each token's advantage is multiplied by min(p / p_s, cap), an importance weight
 * that is cut off so that single tokens cannot rule a step (truncated importance sampling: Ionides 2008; for language models
 * Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training").
 */
export async function correctMismatch(
  policy: Policy,
  sequences: readonly TrainSequence[],
  options: { cap: number; temperature: number },
): Promise<Corrected> {
  const scores = await policy.score(
    sequences.map(({ tokens }) => tokens),
    { temperature: options.temperature, masks: sequences.map(({ mask }) => mask) },
  )
  let [count, divergence, weights] = [0, 0, 0]
  const corrected = sequences.map((sequence, i) => {
    const advantages = sequence.advantages.slice()
    const { logprobs } = scores[i]
    sequence.mask.forEach((sampled, t) => {
      if (!sampled) return
      const difference = logprobs[t] - sequence.logprobs[t]
      const weight = Math.min(Math.exp(difference), options.cap)
      advantages[t] *= weight
      count++
      divergence -= difference
      weights += weight
    })
    return { ...sequence, advantages, logprobs }
  })
  const mean = (sum: number): number => (count === 0 ? 0 : sum / count)
  return { sequences: corrected, metrics: { samplerKl: mean(divergence), samplerWeight: mean(weights) } }
}
