import { z } from 'zod'
import { createRandom, deriveSeed, MyriadError, type Random } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { hasVariance, normalizeGroup } from '../advantages.js'
import { FIRST_STEP, sequenceOf, weigh } from '../compose.js'
import { objective } from '../objective.js'
import { dualClipLoss } from '../policy-gradient/clip.js'
import type { Algorithm, LearnContext } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { mix } from './shown.js'

export interface PrefixSchedule {
  /** Largest share of a demonstration that is a prefix; the lower end starts here too. */
  high: number
  /** The lower end after `decaySteps`. */
  low: number
  decaySteps: number
}

/**
 * How many tokens of a demonstration are the prefix: floor(l length), l ~ U(low_t, high), the lower end falling from `high`
 * to `low` by a cosine.
 *
 * Source: Prefix-RFT, arXiv 2507.01679, and its authors' code.
 *
 * @param length tokens of the solver in the demonstration
 * @param step from 1
 * @example prefixLength(20, { high: 0.95, low: 0.05, decaySteps: 100 }, 1, createRandom(1)) // 19
 */
export function prefixLength(
  length: number,
  { high, low, decaySteps }: PrefixSchedule,
  step: number,
  random: Random,
): number {
  const u = decaySteps === 0 ? 1 : Math.min(1, Math.max(0, step - 1) / decaySteps)
  const lower = low + ((high - low) * (1 + Math.cos(Math.PI * u))) / 2
  return Math.floor((lower + (high - lower) * random.uniform()) * length)
}

/**
 * Advantages of a group of free rollouts and of rollouts that go on from one prefix: free ones against each other;
 * continuations against each other (one alone has its reward, centred on nothing); the prefix's own tokens by how much
 * better than the free ones its rollouts did, shared among them.
 *
 * @returns free, continuations, and of the prefix tokens of each continuation
 * @example prefixAdvantages([0, 1], [1], { normalization: 'mean' }) // { free: [-.5, .5], continuations: [1], prefix: [.5] }
 */
export function prefixAdvantages(
  free: readonly number[],
  continued: readonly number[],
  options: { normalization: 'mean' | 'mean-std'; epsilon?: number },
): { free: number[]; continuations: number[]; prefix: number[] } {
  const mean = free.reduce((sum, reward) => sum + reward / free.length, 0)
  return {
    free: normalizeGroup(free, options),
    continuations: continued.length === 1 ? [...continued] : normalizeGroup(continued, options),
    prefix: continued.map((reward) => (reward - mean) / continued.length),
  }
}

/**
 * A mask of the trainable tokens with the highest entropy: `share` of them, rounded up.
 *
 * @example mostUncertain(Uint8Array.of(0, 1, 1), [0, 2, 1], 0.5) // 0 1 0
 */
export function mostUncertain(mask: Uint8Array, entropy: ArrayLike<number>, share: number): Uint8Array {
  const places = [...mask.keys()].filter((t) => mask[t])
  places.sort((a, b) => entropy[b] - entropy[a] || a - b)
  const chosen = new Set(places.slice(0, Math.ceil(share * places.length)))
  return mask.map((_, t) => (chosen.has(t) ? 1 : 0))
}

export const prefixRft = objective({
  kind: 'method',
  name: 'prefix-rft',
  family: 'supervised',
  summary:
    'RL on rollouts, on ones that go on from a prefix of the demonstration, and on the uncertain tokens of that prefix, which shortens as training goes on.',
  formula:
    'prefix of floor(l |y*|) tokens, l ~ U(low_t, high);  A_prefix = R - mean of rollouts;  top entropyShare of its tokens',
  reference:
    "Prefix-RFT, arXiv 2507.01679, and its authors' code. Ours: prefix and continuation are two sequences; without continuations (0, or all dropped) the prefix has the demonstration's reward",
  standing: 'source',
  use: 'Problems too hard to be solved from the start, whose solutions the task can show.',
  rows: ['B150'],
  options: z.strictObject({
    /** Episodes of each problem that go on from the prefix. */
    continuations: z.int().min(0).default(1),
    /** What the reward of a prefix that none goes on from is taken to be. */
    demonstrationReward: z.number().default(1),
    high: z.number().min(0).max(1).default(0.95),
    low: z.number().min(0).max(1).default(0.05),
    decaySteps: z.int().min(0).default(100),
    /** Share of prefix tokens, most uncertain first, that is learnt. */
    entropyShare: z.number().min(0).max(1).default(0.2),
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    epsilon: z.number().positive().default(1e-6),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    dualClip: z.number().gt(1).default(3),
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: (options): Algorithm => {
    const { continuations } = options
    const lengthOf = (length: number, { seed, step }: LearnContext, group: number): number => {
      const random = createRandom(deriveSeed(seed, 'prefix-rft', step, group))
      return Math.min(prefixLength(length, options, step, random), length - 1)
    }
    const base = mix({
      name: 'prefix-rft',
      needs: { demonstrations: true, old: true, ...(continuations > 0 && { continuations }) },
      loss: dualClipLoss(options),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      refine: (sequences) => sequences.map((sequence) => uncertain(sequence, options.entropyShare)),
      teach: (group, shown, _, g) => {
        const rewards = group.trajectories.map(({ reward }) => reward)
        const played = group.continuations ?? []
        const reached = played.length > 0 ? played.map(({ reward }) => reward) : [options.demonstrationReward]
        const advantages = prefixAdvantages(rewards, reached, options)
        // The prefix is the same in all of them.
        const prefix = advantages.prefix.reduce((sum, advantage) => sum + advantage, 0)
        return {
          samples: hasVariance(group) ? advantages.free : null,
          demonstration: shown && prefix !== 0 ? prefix : null,
          further: played.flatMap((trajectory, i) => {
            const advantage = advantages.continuations[i]
            if (advantage === 0) return []
            return [
              sequenceOf(
                trajectory,
                g,
                Float32Array.from(trajectory.mask, (own) => (own ? advantage : 0)),
              ),
            ]
          }),
        }
      },
    })
    return {
      ...base,
      prefixLength: lengthOf,
      learn: (groups, context = FIRST_STEP) => {
        const demonstrations = context.demonstrations?.map((shown, g) => {
          if (!shown) return null
          const places = [...shown.mask.keys()].filter((t) => shown.mask[t])
          const kept = new Set(places.slice(0, lengthOf(places.length, context, g)))
          return { tokens: shown.tokens, mask: shown.mask.map((_, t) => (kept.has(t) ? 1 : 0)) }
        })
        return base.learn(groups, { ...context, demonstrations })
      },
    }
  },
})

function uncertain(sequence: TrainSequence, share: number): TrainSequence {
  if (sequence.info?.role !== 'demonstration') return sequence
  if (!sequence.entropy)
    throw new MyriadError('usage', 'prefix-rft chooses tokens by entropy before the update; score the policy first')
  return { ...sequence, factors: Float32Array.from(mostUncertain(sequence.mask, sequence.entropy, share)) }
}
