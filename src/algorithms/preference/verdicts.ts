import { z } from 'zod'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { objective } from '../objective.js'
import type { Algorithm, Group, Lesson } from '../types.js'
import { logRatio, sequenceLoss, type Completion } from './completions.js'
import { pairingOptions, type Comparisons } from './comparisons.js'
import { sigmoid, sigmoidSlope } from './logistic.js'
import { preferenceMethod } from './method.js'

export interface KtoOptions {
  /** (0.1) */
  beta?: number
  /** Weight of desirable replies (1). */
  desirable?: number
  /** Weight of undesirable ones (1). */
  undesirable?: number
  /**
   * Where the baseline z comes from, a constant of each batch and never below 0:
   * `batch` the mean log-ratio of all judged replies, which on-line are samples of the policy: an estimate of its KL;
   * `mismatched` the mean log-ratio of the sequences whose role is `sample`: replies to other prompts (TRL). A batch that
   * holds none (a lone prompt) has the baseline `batch`;
   * `opposite` the mean log-ratio of the other class (OpenRLHF; there it is not a constant);
   * `none` 0, which is APO-zero without pairs (TRL "apo_zero_unpaired").
   */
  baseline?: 'batch' | 'mismatched' | 'opposite' | 'none'
}

/**
 * KTO: replies that are desirable or not (role chosen or rejected), without pairs. With r = s - s_ref and baseline z:
 *
 *     L = mean over judged replies of  lambda_D (1 - sig(beta (r - z)))  or  lambda_U (1 - sig(beta (z - r)))
 *     dL/ds = -lambda_D beta s2(beta (r - z))  or  lambda_U beta s2(beta (z - r)),  each over the number of judged replies
 *
 * z is a constant for derivatives. Source: arXiv 2402.01306; TRL KTOTrainer.
 *
 * @throws MyriadError (when evaluated) 'usage' without reference logprobs
 * @example ktoLoss({ beta: 0.1, baseline: 'batch' })
 */
export function ktoLoss(options: KtoOptions = {}): Loss {
  const { beta = 0.1, desirable = 1, undesirable = 1, baseline = 'batch' } = options
  return sequenceLoss({
    name: 'kto',
    reference: true,
    evaluate(completions) {
      const judged = completions.filter(({ info }) => info.role === 'chosen' || info.role === 'rejected')
      const slopes = new Map<Completion, number>()
      let [value, sum] = [0, 0]
      for (const completion of judged) {
        const isChosen = completion.info.role === 'chosen'
        const z = baselineOf(completions, baseline, isChosen)
        const x = beta * (logRatio(completion) - z) * (isChosen ? 1 : -1)
        const weight = isChosen ? desirable : -undesirable
        value += (Math.abs(weight) * sigmoid(-x)) / judged.length
        slopes.set(completion, (-weight * beta * sigmoidSlope(x)) / judged.length)
        sum += z
      }
      const metrics: Record<string, number> = judged.length === 0 ? {} : { baseline: sum / judged.length }
      return { value, slopes, metrics }
    },
  })
}

function baselineOf(
  completions: readonly Completion[],
  baseline: NonNullable<KtoOptions['baseline']>,
  isChosen: boolean,
): number {
  if (baseline === 'none') return 0
  const hasMismatched = completions.some(({ info }) => info.role === 'sample')
  const rows = completions.filter(({ info: { role } }) => {
    if (baseline === 'opposite') return role === (isChosen ? 'rejected' : 'chosen')
    return baseline === 'mismatched' && hasMismatched ? role === 'sample' : role === 'chosen' || role === 'rejected'
  })
  return rows.length === 0 ? 0 : Math.max(0, rows.reduce((sum, row) => sum + logRatio(row), 0) / rows.length)
}

