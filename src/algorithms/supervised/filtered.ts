import { z } from 'zod'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { FIRST_STEP, weigh } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import type { Algorithm, Group, Trajectory } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { demonstrationSequence, isRight, mix, thresholdOption } from './shown.js'

export interface KeepOptions {
  /** Rewards from this on are kept; null: successes. */
  threshold: number | null
  /** Of equal token sequences only the first. */
  deduplicate: boolean
  /** At most so many a group, the best first (equal ones in order); null: all. */
  limit: number | null
}

/**
 * Which trajectories of a group are good enough to learn.
 *
 * @returns one a trajectory
 * @example keepers(group, { threshold: 1, deduplicate: true, limit: 10 })
 */
export function keepers({ trajectories }: Group, { threshold, deduplicate, limit }: KeepOptions): boolean[] {
  const seen = new Set<string>()
  const good = trajectories.flatMap((trajectory, i) => {
    const { tokens, mask } = trajectory
    if (!isRight(trajectory, threshold) || !mask.includes(1)) return []
    const key = tokens.join()
    if (deduplicate && seen.has(key)) return []
    seen.add(key)
    return [i]
  })
  good.sort((a, b) => trajectories[b].reward - trajectories[a].reward || a - b)
  const kept = new Set(limit === null ? good : good.slice(0, limit))
  return trajectories.map((_, i) => kept.has(i))
}

/**
 * The threshold of ReST at a step: `improveSteps` steps at each of `rounds` levels from `low` to `high`, then anew, as a new
 * Grow step begins.
 *
 * @param step from 1
 * @example restThreshold({ low: 0.5, high: 0.9, rounds: 3, improveSteps: 1 }, 2) // 0.7
 */
export function restThreshold(
  { low, high, rounds, improveSteps }: { low: number; high: number; rounds: number; improveSteps: number },
  step: number,
): number {
  const round = Math.floor(Math.max(0, step - 1) / improveSteps) % rounds
  return rounds === 1 ? high : low + ((high - low) * round) / (rounds - 1)
}

function filtered(
  name: string,
  options: { aggregation: (typeof AGGREGATIONS)[number]; fixedLength?: number; perProblem: boolean },
  keep: (group: Group, step: number) => boolean[],
): Algorithm {
  return mix({
    name,
    needs: {},
    loss: crossEntropy(),
    weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
    teach: (group, _, { step }) => {
      const kept = keep(group, step)
      const weight = options.perProblem ? 1 / Math.max(1, kept.filter(Boolean).length) : 1
      return { samples: kept.map((good) => (good ? weight : null)) }
    },
  })
}

const shared = {
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
  /** Divide each sequence's loss by how many its problem has, lest easy problems dominate. */
  perProblem: z.boolean().default(true),
  /** Of equal replies only the first. */
  deduplicate: z.boolean().default(true),
}

const about = { kind: 'method' as const, family: 'supervised' as const, standing: 'source' as const }

export const rft = objective({
  ...about,
  name: 'rft',
  summary: 'Rejection fine-tuning: likelihood of the samples that are right.',
  formula: 'L = -sum_kept c_t lp_t / K_problem;  kept: right ones',
  reference:
    'RFT, arXiv 2308.01825; ReST-EM, arXiv 2312.06585 (limit 10); ours: the division by K_problem as an option',
  use: 'Sparse, reliable rewards. Never learns from failures; problems without a right sample teach nothing.',
  rows: ['B007', 'B172', 'B066'],
  options: z.strictObject({
    ...shared,
    threshold: thresholdOption,
    /** At most so many a problem. */
    limit: z.int().positive().nullable().default(null),
  }),
  make: (options) => filtered('rft', options, (group) => keepers(group, options)),
})

export const rest = objective({
  ...about,
  name: 'rest',
  summary: 'ReST: likelihood of samples above a threshold that rises from step to step.',
  formula: 'w = 1[R >= tau_j];  tau_j from low to high in `rounds` levels of improveSteps steps, then anew',
  reference:
    'ReST, arXiv 2308.08998; ours: each improve step draws new samples, where the paper reuses those of its grow step',
  standing: 'ours',
  use: 'Rewards by degrees. With rewards of 0 and 1 it is rft.',
  rows: ['B037'],
  options: z.strictObject({
    ...shared,
    low: z.number().default(0.5),
    high: z.number().default(0.9),
    rounds: z.int().positive().default(4),
    improveSteps: z.int().positive().default(1),
  }),
  make: (options) =>
    filtered('rest', options, (group, step) =>
      keepers(group, { ...options, threshold: restThreshold(options, step), limit: null }),
    ),
})

interface Kept {
  tokens: number[]
  mask: number[]
  task: string
  language: string
}

