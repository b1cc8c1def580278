import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { moments, reward } from '../multi/statistics.js'
import { objective, type Selection, type Shaping } from '../objective.js'
import { sampledTokens } from '../overlong.js'
import { truncatedImportance } from '../policy-gradient/importance.js'
import type { Algorithm } from '../types.js'
import { turnSpans } from './turns.js'

/**
 * Quantile with linear interpolation between order statistics (as numpy and torch have it).
 *
 * @param q in [0, 1]
 * @example quantile([4, 1, 3], 0.5) // 3
 */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new MyriadError('usage', 'a quantile of no values')
  const sorted = values.toSorted((a, b) => a - b)
  const place = q * (sorted.length - 1)
  const low = Math.floor(place)
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low])
}

function entropyOf(sequence: TrainSequence): Float32Array {
  if (!sequence.entropy)
    throw new MyriadError('usage', 'this selection needs the entropy of every token; ask for `old`')
  return sequence.entropy
}

/**
 * 1 on the share `fraction` of sampled tokens with the highest entropy over all sequences, 0 on the others; ties with the
 * threshold are kept. Source: arXiv 2506.01939.
 *
 * @example selections: [{ name: 'high-entropy-tokens', run: highEntropyTokens(0.2) }]
 */
export function highEntropyTokens(fraction: number): Selection {
  return (sequences) => {
    const entropies = sequences.flatMap((sequence) => [...entropyOf(sequence)].filter((_, t) => sequence.mask[t]))
    const threshold = entropies.length > 0 ? quantile(entropies, 1 - fraction) : 0
    return sequences.map((sequence) =>
      entropyOf(sequence).map((entropy, t) => (sequence.mask[t] && entropy >= threshold ? 1 : 0)),
    )
  }
}

/** Mean entropy of the tokens of each turn: [turns]. */
export function turnEntropies(mask: Uint8Array, entropy: Float32Array): number[] {
  return turnSpans(mask).map(({ start, end }) => {
    let sum = 0
    for (let t = start; t < end; t++) sum += entropy[t]
    return sum / (end - start)
  })
}

/** 1 on turns whose mean entropy is at least the quantile `below` of all turns of the group, else 0. */
export function highEntropyTurns(below: number): Selection {
  return (sequences) => {
    const entropies = sequences.map((sequence) => turnEntropies(sequence.mask, entropyOf(sequence)))
    const groups = new Map<number, number[]>()
    sequences.forEach(({ info }, i) => {
      const group = info?.group ?? -1
      groups.set(group, [...(groups.get(group) ?? []), ...entropies[i]])
    })
    return sequences.map(({ mask, info }, i) => {
      const own = groups.get(info?.group ?? -1)!
      const threshold = own.length > 0 ? quantile(own, below) : 0
      const row = new Float32Array(mask.length)
      turnSpans(mask).forEach(({ start, end }, k) => row.fill(entropies[i][k] >= threshold ? 1 : 0, start, end))
      return row
    })
  }
}

/**
 * Rewards of HERO for software agents: a failure earns 0, a success 1 + weight times the share of the other successes of
 * its group that took more tokens (equal ones count half; alone: 0). Any success beats any failure.
 *
 * @example resolutionFirst([true, true, false], [10, 20, 5], 0.2) // [1.2, 1, 0]
 */
export function resolutionFirst(resolved: readonly boolean[], tokens: readonly number[], weight: number): number[] {
  return resolved.map((success, i) => {
    if (!success) return 0
    const others = tokens.filter((_, j) => j !== i && resolved[j])
    if (others.length === 0) return 1
    const beaten = others.reduce((sum, other) => sum + (other > tokens[i] ? 1 : other === tokens[i] ? 0.5 : 0), 0)
    return 1 + (weight * beaten) / others.length
  })
}

/**
 * Turns of sequences with an advantage that is not positive lose more where their entropy is high: A_t - b max(0, z), z
 * the turn's mean entropy, standardized over all turns of the step.
 */
export function discourageUncertainTurns(sequences: readonly TrainSequence[], weight: number): TrainSequence[] {
  const entropies = sequences.map((sequence) => turnEntropies(sequence.mask, entropyOf(sequence)))
  const { mean, deviation } = moments(entropies.flat(), 0)
  return sequences.map((sequence, i) => {
    const advantages = Float32Array.from(sequence.advantages)
    turnSpans(sequence.mask).forEach(({ start, end }, k) => {
      if (deviation === 0 || advantages[start] > 0) return
      const penalty = weight * Math.max(0, (entropies[i][k] - mean) / deviation)
      for (let t = start; t < end; t++) advantages[t] -= penalty
    })
    return { ...sequence, advantages }
  })
}

function resolutionShaping(weight: number): Shaping {
  return (groups) => {
    const shaped = groups.map(({ trajectories }) =>
      resolutionFirst(
        trajectories.map(({ outcome }) => outcome.success),
        trajectories.map(sampledTokens),
        weight,
      ),
    )
    return { groups: reward(groups, 'resolution-first', (_, g, i) => shaped[g][i]) }
  }
}

