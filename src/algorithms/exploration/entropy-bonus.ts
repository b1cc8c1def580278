import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss } from '../../policy/types.js'
import { clippedLoss } from '../clipped.js'
import { FIRST_STEP } from '../compose.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective, type Shaping } from '../objective.js'
import { requireRange } from '../options.js'
import type { Algorithm, Group } from '../types.js'

/**
 * Entropy of the policy as a term of the loss. With entropy H_t in nats and weight c_t:
 *
 *     L = -alpha sum_t c_t H_t,   dL / dH_t = -alpha c_t
 *
 * Positive coefficients keep the policy random, negative ones sharpen it. Where a sequence's info says
 * `coefficients.entropy`, that takes the place of `alpha`.
 *
 * @throws MyriadError 'usage' where the batch has no entropies
 * @example sumLosses([{ loss: clippedLoss() }, { loss: entropyBonus(0.001) }])
 */
export function entropyBonus(alpha: number): Loss {
  return {
    name: 'entropy-bonus',
    reads: { entropy: true },
    evaluate: ({ logprobs, entropy, weights, segments, sequences }) => {
      if (!entropy) throw new MyriadError('usage', 'the entropy bonus needs the entropy of each token')
      const entropyGradient = weights.map(
        (weight, t) => -(sequences?.[segments[t]]?.coefficients?.entropy ?? alpha) * weight,
      )
      const value = entropyGradient.reduce((sum, slope, t) => sum + slope * entropy[t], 0)
      if (!Number.isFinite(value)) throw new MyriadError('numeric', `the entropy bonus is ${value}`)
      const total = entropy.reduce((sum, h) => sum + h, 0)
      return {
        value,
        gradient: new Float64Array(logprobs.length),
        entropyGradient,
        metrics: { entropy: entropy.length === 0 ? 0 : total / entropy.length },
      }
    },
  }
}

export interface EntropyControl {
  /** In nats: the bonus acts while entropy is at or below it. */
  target: number
  /** By which alpha moves each step. */
  delta: number
  /** Bounds of alpha. */
  low: number
  high: number
}

/**
 * One step of adaptive entropy control: alpha rises by `delta` while entropy is at or below the target, else it falls,
 * within its bounds; and it acts only in the first case.
 *
 * @param entropy mean over tokens, in nats
 * @returns alpha to remember, and the coefficient that acts now
 * @example adaptEntropy(0, 0.1, { target: 0.2, delta: 0.005, low: 0, high: 1 }) // { alpha: 0.005, acting: 0.005 }
 */
export function adaptEntropy(
  alpha: number,
  entropy: number,
  { target, delta, low, high }: EntropyControl,
): { alpha: number; acting: number } {
  const short = entropy <= target
  const next = Math.min(high, Math.max(low, alpha + (short ? delta : -delta)))
  return { alpha: next, acting: short ? next : 0 }
}

/** The mean of -logprob over all sampled tokens: an unbiased estimate of entropy at the temperature of sampling. */
export function sampledEntropy(groups: readonly Group[]): number {
  let [sum, count] = [0, 0]
  for (const { trajectories } of groups)
    for (const { mask, logprobs } of trajectories)
      mask.forEach((sampled, t) => {
        if (!sampled) return
        sum -= logprobs[t]
        count++
      })
  return count === 0 ? 0 : sum / count
}

const STAGE = 'entropy-control'

function entropyControl(options: EntropyControl & { initial: number }): Shaping {
  return (groups, { state }) => {
    const before = (state as { alpha: number } | null)?.alpha ?? options.initial
    const entropy = sampledEntropy(groups)
    const next = adaptEntropy(before, entropy, options)
    return { groups, state: { ...next }, metrics: { entropy, alpha: next.acting } }
  }
}

/** Tells every sequence the coefficient that the control of this step arrived at. */
function withControl(algorithm: Algorithm): Algorithm {
  return {
    ...algorithm,
    learn: (groups, context = FIRST_STEP) => {
      const lesson = algorithm.learn(groups, context)
      const { acting } = (lesson.state as { [STAGE]: { acting: number } })[STAGE]
      const sequences = lesson.sequences.map((sequence) => ({
        ...sequence,
        info: { ...sequence.info!, coefficients: { ...sequence.info!.coefficients, entropy: acting } },
      }))
      return { ...lesson, sequences }
    },
  }
}

const coefficient = z.number().default(0.001)

export const entropyBonusPart = objective({
  kind: 'loss',
  name: 'entropy-bonus',
  family: 'exploration',
  summary: "Rewards the policy's entropy at every token it is trained on.",
  formula: 'L = -alpha sum_t c_t H_t',
  reference: 'arXiv 1602.01783; 1-shot RLVR, arXiv 2504.20571, tunes it',
  standing: 'source',
  use: 'A regularizer beside a policy-gradient loss. Too much of it makes text random: watch the entropy.',
  rows: ['B208'],
  options: z.strictObject({ coefficient }),
  make: (options) => entropyBonus(options.coefficient),
})

export const entropyBonusMethod = objective({
  ...entropyBonusPart,
  kind: 'method',
  name: 'entropy-bonus-grpo',
  options: z.strictObject({ ...groupMethodOptions, coefficient }),
  make: (options) =>
    groupMethod('entropy-bonus-grpo', options, {
      regularizers: [{ loss: entropyBonus(options.coefficient), coefficient: 1 }],
    }),
})

export const adaptiveEntropy = objective({
  kind: 'method',
  name: 'adaptive-entropy-grpo',
  family: 'exploration',
  summary: 'GRPO with an entropy bonus that acts only while entropy is below a target, and grows until it is not.',
  formula:
    'alpha <- clip(alpha +- delta, low, high), + while mean H <= target; L += -alpha 1[mean H <= target] sum c H',
  reference:
    'Skywork-OR1, arXiv 2505.22312, as in TRL; once a step, from sampled tokens (mean of -lp) instead of all logits: ours',
  standing: 'ours',
  use: 'Long runs that would lose their variety. The target is in nats per token: look at the entropy of the first steps.',
  rows: [],
  options: z.strictObject({
    ...groupMethodOptions,
    /** In nats per token. */
    target: z.number().min(0).default(0.2),
    delta: z.number().min(0).default(0.005),
    initial: z.number().default(0),
    low: z.number().default(0),
    high: z.number().default(1),
  }),
  make: (options) => {
    requireRange('low', options.low, 'high', options.high)
    return withControl(
      groupMethod('adaptive-entropy-grpo', options, {
        loss: clippedLoss(options),
        shaping: [{ name: STAGE, run: entropyControl(options) }],
        regularizers: [{ loss: entropyBonus(options.initial), coefficient: 1 }],
      }),
    )
  },
})
