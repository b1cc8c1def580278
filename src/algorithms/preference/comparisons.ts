import { z } from 'zod'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import type { SequenceInfo } from '../../policy/types.js'
import { hasVariance } from '../advantages.js'
import { FIRST_STEP, sequenceOf } from '../compose.js'
import { handleOverlong } from '../overlong.js'
import type { Group, LearnContext, Lesson } from '../types.js'

export const PAIRINGS = ['best-worst', 'all', 'random', 'near-deviation'] as const

/** How a method makes comparisons of the replies to one problem. */
export const pairingOptions = {
  /**
   * `best-worst`: the best reply against the worst. `all`: every two whose rewards differ. `random`: two drawn at random.
   * `near-deviation`: the best against the one whose reward is nearest to mean - 2 std and below the best's (CroCo).
   */
  pairing: z.enum(PAIRINGS).default('best-worst'),
  /** Rewards of a pair must differ by more than this. */
  minimumGap: z.number().min(0).default(0),
  /** Whether replies that were cut off at a limit may be compared. */
  truncated: z.enum(['keep', 'leave-out']).default('keep'),
}

export type PairingOptions = z.output<z.ZodObject<typeof pairingOptions>>

/** One reply in a comparison: its place in the group, and what it is there. */
export interface Compared extends Pick<SequenceInfo, 'role' | 'rank'> {
  trajectory: number
}

/** The comparisons of one group: each a pair, a ranking or, of one member, a verdict. */
export type Comparisons = Compared[][]

/**
 * Indices of better and worse of each pair. Equal rewards make no pair; of equal bests and worsts the first is taken.
 *
 * @param rewards of the replies to one problem
 * @param draw answers two different indices below its argument; 'random' asks it
 * @example choosePairs([0, 1, 0.5], { pairing: 'best-worst', minimumGap: 0 }) // [[1, 0]]
 */
export function choosePairs(
  rewards: readonly number[],
  options: Pick<PairingOptions, 'pairing' | 'minimumGap'>,
  draw: (count: number) => [number, number] = () => [0, 1],
): [number, number][] {
  const { pairing, minimumGap } = options
  const indices = [...rewards.keys()]
  if (indices.length < 2) return []
  const best = rewards.indexOf(Math.max(...rewards))
  const candidates = ((): [number, number][] => {
    switch (pairing) {
      case 'best-worst':
        return [[best, rewards.indexOf(Math.min(...rewards))]]
      case 'all':
        return indices.flatMap((i) => indices.slice(i + 1).map((j): [number, number] => [i, j]))
      case 'random':
        return [draw(indices.length)]
      case 'near-deviation': {
        const mean = rewards.reduce((sum, reward) => sum + reward / rewards.length, 0)
        const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2 / rewards.length, 0)
        const target = mean - 2 * Math.sqrt(variance)
        const distance = (i: number): number => Math.abs(rewards[i] - target)
        const below = indices.filter((i) => rewards[i] < rewards[best])
        return below.length === 0 ? [] : [[best, below.reduce((a, b) => (distance(b) < distance(a) ? b : a))]]
      }
    }
  })()
  return candidates
    .map(([i, j]): [number, number] => (rewards[i] >= rewards[j] ? [i, j] : [j, i]))
    .filter(([i, j]) => rewards[i] - rewards[j] > minimumGap)
}

/** Two different indices, each ordered pair as likely as any. */
export function drawTwo(context: LearnContext): (count: number) => [number, number] {
  const random = createRandom(deriveSeed(context.seed, 'preference-pairs', context.step))
  return (count) => {
    const first = random.integer(0, count - 1)
    const second = random.integer(0, count - 2)
    return [first, second < first ? second : second + 1]
  }
}

/** Pairs of every group. */
export function pairGroups(
  groups: readonly Group[],
  options: Pick<PairingOptions, 'pairing' | 'minimumGap'>,
  context: LearnContext,
): Comparisons[] {
  const draw = drawTwo(context)
  return groups.map(({ trajectories }) =>
    choosePairs(
      trajectories.map(({ reward }) => reward),
      options,
      draw,
    ).map(([better, worse]) => [
      { trajectory: better, role: 'chosen' },
      { trajectory: worse, role: 'rejected' },
    ]),
  )
}

/**
 * A lesson of comparisons. Each is numbered (`info.pair`); a reply that stands in several is there several times. The
 * advantages, for display, are wins minus losses.
 *
 * @param compare the comparisons of each group, by places in it; it sees only replies with a trainable token
 * @throws MyriadError 'numeric' on a reward that is not finite
 * @example lessonOf(groups, options, context, (usable) => pairGroups(usable, options, context))
 */
export function lessonOf(
  given: readonly Group[],
  options: Pick<PairingOptions, 'truncated'>,
  context: LearnContext = FIRST_STEP,
  compare: (groups: readonly Group[], context: LearnContext) => Comparisons[],
): Lesson {
  const bad = given.flatMap(({ trajectories }) => trajectories).find(({ reward }) => !Number.isFinite(reward))
  if (bad) throw new MyriadError('numeric', `a group holds the reward ${bad.reward}; rewards must be finite`)
  const groups = handleOverlong(given, options.truncated === 'keep' ? 'keep' : 'mask')
  const places = groups.map(({ trajectories }) =>
    trajectories.flatMap(({ mask }, place) => (mask.includes(1) ? [place] : [])),
  )
  const usable = groups.map((group, g) => ({
    ...group,
    trajectories: places[g].map((place) => group.trajectories[place]),
  }))
  const advantages = groups.map(({ trajectories }) => trajectories.map(({ tokens }) => new Float32Array(tokens.length)))
  const sequences: Lesson['sequences'] = []
  const origins: Lesson['origins'] = []
  let pair = 0
  compare(usable, context).forEach((comparisons, group) => {
    for (const members of comparisons) {
      for (const { trajectory: index, role, rank } of members) {
        const trajectory = places[group][index]
        const reply = groups[group].trajectories[trajectory]
        const side = role === 'chosen' ? 1 : role === 'rejected' ? -1 : 0
        reply.mask.forEach((sampled, t) => (advantages[group][trajectory][t] += sampled ? side : 0))
        const sequence = sequenceOf(
          reply,
          group,
          Float32Array.from(reply.mask, (sampled) => (sampled ? side : 0)),
        )
        sequences.push({
          ...sequence,
          info: { ...sequence.info!, role, pair, ...(rank === undefined ? {} : { rank }) },
        })
        origins.push({ group, trajectory })
      }
      pair++
    }
  })
  const zeroVarianceGroups = groups.filter((group) => !hasVariance(group)).length
  return { sequences, origins, zeroVarianceGroups, advantages, metrics: { comparisons: pair } }
}
