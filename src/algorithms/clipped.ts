import { MyriadError } from '../core/index.js'
import type { ClippedLossSpec, Loss, LossResult, LossTokens } from '../policy/types.js'

/** Log-ratios are clamped to this before `exp`, with gradient 0 outside: exp(20) is far past any clip range yet finite in float32. */
export const LOG_RATIO_LIMIT = 20

/** The switches of the clipped loss; what is left out has the value in brackets. */
export interface ClippedLossOptions {
  /** The ratio may fall to 1 - clipLow for negative advantages (0.2). */
  clipLow?: number
  /** The ratio may rise to 1 + clipHigh for positive advantages (0.2; DAPO's clip-higher is 0.28). */
  clipHigh?: number
  /** Weight of the divergence from the reference policy (0: no reference is needed). */
  klCoefficient?: number
  /** Estimator of that divergence (k3). */
  klEstimator?: 'k1' | 'k2' | 'k3'
}

/**
 * The clipped policy-gradient loss of PPO and GRPO, with an optional divergence from a reference policy. Per token, with
 * r = exp(logprob - old logprob), advantage A, weight c and d = logprob - reference logprob:
 *
 *     l = -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) + klCoefficient k
 *     k1 = d,  k2 = d^2 / 2,  k3 = exp(-d) + d - 1
 *     d l / d logprob = -r A  (0 where the clip is active)  +  klCoefficient (1 | d | 1 - exp(-d))
 *
 * r and exp(-d) use log-ratios clamped to [-20, 20] and have gradient 0 outside. At the very bound of the clip range the
 * unclipped gradient is used. Sources: arXiv 1707.06347 (clip), 2402.03300 (GRPO), 2503.14476 (two bounds),
 * joschu.net/blog/kl-approx (estimators).
 *
 * @example const loss = clippedLoss({ clipLow: 0.2, clipHigh: 0.28 })
 */
export function clippedLoss(options: ClippedLossOptions = {}): Loss {
  const compiled: ClippedLossSpec = {
    kind: 'clipped',
    clipLow: options.clipLow ?? 0.2,
    clipHigh: options.clipHigh ?? 0.2,
    klCoefficient: options.klCoefficient ?? 0,
    klEstimator: options.klEstimator ?? 'k3',
  }
  return { name: 'clipped', compiled, evaluate: (tokens) => evaluateClipped(tokens, compiled) }
}

function evaluateClipped(tokens: LossTokens, spec: ClippedLossSpec): LossResult {
  const { logprobs, oldLogprobs, referenceLogprobs, advantages, weights } = tokens
  if (spec.klCoefficient !== 0 && !referenceLogprobs && logprobs.length > 0) {
    throw new MyriadError('usage', 'klCoefficient is not 0 but the batch holds no reference logprobs; score it first')
  }
  const count = logprobs.length
  const gradient = new Float64Array(count)
  let [value, clipped, ratios, divergence] = [0, 0, 0, 0]
  for (let t = 0; t < count; t++) {
    const advantage = advantages[t]
    const ratio = clampedExp(logprobs[t] - oldLogprobs[t])
    const bounded = Math.min(Math.max(ratio.value, 1 - spec.clipLow), 1 + spec.clipHigh)
    const isClipped =
      (advantage > 0 && ratio.value > 1 + spec.clipHigh) || (advantage < 0 && ratio.value < 1 - spec.clipLow)
    let loss = -Math.min(ratio.value * advantage, bounded * advantage)
    let slope = isClipped ? 0 : -ratio.slope * advantage
    if (referenceLogprobs) {
      const k = estimate(logprobs[t] - referenceLogprobs[t], spec.klEstimator)
      divergence += k.value
      if (spec.klCoefficient !== 0) {
        loss += spec.klCoefficient * k.value
        slope += spec.klCoefficient * k.slope
      }
    }
    value += weights[t] * loss
    gradient[t] = weights[t] * slope
    ratios += ratio.value
    if (isClipped) clipped++
    if (!Number.isFinite(gradient[t])) throw notFinite(tokens, t)
  }
  if (!Number.isFinite(value)) throw notFinite(tokens, -1)
  const mean = (sum: number): number => (count === 0 ? 0 : sum / count)
  const metrics: Record<string, number> = { clipFraction: mean(clipped), ratio: mean(ratios) }
  if (referenceLogprobs) metrics.kl = mean(divergence)
  return { value, gradient, metrics }
}

/** exp of a log-ratio clamped to +-LOG_RATIO_LIMIT, and its derivative: 0 outside. */
export function clampedExp(x: number): { value: number; slope: number } {
  if (x > LOG_RATIO_LIMIT) return { value: Math.exp(LOG_RATIO_LIMIT), slope: 0 }
  if (x < -LOG_RATIO_LIMIT) return { value: Math.exp(-LOG_RATIO_LIMIT), slope: 0 }
  const value = Math.exp(x)
  return { value, slope: value }
}

function estimate(d: number, estimator: ClippedLossSpec['klEstimator']): { value: number; slope: number } {
  if (estimator === 'k1') return { value: d, slope: 1 }
  if (estimator === 'k2') return { value: (d * d) / 2, slope: d }
  const inverse = clampedExp(-d)
  return { value: inverse.value + d - 1, slope: 1 - inverse.slope }
}

function notFinite(tokens: LossTokens, t: number): MyriadError {
  const where =
    t < 0
      ? 'the sum overflows'
      : `token ${t} of sequence ${tokens.segments[t]}: logprob ${tokens.logprobs[t]}, ` +
        `old ${tokens.oldLogprobs[t]}, reference ${tokens.referenceLogprobs?.[t] ?? 'none'}, ` +
        `advantage ${tokens.advantages[t]}, weight ${tokens.weights[t]}`
  return new MyriadError('numeric', `clipped loss is not finite: ${where}`)
}
