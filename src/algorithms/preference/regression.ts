import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { objective } from '../objective.js'
import type { Algorithm, Group } from '../types.js'
import { ratioLoss, sppoPair } from './absolute.js'
import { FIRST_STEP } from '../compose.js'
import { lessonOf, pairGroups, pairingOptions } from './comparisons.js'
import { logRatio } from './completions.js'
import { sigmoid } from './logistic.js'
import { lossAndMethod, preferenceMethod } from './method.js'
import { pairLoss } from './pair-loss.js'

/**
 * REBEL: the change of a pair's log-ratio since it was sampled is regressed onto its difference of rewards (from `info`).
 *
 *     L = mean over pairs of ((s_1 - s_1_old) - (s_2 - s_2_old) - eta (R_1 - R_2))^2
 *
 * With `normalization` 'mean' each log-ratio is divided by its number of tokens (ours: long replies otherwise dominate).
 * Source: arXiv 2404.16767 and its repository, where eta multiplies the rewards.
 *
 * @example rebelLoss({ eta: 1 })
 */
export function rebelLoss(options: { eta?: number; normalization?: 'sum' | 'mean'; name?: string } = {}): Loss {
  const { eta = 1, normalization = 'sum', name = 'rebel' } = options
  return pairLoss({
    name,
    reference: false,
    compare({ chosen, rejected }) {
      const [n, m] = normalization === 'mean' ? [chosen.length, rejected.length] : [1, 1]
      const moved = (chosen.logprob - chosen.old) / n - (rejected.logprob - rejected.old) / m
      const gap = moved - eta * (chosen.info.reward - rejected.info.reward)
      return { value: gap * gap, chosen: (2 * gap) / n, rejected: (-2 * gap) / m }
    },
  })
}

const rebelShape = {
  /** Log-ratio per unit of reward. */
  eta: z.number().positive().default(1),
  normalization: z.enum(['sum', 'mean']).default('sum'),
}

export const rebel = lossAndMethod({
  name: 'rebel',
  summary: 'Differences of log-ratio are regressed onto differences of reward (REBEL).',
  formula: 'L = ((s_1 - s_1_old) - (s_2 - s_2_old) - eta (R_1 - R_2))^2',
  reference: 'arXiv 2404.16767 and its repository; two replies drawn at random',
  standing: 'source',
  use: 'Rewards whose size means something. No clip and no value: eta and the learning rate set the step.',
  rows: [],
  shape: rebelShape,
  loss: rebelLoss,
  referenceNeeded: false,
  pairing: 'random',
})

/**
 * The trainable tokens of the turn in which two conversations part: from the first sampled token of the turn that holds the
 * first difference to its last, each in its own mask. Where one is the other's beginning, its last turn is taken.
 *
 * @example branchTurn(one, other) // [mask of one, mask of other]
 */
export function branchTurn(
  one: { tokens: readonly number[]; mask: Uint8Array },
  other: { tokens: readonly number[]; mask: Uint8Array },
): [Uint8Array, Uint8Array] {
  const shorter = Math.min(one.tokens.length, other.tokens.length)
  let parted = 0
  while (parted < shorter && one.tokens[parted] === other.tokens[parted]) parted++
  const turnOf = ({ mask }: { mask: Uint8Array }): Uint8Array => {
    let at = Math.min(parted, mask.length - 1)
    // A difference in what was observed comes of the turn before.
    while (at > 0 && !mask[at]) at--
    if (!mask[at]) return new Uint8Array(mask.length)
    let [from, to] = [at, at]
    while (from > 0 && mask[from - 1]) from--
    while (to + 1 < mask.length && mask[to + 1]) to++
    return mask.map((sampled, t) => (sampled && t >= from && t <= to ? 1 : 0))
  }
  return [turnOf(one), turnOf(other)]
}

export const refuel = objective({
  kind: 'method',
  name: 'refuel',
  family: 'preference',
  summary: 'REBEL for conversations: only the turn at which two of them part is held to what they earn from there on.',
  formula: 'L = ((s_1h - s_1h_old) - (s_2h - s_2h_old) - eta (R_1 - R_2))^2,  h the turn where the two part',
  reference:
    'arXiv 2410.04612 and its repository. Ours: the two are siblings of a group, which part at their first difference, not ' +
    'continuations sampled anew from a turn drawn at random. What was earned before they part is the same and cancels',
  standing: 'ours',
  use: 'Conversations of several turns with a simulated user. Of one turn it is REBEL.',
  rows: ['B199'],
  options: z.strictObject({
    ...rebelShape,
    ...pairingOptions,
    pairing: z.enum(['best-worst', 'all', 'random', 'near-deviation']).default('random'),
  }),
  make(options): Algorithm {
    const method = preferenceMethod({
      name: 'refuel',
      loss: rebelLoss({ ...options, name: 'refuel' }),
      needs: {},
      truncated: options.truncated,
      compare: (groups, context) => pairGroups(groups, options, context),
    })
    return {
      ...method,
      learn(groups, context = FIRST_STEP) {
        const lesson = method.learn(groups, context)
        const sequences = [...lesson.sequences]
        for (let i = 0; i + 1 < sequences.length; i += 2) {
          const masks = branchTurn(sequences[i], sequences[i + 1])
          masks.forEach((mask, k) => (sequences[i + k] = { ...sequences[i + k], mask }))
        }
        return { ...lesson, sequences }
      },
    }
  },
})

