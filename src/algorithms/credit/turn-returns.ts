import { z } from 'zod'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { moments } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Group, Trajectory } from '../types.js'
import { discountedReturns, onTurns, turnRewards, turnSpans } from './turns.js'

type Normalization = 'mean' | 'mean-std'

/**
 * Values against the others of their class: (x - mean) / (std + epsilon), or x - mean, std with Bessel's correction.
 * A value alone in its class, or equal to all of it, has 0.
 *
 * @param keys class of each value
 * @example normalizeWithin([0, 1, 5], ['a', 'a', 'b'], { normalization: 'mean' }) // [-0.5, 0.5, 0]
 */
export function normalizeWithin(
  values: readonly number[],
  keys: readonly string[],
  { normalization, epsilon = 1e-6 }: { normalization: Normalization; epsilon?: number },
): number[] {
  const classes = new Map<string, number[]>()
  keys.forEach((key, i) => classes.set(key, [...(classes.get(key) ?? []), values[i]]))
  const statistics = new Map([...classes].map(([key, own]) => [key, moments(own)]))
  return values.map((value, i) => {
    const { mean, deviation } = statistics.get(keys[i])!
    if (deviation === 0) return 0
    return normalization === 'mean' ? value - mean : (value - mean) / (deviation + epsilon)
  })
}

/** What a turn answers to: the message before it, by turn. Turns of one group that answer to one message can be compared. */
export function anchorsOf({ messages, mask }: Trajectory): string[] {
  const anchors: string[] = []
  messages.forEach(({ role }, m) => {
    if (role === 'assistant') anchors.push(m > 0 ? messages[m - 1].content : '')
  })
  // Without messages, turns are compared by their number.
  return turnSpans(mask).map((_, k) => anchors[k] ?? `turn ${k} of an untold episode`)
}

/** [group][trajectory][turn] to advantages of tokens, each group's turns normalized in the classes that keysOf tells. */
function byTurn(
  groups: readonly Group[],
  returnsOf: (trajectory: Trajectory) => number[],
  keysOf: (trajectory: Trajectory, i: number) => string[],
  options: { normalization: Normalization; epsilon?: number },
): number[][][] {
  return groups.map(({ trajectories }) => {
    const returns = trajectories.map(returnsOf)
    const advantages = normalizeWithin(returns.flat(), trajectories.flatMap(keysOf), options)
    let from = 0
    return returns.map((own) => advantages.slice(from, (from += own.length)))
  })
}

export interface TurnReturnOptions {
  gamma: number
  /** Compared with turns of the same number in the group, or with all turns of the group. */
  within: 'turn' | 'group'
  normalization: Normalization
  epsilon?: number
}

/** The discounted return of each turn, normalized within the group. */
export function turnReturnAdvantages(options: TurnReturnOptions): AdvantageEstimator {
  return (groups) => {
    const values = byTurn(
      groups,
      (trajectory) => discountedReturns(turnRewards(trajectory), options.gamma),
      (trajectory) => turnSpans(trajectory.mask).map((_, k) => (options.within === 'turn' ? String(k) : '')),
      options,
    )
    return groups.map((group, g) => group.trajectories.map((trajectory, i) => onTurns(trajectory, values[g][i])))
  }
}

export interface EpisodeAndStepOptions {
  gamma: number
  /** Weight of the part by turns; that of the whole episode is 1. */
  stepWeight: number
  normalization: Normalization
  epsilon?: number
}

/**
 * GiGPO: A = advantage of the episode in its group + w times the advantage of the turn's discounted return among turns of
 * the group that answered to the same message. Source: arXiv 2505.10978.
 *
 * @param returnsOf returns of turns in place of discounted ones
 */
export function episodeAndStepAdvantages(
  options: EpisodeAndStepOptions,
  returnsOf = (trajectory: Trajectory): number[] => discountedReturns(turnRewards(trajectory), options.gamma),
): AdvantageEstimator {
  return (groups) => {
    const steps = byTurn(groups, returnsOf, anchorsOf, options)
    return groups.map(({ trajectories }, g) => {
      const episodes = normalizeWithin(
        trajectories.map((trajectory) => trajectory.reward),
        trajectories.map(() => ''),
        options,
      )
      return trajectories.map((trajectory, i) =>
        onTurns(
          trajectory,
          steps[g][i].map((step) => episodes[i] + options.stepWeight * step),
        ),
      )
    })
  }
}

const shared = { normalization: groupMethodOptions.normalization, epsilon: groupMethodOptions.epsilon }

const turnOptions = {
  gamma: z.number().min(0).max(1).default(0.95),
  within: z.enum(['turn', 'group']).default('turn'),
}

const stepOptions = {
  gamma: z.number().min(0).max(1).default(0.95),
  stepWeight: z.number().min(0).default(1),
}

export const turnReturnsPart = objective({
  kind: 'advantage',
  name: 'turn-returns',
  family: 'credit',
  summary: 'Each turn has its own discounted return, compared with the same turn of its siblings.',
  formula:
    'G_k = r_k + gamma G_(k+1);  A_k = (G_k - mean) / (std + eps) over turn k of the group (or all of its turns)',
  reference: 'Multi-turn credit by turn, a common form; that turns are compared by number is ours',
  standing: 'ours',
  use: 'Tasks that tell turn rewards. With an outcome alone and gamma 1, all turns get what GRPO gives.',
  rows: ['A087', 'B028', 'B058', 'B141', 'B196'],
  options: z.strictObject({ ...shared, ...turnOptions }),
  make: turnReturnAdvantages,
})

export const gigpoPart = objective({
  kind: 'advantage',
  name: 'episode-and-step-advantages',
  family: 'credit',
  summary:
    'Group advantage of the episode plus that of each turn among turns that answered to the same message (GiGPO).',
  formula: 'A = (R_i - mean_G) / std_G + w (G_k - mean) / std over turns of the group with an equal anchor',
  reference:
    'GiGPO, arXiv 2505.10978, from ports of its code. Decided here: the anchor is the message before the turn, and an episode counts once in its group',
  standing: 'second-hand',
  use: 'Environments whose states recur among the rollouts of a group. Where none does it is GRPO.',
  rows: ['A108', 'A120'],
  options: z.strictObject({ ...shared, ...stepOptions }),
  make: episodeAndStepAdvantages,
})

export const turnLevelGrpo = objective({
  ...turnReturnsPart,
  kind: 'method',
  name: 'turn-level-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...turnOptions }),
  make: (options) =>
    groupMethod('turn-level-grpo', options, { advantage: turnReturnAdvantages(options), dynamicSampling: false }),
})

export const gigpo = objective({
  ...gigpoPart,
  kind: 'method',
  name: 'gigpo',
  options: z.strictObject({ ...groupMethodOptions, ...stepOptions }),
  make: (options) =>
    groupMethod('gigpo', options, { advantage: episodeAndStepAdvantages(options), dynamicSampling: false }),
})