const minority = {
  family: 'credit',
  summary: 'Only the fifth of tokens with the highest entropy is learnt: the forks of a reasoning.',
  formula: 'l_t 1[H_t >= quantile(H, 1 - fraction)]; the denominator stays all tokens',
  reference:
    'arXiv 2506.01939; TRL, top_entropy_quantile. Decided here: entropy before the update, the quantile over the step; a divergence term is masked too',
  standing: 'source',
  rows: [],
} as const

const turnsAbout = {
  family: 'credit',
  formula: 'l_t 1[mean H of its turn >= quantile over turns of the group]',
  reference: 'DART-GUI, arXiv 2509.23866, from a note that quotes it',
  standing: 'second-hand',
  rows: ['B015'],
} as const

const swe = {
  family: 'credit',
  reference:
    'HERO (token-efficient software agents): only its abstract was found. Ranks, weights and what an unproductive turn is (one whose advantage is not positive) are decided here',
  standing: 'ours',
  rows: ['A016'],
} as const

const fraction = z.number().positive().max(1).default(0.2)

export const highEntropyTokensPart = objective({
  ...minority,
  kind: 'selection',
  name: 'high-entropy-tokens',
  use: 'Long reasoning. Not short replies, where few tokens are left.',
  options: z.strictObject({ fraction }),
  needs: { old: true },
  make: (options) => highEntropyTokens(options.fraction),
})

export const highEntropyMinority = objective({
  ...minority,
  kind: 'method',
  name: 'high-entropy-minority',
  use: 'Long reasoning, as DAPO. Steps are smaller by the share that is dropped: raise the learning rate.',
  options: z.strictObject({
    ...groupMethodOptions,
    fraction,
    clipHigh: z.number().min(0).default(0.28),
  }),
  make: (options) =>
    groupMethod('high-entropy-minority', options, {
      selections: [{ name: 'high-entropy-tokens', run: highEntropyTokens(options.fraction) }],
      needs: { old: true },
    }),
})

export const highEntropyTurnsPart = objective({
  ...turnsAbout,
  kind: 'selection',
  name: 'high-entropy-turns',
  summary: 'Turns of low mean entropy are not learnt.',
  use: 'Agents with many routine turns.',
  options: z.strictObject({
    /** Quantile of the group's turns below which none is learnt. */
    below: z.number().min(0).max(1).default(0.2),
  }),
  needs: { old: true },
  make: ({ below }) => highEntropyTurns(below),
})

export const dart = objective({
  ...turnsAbout,
  kind: 'method',
  name: 'dart',
  summary: 'Step-wise GRPO on the turns of highest entropy, corrected by truncated importance weights.',
  formula: `${turnsAbout.formula} min(exp(olp - blp), C);  A = (R - mean) / std over turns, which all bear their episode's R`,
  use: 'GUI and tool agents sampled by an engine that differs from the trainer.',
  options: z.strictObject({
    ...groupMethodOptions,
    below: highEntropyTurnsPart.options.shape.below,
    /** C. */
    cap: z.number().positive().default(1),
    clipHigh: z.number().min(0).default(0.28),
    klCoefficient: z.number().min(0).default(0.1),
  }),
  make: (options) =>
    groupMethod('dart', options, {
      advantage: (groups) =>
        groups.map(({ trajectories }) => {
          // Every turn is a sample, so that long episodes weigh more in mean and deviation.
          const { mean, deviation } = moments(
            trajectories.flatMap(({ mask, reward: whole }) => turnSpans(mask).map(() => whole)),
            0,
          )
          const divisor = options.normalization === 'mean' ? 1 : deviation + options.epsilon
          return trajectories.map(({ mask, reward: whole }) =>
            Float32Array.from(mask, (sampled) => (sampled && deviation > 0 ? (whole - mean) / divisor : 0)),
          )
        }),
      selections: [
        { name: 'high-entropy-turns', run: highEntropyTurns(options.below) },
        { name: 'truncated-importance', run: truncatedImportance({ level: 'token', low: 0, high: options.cap }) },
      ],
      needs: { old: true },
    }),
})

export const resolutionFirstPart = objective({
  ...swe,
  kind: 'shaping',
  name: 'resolution-first',
  summary: 'Successes are ranked by how few tokens they took; any success beats any failure.',
  formula: 'R = 0 if failed, else 1 + w (share of the other successes that took more tokens)',
  use: 'Agents whose episodes end in success or failure and cost tokens.',
  options: z.strictObject({ weight: z.number().min(0).default(0.2) }),
  make: ({ weight }) => resolutionShaping(weight),
})

export const heroSwe = objective({
  ...swe,
  kind: 'method',
  name: 'hero-swe',
  summary: 'Resolution first, then efficiency; uncertain turns of unsuccessful episodes are discouraged.',
  formula: `${resolutionFirstPart.formula};  A_t <- A_t - b max(0, z(H_turn)) where A_t <= 0`,
  use: 'Token-hungry agents. With few successes the second rule does the most: keep b small.',
  options: z.strictObject({
    ...groupMethodOptions,
    weight: z.number().min(0).default(0.2),
    /** b. */
    turnPenalty: z.number().min(0).default(0.1),
  }),
  make: (options): Algorithm => ({
    ...groupMethod('hero-swe', options, {
      shaping: [{ name: 'resolution-first', run: resolutionShaping(options.weight) }],
      needs: { old: true },
    }),
    refine: (sequences) => discourageUncertainTurns(sequences, options.turnPenalty),
  }),
})