/** How rewards become the probability that one reply is preferred to another. */
export const winOptions = {
  /** `hard`: 1, 1/2 or 0 by which reward is larger. `logistic`: sig((R_i - R_j) / temperature), Bradley-Terry. */
  wins: z.enum(['hard', 'logistic']).default('hard'),
  /** Of 'logistic', in units of reward. */
  winTemperature: z.number().positive().default(1),
}

export type WinOptions = z.output<z.ZodObject<typeof winOptions>>

/**
 * The probability that a reply is preferred to another.
 *
 * @example winProbability(1, 0, { wins: 'hard', winTemperature: 1 }) // 1
 */
export function winProbability(reward: number, other: number, options: WinOptions): number {
  if (options.wins === 'logistic') return sigmoid((reward - other) / options.winTemperature)
  return reward > other ? 1 : reward < other ? 0 : 0.5
}

/**
 * How often each reply of a group wins against a reply of the group.
 *
 * @param self count the comparison with itself too, which is 1/2 (SPPO's pool)
 * @example winRates([0, 1, 1], { wins: 'hard', winTemperature: 1 }, false) // [0, 0.75, 0.75]
 */
export function winRates(rewards: readonly number[], options: WinOptions, self: boolean): number[] {
  const others = rewards.length - (self ? 0 : 1)
  if (others <= 0) return rewards.map(() => 0.5)
  return rewards.map((reward, i) =>
    rewards.reduce(
      (sum, other, j) => (j === i && !self ? sum : sum + winProbability(reward, other, options) / others),
      0,
    ),
  )
}

const sppoShape = {
  /** Targets are (P - 1/2) / beta nats: beta 0.1 gives up to 5, the authors' 1e-3 up to 500. */
  beta: z.number().positive().default(0.1),
}

export const sppoHard = lossAndMethod({
  name: 'sppo-hard',
  summary: 'Log-ratios regressed onto a sure win and a sure loss (SPPO, hard).',
  formula: 'L = (r_w - 1 / (2 beta))^2 + (r_l + 1 / (2 beta))^2',
  reference: 'arXiv 2405.00675, equation 4.7 with P 1 and 0; TRL "sppo_hard"',
  standing: 'source',
  use: 'Like IPO, but each reply has its own target. Gradients are as large as 1 / beta.',
  rows: [],
  shape: sppoShape,
  loss: ({ beta }) => ratioLoss('sppo-hard', beta, (won, lost, b) => sppoPair(won, lost, b, [1, 0])),
  referenceNeeded: true,
})

/** SPPO's loss with win rates as the pair's rewards, in [0, 1]: half the squared distance of log-ratios from targets. */
export function sppoLoss(beta: number): Loss {
  return pairLoss({
    name: 'sppo',
    reference: true,
    compare: ({ chosen, rejected }) =>
      sppoPair(logRatio(chosen), logRatio(rejected), beta, [chosen.info.reward, rejected.info.reward], 0.5),
  })
}

export const sppo = objective({
  kind: 'method',
  name: 'sppo',
  family: 'preference',
  summary: 'Self-play: the best and the worst of a group are regressed onto how often they win within it (SPPO).',
  formula:
    'L = 1/2 sum over w, l of (r - (P - 1/2) / beta)^2,  P = mean over the group, itself included, of P(i beats j)',
  reference:
    'arXiv 2405.00675 and its repository (pool of 5, PairRM, beta 1e-3). Here P is of the rewards and the reference is the ' +
    'policy the replies were sampled from (their old logprobs) unless a reference is asked for',
  standing: 'source',
  use: 'Preferences that are not transitive, when rewards are win rates of a judge. beta 0.1 is far gentler than published.',
  rows: [],
  options: z.strictObject({
    ...sppoShape,
    ...winOptions,
    wins: z.enum(['hard', 'logistic']).default('logistic'),
    ...pairingOptions,
    /** `old`: the policy that sampled the replies. `initial`: the model the run began with. */
    anchor: z.enum(['old', 'initial']).default('old'),
  }),
  make(options): Algorithm {
    const inner = sppoLoss(options.beta)
    const toOld: Loss = {
      ...inner,
      evaluate: (tokens) => inner.evaluate({ ...tokens, referenceLogprobs: tokens.oldLogprobs }),
    }
    const winning = (group: Group): number[] =>
      winRates(
        group.trajectories.map(({ reward }) => reward),
        options,
        true,
      )
    const method = preferenceMethod({
      name: 'sppo',
      loss: options.anchor === 'old' ? toOld : inner,
      needs: options.anchor === 'old' ? {} : { reference: 'initial' },
      truncated: options.truncated,
      compare: (groups, context) => pairGroups(groups, options, context),
    })
    return {
      ...method,
      learn(groups, context = FIRST_STEP) {
        const lesson = lessonOf(groups, options, context, (usable) => pairGroups(usable, options, context))
        const rates = groups.map(winning)
        const sequences = lesson.sequences.map((sequence, i) => {
          const { group, trajectory } = lesson.origins[i]
          return { ...sequence, info: { ...sequence.info!, reward: rates[group][trajectory] } }
        })
        return { ...lesson, sequences }
      },
    }
  },
})
