import { z } from 'zod'
import type { Json } from '../../core/index.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { reward } from '../multi/statistics.js'
import { objective, type Shaping } from '../objective.js'
import { problemDigest } from './answers.js'
import { featureOptions, hashedNgrams, promptOf, repliesOf, type Featurizer } from './features.js'

/** Replies remembered with the query they answered; plain JSON. */
export interface MemorizedQuery {
  key: string
  query: number[]
  /** Features of replies, oldest first: [replies][dimensions]. */
  replies: number[][]
}

/** Replies stored under the `k` queries nearest to this one, by Euclidean distance; the earlier of equals. */
export function recall(
  memory: readonly MemorizedQuery[],
  query: ArrayLike<number>,
  k: number,
): readonly (readonly number[])[] {
  return memory
    .map((entry) => ({ entry, distance: distance(entry.query, query) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, k)
    .flatMap(({ entry }) => entry.replies)
}

/** Minus the distance from a reply to the centroid of remembered successes; 0 where there is none. */
export function exploitReward(reply: ArrayLike<number>, successes: readonly (readonly number[])[]): number {
  if (successes.length === 0) return 0
  const centroid = successes[0].map((_, d) => successes.reduce((sum, row) => sum + row[d] / successes.length, 0))
  return -distance(reply, centroid)
}

/** 1 - the largest cosine of a reply with remembered failures; 1 where there is none. From 0 to 2. */
export function exploreReward(reply: ArrayLike<number>, failures: readonly (readonly number[])[]): number {
  if (failures.length === 0) return 1
  return 1 - Math.max(...failures.map((row) => cosine(reply, row)))
}

/** Where a value lies between the least and the largest of a window, which holds it; 0 where those are equal. */
export function minMax(value: number, window: readonly number[], epsilon = 1e-8): number {
  const [low, high] = [Math.min(...window), Math.max(...window)]
  return high === low ? 0 : (value - low) / (high - low + epsilon)
}

function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.hypot(...Array.from(a, (value, d) => value - b[d]))
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const norms = Math.hypot(...Array.from(a)) * Math.hypot(...Array.from(b))
  return norms === 0 ? 0 : Array.from(a).reduce((sum, value, d) => sum + value * b[d], 0) / norms
}

function store(
  memory: readonly MemorizedQuery[],
  key: string,
  query: number[],
  replies: number[][],
  options: { replies: number; queries: number },
): MemorizedQuery[] {
  if (replies.length === 0) return [...memory]
  const known = memory.find((entry) => entry.key === key)
  const entry = { key, query, replies: [...(known?.replies ?? []), ...replies].slice(-options.replies) }
  return [...memory.filter((other) => other !== known), entry].slice(-options.queries)
}

interface MemoryState {
  successes: MemorizedQuery[]
  failures: MemorizedQuery[]
  exploit: number[]
  explore: number[]
}

export interface MemoryOptions {
  /** Weights of both rewards. */
  exploit: number
  explore: number
  /** Queries that are recalled. */
  nearest: number
  /** Steps without the exploration reward. */
  warmup: number
  /** Values of the sliding windows. */
  window: number
  /** Replies remembered of a query, and queries remembered. */
  replies: number
  queries: number
}

/**
 * Adds to rewards how near a reply is to remembered successes and how far from remembered failures. Groups are scored before
 * they are stored. The memory is its state.
 */
export function episodicMemory(options: MemoryOptions, featurize: Featurizer): Shaping {
  // Four decimals are enough for distances and keep checkpoints small.
  const features = (text: string): number[] => Array.from(featurize(text), (value) => Math.round(value * 1e4) / 1e4)
  return (groups, { state, step }) => {
    let { successes, failures, exploit, explore } = (state as unknown as MemoryState | null) ?? {
      successes: [],
      failures: [],
      exploit: [],
      explore: [],
    }
    const scored = groups.map((group) => {
      const query = features(promptOf(group.trajectories[0] ?? { messages: [] }))
      const replies = group.trajectories.map((trajectory) => features(repliesOf(trajectory)))
      const [good, bad] = [recall(successes, query, options.nearest), recall(failures, query, options.nearest)]
      // What was compared with nothing says nothing: it neither counts nor enters the window.
      const exploits = good.length > 0 ? replies.map((reply) => exploitReward(reply, good)) : []
      const explores = bad.length > 0 ? replies.map((reply) => exploreReward(reply, bad)) : []
      exploit = [...exploit, ...exploits].slice(-Math.max(options.window, exploits.length))
      explore = [...explore, ...explores].slice(-Math.max(options.window, explores.length))
      const exploring = step <= options.warmup ? 0 : options.explore
      const bonuses = replies.map(
        (_, i) =>
          (exploits.length > 0 ? options.exploit * minMax(exploits[i], exploit) : 0) +
          (explores.length > 0 ? exploring * minMax(explores[i], explore) : 0),
      )
      return { key: problemDigest(group), query, replies, bonuses }
    })
    scored.forEach(({ key, query, replies }, g) => {
      const ofOutcome = (success: boolean): number[][] =>
        replies.filter((_, i) => groups[g].trajectories[i].outcome.success === success)
      successes = store(successes, key, query, ofOutcome(true), options)
      failures = store(failures, key, query, ofOutcome(false), options)
    })
    return {
      groups: reward(groups, 'memory', (trajectory, g, i) => trajectory.reward + scored[g].bonuses[i]),
      state: { successes, failures, exploit, explore } as unknown as Json,
      metrics: { successes: successes.length, failures: failures.length },
    }
  }
}

const options = {
  ...featureOptions,
  /** Weight of nearness to successes. */
  exploit: z.number().default(1),
  /** Weight of distance to failures. */
  explore: z.number().default(1),
  /** K: queries that are recalled. */
  nearest: z.number().int().positive().default(1),
  /** Steps without the exploration reward. */
  warmup: z.number().int().min(0).default(50),
  /** Values over which both rewards are scaled to [0, 1]. */
  window: z.number().int().min(2).default(100),
  /** Replies remembered of a query. */
  replies: z.number().int().positive().default(100),
  /** Queries remembered, successes and failures each. */
  queries: z.number().int().positive().default(1000),
}

export const memoryPart = objective({
  kind: 'shaping',
  name: 'episodic-memory',
  family: 'exploration',
  summary: 'Rewards replies near to remembered successes of like problems and far from remembered failures.',
  formula: 'R + minmax(-|a - centroid(successes)|) + minmax(1 - max cos(a, failures)), min and max of the last 100',
  reference:
    'Memory-R+, arXiv 2504.02273, scored before stored as its text says; ours: hashed n-grams in place of a sentence encoder, 0 while nothing is remembered, a group enters the window whole',
  standing: 'ours',
  use: 'Small models, sparse rewards, problems that come back. The features know spelling only.',
  rows: ['B209'],
  options: z.strictObject(options),
  make: (given) => episodicMemory(given, (text) => hashedNgrams(text, given.dimensions, given.gram)),
})

export const memoryMethod = objective({
  ...memoryPart,
  kind: 'method',
  name: 'memory-r-plus',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (given) =>
    groupMethod('memory-r-plus', given, { shaping: [{ name: 'episodic-memory', run: memoryPart.make(given) }] }),
})