export const expertIteration = objective({
  ...about,
  name: 'expert-iteration',
  summary: 'Right samples of all steps so far are kept, and each step learns from a draw of them.',
  formula: 'D <- D + {y right};  L = -sum_{y in draw of D} c_t lp_t',
  reference:
    'arXiv 1705.08439; 2403.04642 for language models. Ours: a step a round, the policy goes on (the papers restart from the base), a bounded D that forgets the oldest',
  standing: 'ours',
  use: 'When right samples are rare and should be seen more than once. rft learns each step from that step alone.',
  rows: ['B172'],
  options: z.strictObject({
    aggregation: shared.aggregation,
    fixedLength: shared.fixedLength,
    threshold: thresholdOption,
    /** At most so many new ones a problem and step. */
    limit: z.int().positive().nullable().default(1),
    /** Sequences D holds. */
    capacity: z.int().positive().default(256),
    /** Sequences a step learns from. */
    batch: z.int().positive().default(32),
  }),
  make: (options): Algorithm => {
    const base = rft.make({ ...options, perProblem: false, deduplicate: true })
    return {
      ...base,
      name: 'expert-iteration',
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const fresh: Kept[] = lesson.sequences.map(({ tokens, mask, info }) => ({
          tokens: [...tokens],
          mask: [...mask],
          task: info!.task,
          language: info!.language,
        }))
        const before = (context.state as unknown as Kept[] | null) ?? []
        const known = new Set(fresh.map(({ tokens }) => tokens.join()))
        const kept = [...before.filter(({ tokens }) => !known.has(tokens.join())), ...fresh].slice(-options.capacity)
        const random = createRandom(deriveSeed(context.seed, 'expert-iteration', context.step))
        const drawn = groups.length === 0 ? [] : random.shuffle(kept).slice(0, options.batch)
        const placed = replayed(drawn, groups)
        return { ...lesson, ...placed, state: kept as unknown as typeof context.state, metrics: { kept: kept.length } }
      },
    }
  },
})

/**
 * Sequences of earlier steps, dealt out in order among the groups of this one (they go where their group goes).
 *
 * @example { ...lesson, ...replayed(buffer, groups) }
 */
export function replayed(
  kept: readonly { tokens: number[]; mask: number[]; task: string; language: string }[],
  groups: readonly Group[],
): { sequences: TrainSequence[]; origins: { group: number; trajectory: number }[] } {
  const placed = kept
    .map((item, i) => {
      const group = i % Math.max(1, groups.length)
      const shown = { tokens: item.tokens, mask: Uint8Array.from(item.mask) }
      const problem = { ...groups[group].problem, task: item.task, language: item.language }
      return { group, sequence: demonstrationSequence(shown, problem, group) }
    })
    .sort((a, b) => a.group - b.group)
  return {
    sequences: placed.map(({ sequence }) => sequence),
    origins: placed.map(({ group }) => ({ group, trajectory: -1 })),
  }
}

/**
 * What each sampled token of a trajectory is worth by the reward of its turn. Runs of sampled tokens are turns.
 *
 * @throws MyriadError 'usage' when there are not as many turn rewards as turns
 * @returns 0 where the mask is 0: [tokens]
 * @example turnWeights(trajectory) // turnRewards [1, 0]: 1 on the first reply's tokens, 0 on the second's
 */
export function turnWeights({ mask, turnRewards }: Trajectory): Float32Array {
  let turn = -1
  const weights = Float32Array.from(mask, (sampled, t) => {
    if (sampled && !(t > 0 && mask[t - 1])) turn++
    return sampled ? (turnRewards?.[turn] ?? NaN) : 0
  })
  if (weights.some(Number.isNaN))
    throw new MyriadError('usage', `${turn + 1} turns, but ${turnRewards?.length ?? 'no'} turn rewards`)
  return weights
}

export const turnWeightedSft = objective({
  ...about,
  name: 'turn-weighted-sft',
  summary: 'Likelihood of successful trajectories, each turn weighted by what it earned.',
  formula: 'L = -sum_t c_t r_turn(t) lp_t  over trajectories with R >= threshold',
  reference: 'ColGREP, systems A040; ours: the weight is the turn reward itself, and the policy is its own teacher',
  standing: 'ours',
  use: 'Tasks that say what each turn earned (turnRewards), such as what a search found.',
  rows: ['A040'],
  options: z.strictObject({
    aggregation: shared.aggregation,
    fixedLength: shared.fixedLength,
    threshold: z.number().default(0),
  }),
  make: ({ threshold, aggregation, fixedLength }) =>
    mix({
      name: 'turn-weighted-sft',
      needs: {},
      loss: crossEntropy(),
      weigh: (sequences) => weigh(sequences, aggregation, fixedLength),
      teach: ({ trajectories }) => ({
        samples: trajectories.map((trajectory) => (trajectory.reward >= threshold ? turnWeights(trajectory) : null)),
      }),
    }),
})
