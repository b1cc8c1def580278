import { z } from 'zod'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { normalizeGroup } from '../advantages.js'
import { clampedExp, clippedLoss } from '../clipped.js'
import { weigh } from '../compose.js'
import { MyriadError } from '../../core/index.js'
import { entropyBonus } from '../exploration/entropy-bonus.js'
import { objective } from '../objective.js'
import { clippedTerm } from '../policy-gradient/clip.js'
import { meanOf, tokenLoss } from '../policy-gradient/token-loss.js'
import { sumLosses } from '../sum-losses.js'
import type { Group, Shown } from '../types.js'
import { AGGREGATIONS } from '../weights.js'

import { ratioLoss } from './mixture.js'
import { byRole, isRight, mix, thresholdOption } from './shown.js'

/**
 * Advantages of the members of a group with a demonstration among them.
 *
 * @returns those of the trajectories, and of the demonstration
 * @example advantagesWith([0, 1], 1, { normalization: 'mean' }) // { samples: [-2/3, 1/3], demonstration: 1/3 }
 */
export function advantagesWith(
  rewards: readonly number[],
  demonstration: number,
  options: { normalization: 'mean' | 'mean-std'; epsilon?: number },
): { samples: number[]; demonstration: number } {
  const all = normalizeGroup([...rewards, demonstration], options)
  return { samples: all.slice(0, -1), demonstration: all[rewards.length] }
}

const rewardsOf = ({ trajectories }: Group): number[] => trajectories.map(({ reward }) => reward)

/** Advantages of a group, with its demonstration where there is one; a group without anything to tell apart is left out. */
function taught(
  group: Group,
  shown: Shown | null,
  demonstration: number,
  options: { normalization: 'mean' | 'mean-std'; epsilon?: number },
): { samples: number[] | null; demonstration: number | null } {
  const rewards = rewardsOf(group)
  const { samples, demonstration: own } = shown
    ? advantagesWith(rewards, demonstration, options)
    : { samples: normalizeGroup(rewards, options), demonstration: 0 }
  const silent = own === 0 && samples.every((advantage) => advantage === 0)
  return silent ? { samples: null, demonstration: null } : { samples, demonstration: own }
}

/**
 * LUFFY's loss on demonstrated tokens: the probability, as a ratio to a sampler that was sure, shaped so that rare tokens
 * have the largest slope (at p = gamma):
 *
 *     l = -A p / (p + gamma),   slope -A gamma p / (p + gamma)^2
 *
 * Source: arXiv 2504.14945 and its authors' code.
 *
 * @example byRole(ratioLoss(), shapedLoss(0.1))
 */
export function shapedLoss(gamma: number): Loss {
  return tokenLoss('shaped', ({ logprobs, advantages }, t) => {
    const p = clampedExp(logprobs[t])
    const slope = (gamma * p.slope) / (p.value + gamma) ** 2
    return { value: (-advantages[t] * p.value) / (p.value + gamma), slope: -advantages[t] * slope }
  })
}

const about = { kind: 'method' as const, family: 'supervised' as const, standing: 'source' as const }

const demonstrationReward = {
  /** What the demonstration's reward is taken to be. */
  demonstrationReward: z.number().default(1),
}

export const luffy = objective({
  ...about,
  name: 'luffy',
  summary: 'The demonstration is one more member of the group, learnt off policy with a shaped ratio.',
  formula: 'A = R - mean (demonstration included);  shown: -A p / (p + gamma);  sampled: -r A, no clip;  - alpha H',
  reference: "LUFFY, arXiv 2504.14945, and its authors' code",
  use: 'Problems the policy rarely solves, with solutions of a stronger one. As samples succeed, the demonstration fades.',
  rows: [],
  options: z.strictObject({
    ...demonstrationReward,
    gamma: z.number().positive().default(0.1),
    entropyCoefficient: z.number().min(0).default(0.001),
    normalization: z.enum(['mean', 'mean-std']).default('mean'),
    aggregation: z.enum(AGGREGATIONS).default('fixed-length'),
    /** L in tokens: the limit of a reply. */
    fixedLength: z.number().positive().default(1024),
  }),
  make: (options) =>
    mix({
      name: 'luffy',
      needs: { demonstrations: true },
      loss: sumLosses([
        { loss: byRole(ratioLoss(), shapedLoss(options.gamma)) },
        ...(options.entropyCoefficient > 0 ? [{ loss: entropyBonus(1), coefficient: options.entropyCoefficient }] : []),
      ]),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      teach: (group, shown) => taught(group, shown, options.demonstrationReward, options),
    }),
})

/**
 * The reward ViSurf gives the label: its own, unless a sample did as well; then the mean of the samples, so that its
 * advantage is about 0.
 *
 * @example labelReward([0, 1], 1) // 0.5
 */
export function labelReward(rewards: readonly number[], label: number): number {
  return rewards.some((reward) => reward >= label) ? meanOf(rewards) : label
}

