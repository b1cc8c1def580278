import type { Group, Trajectory } from '../algorithms/types.js'
import { MyriadError, messageOf } from '../core/index.js'
import type { Completion, Policy, SampleRequest } from '../policy/types.js'
import type { Problem, Task } from '../tasks/types.js'
import type { ChatFormat } from '../text/types.js'
import { Drop, Player, type DropReason, type EpisodeLimits, type PlayedEpisode } from './episode.js'
import type { Scorer } from './scoring.js'
import { Timeout, withTimeout } from './timeout.js'

/** A problem to be played by a group. */
export interface RolloutItem {
  task: Task
  problem: Problem
  samples: number
  /** 0 is greedy. */
  temperature: number
  /** Keep what the task says that turns earned on their way (true). */
  turnRewards?: boolean
}

export interface RolloutOptions {
  policy: Policy
  chat: ChatFormat
  items: readonly RolloutItem[]
  score: Scorer
  limits: EpisodeLimits
  /** Seeds derive from these labels followed by group, sample and turn. */
  seedPath: readonly (string | number)[]
  /** Called as episodes end. */
  onEpisode?: (done: number, total: number) => void
  signal?: AbortSignal
}

/** A trajectory that was dropped, and why. */
export interface DroppedEpisode {
  reason: DropReason
  task: string
  message: string
}

export interface Rollout {
  /** One per item, in order; a group lacks the trajectories that were dropped. */
  groups: Group[]
  dropped: DroppedEpisode[]
  /** Tokens the policy sampled, those of dropped trajectories included. */
  sampledTokens: number
}

/**
 * Plays episodes of many problems side by side through one call of `policy.sample`: while some wait for their world's
 * answer others are being sampled, and an episode that ends makes room at once (continuous batching across turns).
 * Trajectories are scored as they finish. What a task or reward does wrong costs that trajectory only.
 *
 * @example
 * const { groups } = await rollout({ policy, chat, items: [{ task, problem, samples: 8, temperature: 1 }], score,
 *   limits: DEFAULT_LIMITS, seedPath: [seed, 'sample', step] })
 */
export async function rollout(options: RolloutOptions): Promise<Rollout> {
  const { policy, chat, items, score, limits, seedPath, onEpisode } = options
  const slots: (Trajectory | null)[][] = items.map((item) => Array.from({ length: item.samples }, () => null))
  const total = items.reduce((sum, item) => sum + item.samples, 0)
  const players = new Map<string, { player: Player; item: RolloutItem; group: number; index: number }>()
  const scoring: Promise<void>[] = []
  const dropped: DroppedEpisode[] = []
  let done = 0
  let sampledTokens = 0

  const drop = (task: Task, error: unknown): void => {
    // Anything but a Drop is a fault of ours and must not be counted as a task's.
    if (!(error instanceof Drop)) throw error
    dropped.push({ reason: error.reason, task: task.id, message: error.message })
  }
  const end = (): void => onEpisode?.(++done, total)
  const finish = (id: string): void => {
    const { player, item, group, index } = players.get(id)!
    players.delete(id)
    end()
    const episode = player.finish()
    const scored = applyScore(item.task, episode, score, limits.rewardTimeoutMs).then(
      (trajectory) => void (slots[group][index] = trajectory),
      (error: unknown) => drop(item.task, error),
    )
    scoring.push(scored)
  }

  const requests: SampleRequest[] = []
  // Episodes of many turns go first: begun last, they would run on alone while the other slots stand empty.
  const longestFirst = [...items.entries()].sort(([, a], [, b]) => b.task.maxTurns - a.task.maxTurns)
  for (const [group, item] of longestFirst) {
    for (let index = 0; index < item.samples; index++) {
      const id = `${group}.${index}`
      try {
        const player = new Player({
          ...item,
          chat,
          contextLength: policy.contextLength,
          limits,
          seedPath: [...seedPath, group, index],
          id,
        })
        players.set(id, { player, item, group, index })
        const request = player.request()
        if (request) requests.push(request)
        else finish(id)
      } catch (error) {
        drop(item.task, error)
        end()
      }
    }
  }

  const next = async (completion: Completion): Promise<SampleRequest | null> => {
    // Replicas may go on for a moment after one of them has given up; nothing of that counts.
    if (options.signal?.aborted) return null
    const { player, item } = players.get(completion.id)!
    sampledTokens += completion.tokens.length
    try {
      await player.take(completion)
    } catch (error) {
      players.delete(completion.id)
      drop(item.task, error)
      end()
      return null
    }
    const request = player.request()
    if (!request) finish(completion.id)
    return request
  }
  if (requests.length > 0) await policy.sample(requests, { next, signal: options.signal })
  await Promise.all(scoring)
  if (players.size > 0) {
    throw new MyriadError('runtime', `the policy left ${players.size} of ${total} episodes without a completion`)
  }
  const groups = items.map(({ problem }, i) => ({
    problem,
    trajectories: slots[i].filter((trajectory) => trajectory !== null),
  }))
  return { groups, dropped, sampledTokens }
}

async function applyScore(task: Task, episode: PlayedEpisode, score: Scorer, timeoutMs: number): Promise<Trajectory> {
  const { replies, ...rest } = episode
  const { problem, messages, outcome } = episode
  const where = `task "${task.id}" (${problem.language})`
  if (!Number.isFinite(outcome.reward)) {
    throw new Drop('reward-not-finite', `${where} answered the reward ${outcome.reward}`)
  }
  try {
    const transcript = { task, problem, messages, replies, outcome }
    const { reward, parts, languageConsistent } = await withTimeout(() => score(transcript), timeoutMs)
    return { ...rest, reward, rewardParts: parts, languageConsistent }
  } catch (error) {
    // A reward that threw is the cause of the error; without one, what it answered was not a finite number.
    const unfit = error instanceof MyriadError && error.code === 'reward' && error.cause === undefined
    const reason = unfit ? 'reward-not-finite' : 'reward-error'
    const what = error instanceof Timeout ? `the rewards did not answer within ${timeoutMs} ms` : messageOf(error)
    throw new Drop(reason, `${where}: ${what}`, { cause: error })
  }
}

/** How many trajectories were dropped, by reason. */
export function countDropped(dropped: readonly DroppedEpisode[]): Record<string, number> {
  const counts: Record<string, number> = {}
  // Sorted: the order in which asynchronous rewards fail is not reproducible, the metrics are.
  for (const { reason } of dropped.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)))
    counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
