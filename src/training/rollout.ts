import type { Group, Trajectory } from '../algorithms/types.js'
import { MyriadError, messageOf } from '../core/index.js'
import type { Completion, Policy, SampleRequest } from '../policy/types.js'
import type { Problem, Task } from '../tasks/types.js'
import type { ChatFormat } from '../text/types.js'
import { Drop, Player, type DropReason, type EpisodeLimits, type PlayedEpisode } from './episode.js'
import type { Score, Scorer } from './scoring.js'
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
  /** Play it once more, greedily, for `greedyReward` of its group. */
  greedy?: boolean
  /** Replies to go on from, as tokens: whole ones, and the beginning of the next. */
  begin?: { whole: readonly (readonly number[])[]; beginning: readonly number[] }
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
  /** One per item, in order; a group lacks the trajectories that were dropped, and greedy ones beyond their reward. */
  groups: Group[]
  dropped: DroppedEpisode[]
  /** Tokens the policy sampled, those of greedy and dropped trajectories included. */
  sampledTokens: number
}

/**
 * Plays episodes of many problems side by side through one call of `policy.sample`: while some wait for their world's
 * answer others are being sampled, and an episode that ends makes room at once (continuous batching across turns).
 * Trajectories are scored as they finish, or, by rewards that compare, as the last of their group does. What a task or reward does wrong costs that trajectory only.
 *
 * @example
 * const { groups } = await rollout({ policy, chat, items: [{ task, problem, samples: 8, temperature: 1 }], score,
 *   limits: DEFAULT_LIMITS, seedPath: [seed, 'sample', step] })
 */
export async function rollout(options: RolloutOptions): Promise<Rollout> {
  const { policy, chat, items, score, limits, seedPath, onEpisode } = options
  const episodesOf = (item: RolloutItem): number => item.samples + (item.greedy ? 1 : 0)
  const slots: (Trajectory | null)[][] = items.map((item) => Array.from({ length: episodesOf(item) }, () => null))
  const total = items.reduce((sum, item) => sum + episodesOf(item), 0)
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
  const left = items.map(episodesOf)
  const finished: { episode: PlayedEpisode; index: number }[][] = items.map(() => [])
  const end = (group: number): void => {
    onEpisode?.(++done, total)
    if (--left[group] > 0 && score.group) return
    const ready = finished[group].splice(0).sort((a, b) => a.index - b.index)
    if (ready.length === 0) return
    const { task } = items[group]
    const episodes = ready.map(({ episode }) => episode)
    const scored = applyScore(task, episodes, score, limits.rewardTimeoutMs).then((trajectories) =>
      trajectories.forEach((trajectory, i) => {
        if (trajectory instanceof Error) drop(task, trajectory)
        else slots[group][ready[i].index] = trajectory
      }),
    )
    scoring.push(scored)
  }
  const finish = (id: string): void => {
    const { player, group, index } = players.get(id)!
    players.delete(id)
    finished[group].push({ episode: player.finish(), index })
    end(group)
  }

  const requests: SampleRequest[] = []
  // Episodes of many turns go first: begun last, they would run on alone while the other slots stand empty.
  const longestFirst = [...items.entries()].sort(([, a], [, b]) => b.task.maxTurns - a.task.maxTurns)
  for (const [group, item] of longestFirst) {
    for (let index = 0; index < episodesOf(item); index++) {
      const id = `${group}.${index}`
      try {
        const player = new Player({
          ...item,
          // The one after the samples is the greedy one.
          temperature: index < item.samples ? item.temperature : 0,
          chat,
          contextLength: policy.contextLength,
          limits,
          seedPath: [...seedPath, group, index],
          id,
        })
        players.set(id, { player, item, group, index })
        if (item.begin) await player.begin(item.begin.whole, item.begin.beginning)
        const request = player.request()
        if (request) requests.push(request)
        else finish(id)
      } catch (error) {
        players.delete(id)
        drop(item.task, error)
        end(group)
      }
    }
  }

  const next = async (completion: Completion): Promise<SampleRequest | null> => {
    // Replicas may go on for a moment after one of them has given up; nothing of that counts.
    if (options.signal?.aborted) return null
    const { player, item, group } = players.get(completion.id)!
    sampledTokens += completion.tokens.length
    try {
      await player.take(completion)
    } catch (error) {
      players.delete(completion.id)
      drop(item.task, error)
      end(group)
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
  const groups = items.map(({ problem, samples }, i): Group => {
    const greedyReward = slots[i][samples]?.reward
    const trajectories = slots[i].slice(0, samples).filter((trajectory) => trajectory !== null)
    return { problem, trajectories, ...(greedyReward !== undefined && { greedyReward }) }
  })
  return { groups, dropped, sampledTokens }
}

/** Trajectories of episodes of one problem, in order; a Drop in the place of one whose score failed. */
async function applyScore(
  task: Task,
  episodes: readonly PlayedEpisode[],
  score: Scorer,
  timeoutMs: number,
): Promise<(Trajectory | Drop)[]> {
  const fit = episodes.filter(({ outcome }) => Number.isFinite(outcome.reward))
  const transcripts = fit.map(({ problem, messages, replies, outcome }) => ({
    task,
    problem,
    messages,
    replies,
    outcome,
  }))
  const ask = async (): Promise<(Score | Error)[]> =>
    score.group ? score.group(transcripts) : Promise.all(transcripts.map((transcript) => score(transcript)))
  const scores = await withTimeout(ask, timeoutMs).catch((error: unknown) =>
    fit.map(() => (error instanceof Error ? error : new Error(messageOf(error)))),
  )
  return episodes.map((episode) => {
    const { replies: _, ...rest } = episode
    const { problem, outcome } = episode
    const where = `task "${task.id}" (${problem.language})`
    const index = fit.indexOf(episode)
    if (index < 0) return new Drop('reward-not-finite', `${where} answered the reward ${outcome.reward}`)
    const scored = scores[index]
    if (scored instanceof Error) return dropOf(scored, where, timeoutMs)
    const { reward, parts, languageConsistent } = scored
    return { ...rest, reward, rewardParts: parts, languageConsistent }
  })
}

function dropOf(error: Error, where: string, timeoutMs: number): Drop {
  // A reward that threw is the cause of the error; without one, what it answered was not a finite number.
  const unfit = error instanceof MyriadError && error.code === 'reward' && error.cause === undefined
  const reason = unfit ? 'reward-not-finite' : 'reward-error'
  const what = error instanceof Timeout ? `the rewards did not answer within ${timeoutMs} ms` : messageOf(error)
  return new Drop(reason, `${where}: ${what}`, { cause: error })
}

/** How many trajectories were dropped, by reason. */
export function countDropped(dropped: readonly DroppedEpisode[]): Record<string, number> {
  const counts: Record<string, number> = {}
  // Sorted: the order in which asynchronous rewards fail is not reproducible, the metrics are.
  for (const { reason } of dropped.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)))
    counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