/** Replies above the mean reward of their group are desirable, those below are not; at the mean they are left out. */
export function judgeGroups(groups: readonly Group[]): Comparisons[] {
  return groups.map(({ trajectories }) => {
    const mean = trajectories.reduce((sum, { reward }) => sum + reward / trajectories.length, 0)
    // Told from rounding: a group of equal rewards has none above and none below.
    const tolerance = 1e-12 * Math.max(...trajectories.map(({ reward }) => Math.abs(reward)))
    return trajectories.flatMap(({ reward }, trajectory) =>
      Math.abs(reward - mean) <= tolerance
        ? []
        : [[{ trajectory, role: reward > mean ? ('chosen' as const) : ('rejected' as const) }]],
    )
  })
}

/**
 * The lesson with, after the replies of each group, the prompts of that group continued by replies to the next group's: the
 * pairs of prompt and reply that KTO's baseline is estimated from. Those that would be longer than any episode of the step
 * are left out, so that they fit wherever the episodes did.
 */
export function withMismatched(lesson: Lesson): Lesson {
  const judged = [...new Set(lesson.origins.map(({ group }) => group))]
  const longest = Math.max(0, ...lesson.sequences.map(({ tokens }) => tokens.length))
  const sequences: TrainSequence[] = []
  const origins: Lesson['origins'] = []
  judged.forEach((group, g) => {
    const own = lesson.sequences.filter((_, i) => lesson.origins[i].group === group)
    sequences.push(...own)
    origins.push(...lesson.origins.filter((origin) => origin.group === group))
    if (judged.length < 2) return
    const others = lesson.sequences.filter((_, i) => lesson.origins[i].group === judged[(g + 1) % judged.length])
    own.forEach((sequence, i) => {
      const other = others[i % others.length]
      const from = other.mask.indexOf(1)
      const prompt = sequence.tokens.slice(0, sequence.mask.indexOf(1))
      const tokens = [...prompt, ...other.tokens.slice(from)]
      if (tokens.length > longest) return
      const row = (): Float32Array => new Float32Array(tokens.length)
      const mask = Uint8Array.from([...prompt.map(() => 0), ...other.mask.subarray(from)])
      const info = { ...sequence.info!, role: 'sample' as const, reward: 0 }
      sequences.push({ tokens, mask, logprobs: row(), advantages: row(), weights: row(), info })
      origins.push({ group, trajectory: -1 })
    })
  })
  return { ...lesson, sequences, origins }
}

const shape = {
  /** Strength of the pull to the reference. */
  beta: z.number().positive().default(0.1),
  /** Weight of desirable replies. */
  desirable: z.number().min(0).default(1),
  /** Weight of undesirable ones; by their numbers n, desirable n_D over undesirable n_U should be in [1, 4/3]. */
  undesirable: z.number().min(0).default(1),
  /** Where z comes from: see ktoLoss. */
  baseline: z.enum(['batch', 'mismatched', 'opposite', 'none']).default('batch'),
}

const about = {
  family: 'preference',
  summary: 'Replies judged good or bad one by one; gains and losses against a baseline, as people feel them (KTO).',
  formula: 'L = mean[lambda_D (1 - sig(beta (r - z))) of good, lambda_U (1 - sig(beta (z - r))) of bad]',
  reference:
    'arXiv 2402.01306; TRL KTOTrainer, OpenRLHF. On-line: good is above the mean reward of the group, and z is by ' +
    'default the mean log-ratio of the batch instead of mismatched pairs, since the replies are samples of the policy',
  standing: 'source',
  use: 'Verdicts without pairs, also unbalanced ones. Outliers far from z teach nothing.',
  rows: [],
} as const

export const ktoPart = objective({
  ...about,
  kind: 'loss',
  name: 'kto-loss',
  needs: { reference: 'initial' },
  options: z.strictObject(shape),
  make: ktoLoss,
})

export const kto = objective({
  ...about,
  kind: 'method',
  name: 'kto',
  options: z.strictObject({ ...shape, truncated: pairingOptions.truncated }),
  make(options): Algorithm {
    const method = preferenceMethod({
      name: 'kto',
      loss: ktoLoss(options),
      needs: { reference: 'initial' },
      truncated: options.truncated,
      compare: judgeGroups,
    })
    if (options.baseline !== 'mismatched') return method
    return { ...method, learn: (groups, context) => withMismatched(method.learn(groups, context)) }
  },
})