export const visurf = objective({
  ...about,
  name: 'visurf',
  summary: 'The label enters the group like a rollout, and steps back once a rollout does as well.',
  formula: 'A = (R - mean) / (std + eps) over G + 1;  R(label) = mean of rollouts where max R >= R(label)',
  reference: 'ViSurf, arXiv 2510.10606, from notes on it. The ratio of the label is to the policy before the update',
  standing: 'second-hand',
  use: 'Short labels. luffy treats demonstrations as foreign; here the policy scores them as its own.',
  rows: ['B073'],
  options: z.strictObject({
    ...demonstrationReward,
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    epsilon: z.number().positive().default(1e-6),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    aggregation: z.enum(AGGREGATIONS).default('sequence-mean-token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: (options) =>
    mix({
      name: 'visurf',
      needs: { demonstrations: true, old: true },
      loss: clippedLoss(options),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      teach: (group, shown) =>
        taught(group, shown, labelReward(rewardsOf(group), options.demonstrationReward), options),
    }),
})

/**
 * SRFT's loss. Of a demonstration with advantage A and coefficient w_sft: -w_sft lp - A p. Of a sample: -w_rl lp where A is
 * positive, lp times |A| where negative. Coefficients are those of `info.coefficients`.
 *
 * @throws MyriadError 'usage' from `evaluate` where a sequence has no coefficient
 * @example mix({ ..., loss: srftLoss(), refine })
 */
export function srftLoss(): Loss {
  const coefficient = (name: string, value: number | undefined): number => {
    if (value === undefined)
      throw new MyriadError('usage', `srft needs the coefficient ${name}; refine the lesson first`)
    return value
  }
  const samples = tokenLoss('srft', ({ logprobs, advantages, sequences, segments }, t) => {
    const weight = advantages[t] > 0 ? coefficient('rl', sequences?.[segments[t]].coefficients?.rl) : 1
    const slope = -weight * advantages[t]
    return { value: slope * logprobs[t], slope }
  })
  const demonstrations = tokenLoss('srft-shown', ({ logprobs, advantages, sequences, segments }, t) => {
    const weight = coefficient('sft', sequences?.[segments[t]].coefficients?.sft)
    const off = clippedTerm(logprobs[t], advantages[t], { clipLow: 0.2, clipHigh: 0.2 })
    return { value: off.value - weight * logprobs[t], slope: off.slope - weight }
  })
  return byRole(samples, demonstrations)
}

/** The mean entropy over trainable tokens of the sequences of a role, in nats; 0 of none. */
function meanEntropy(sequences: readonly TrainSequence[], shown: boolean): number {
  const values = sequences
    .filter(({ info }) => (info?.role === 'demonstration') === shown)
    .flatMap(({ mask, entropy }) => {
      if (!entropy) throw new MyriadError('usage', 'srft weighs by entropy before the update; score the policy first')
      return [...entropy].filter((_, t) => mask[t])
    })
  return meanOf(values)
}

export const srft = objective({
  ...about,
  name: 'srft',
  summary:
    'Likelihood of demonstrations weighted down by entropy, off-policy RL on them, and signed likelihood of samples.',
  formula: 'shown: -(.5 sg e^-H) lp - A p (clipped);  right samples: -(.1 sg e^(sign H)) lp;  wrong samples: +lp',
  reference:
    'SRFT, arXiv 2506.19767, from notes on it; e^+H in the text, e^-H in some notes: option rlExponent. H once a step',
  standing: 'second-hand',
  use: 'One stage instead of SFT then RL. The pull away from wrong samples has no bound: keep clipNorm low.',
  rows: ['B222'],
  options: z.strictObject({
    ...demonstrationReward,
    threshold: thresholdOption,
    sftCoefficient: z.number().min(0).default(0.5),
    rlCoefficient: z.number().min(0).default(0.1),
    /** Sign of H in the weight of right samples. */
    rlExponent: z.union([z.literal(1), z.literal(-1)]).default(1),
    aggregation: z.enum(AGGREGATIONS).default('sequence-mean-token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: (options) =>
    mix({
      name: 'srft',
      needs: { demonstrations: true, old: true },
      loss: srftLoss(),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      refine: (sequences) => {
        const sft = options.sftCoefficient * Math.exp(-meanEntropy(sequences, true))
        const rl = options.rlCoefficient * Math.exp(options.rlExponent * meanEntropy(sequences, false))
        return sequences.map((sequence) => ({
          ...sequence,
          info: { ...sequence.info!, coefficients: { ...sequence.info!.coefficients, sft, rl } },
        }))
      },
      teach: (group, shown) => ({
        samples: group.trajectories.map((trajectory) => (isRight(trajectory, options.threshold) ? 1 : -1)),
        demonstration: shown
          ? advantagesWith(rewardsOf(group), options.demonstrationReward, { normalization: 'mean-std' }).demonstration
          : null,
      }),
    }),
})
