import type { Trajectory } from '../algorithms/types.js'
import { deriveSeed, MyriadError, messageOf, type Random } from '../core/index.js'
import type { Completion, SampleRequest, StopReason } from '../policy/types.js'
import type { Episode, Outcome, Problem, Task, Turn } from '../tasks/types.js'
import type { ChatFormat, Message } from '../text/types.js'
import { Timeout, withTimeout } from './timeout.js'

/** Bounds on an episode. What is left out is unbounded, or bounded by the task. */
export interface EpisodeLimits {
  /** Most replies; fewer than the task's own limit truncates its episodes. */
  maxTurns?: number
  /** Most tokens of one reply. */
  maxReplyTokens?: number
  /** How long a task may take to answer a reply. */
  turnTimeoutMs: number
  /** How long the rewards of an episode may take. */
  rewardTimeoutMs: number
}

/** Limits where nothing else is said. */
export const DEFAULT_LIMITS: EpisodeLimits = { turnTimeoutMs: 10_000, rewardTimeoutMs: 60_000 }

/** Why a trajectory was dropped. */
export type DropReason = 'task-error' | 'task-timeout' | 'turn-limit' | 'reward-error' | 'reward-not-finite'

/** A trajectory that cannot be used; thrown inside a rollout, counted by it. */
export class Drop extends Error {
  readonly reason: DropReason
  constructor(reason: DropReason, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
  }
}

/** An episode that has ended, before it is scored. */
export type PlayedEpisode = Omit<Trajectory, 'reward' | 'rewardParts' | 'languageConsistent'> & { replies: string[] }

export interface PlayerOptions {
  task: Task
  problem: Problem
  chat: ChatFormat
  contextLength: number
  limits: EpisodeLimits
  temperature: number
  /** Keep what turns earned on their way (true). */
  turnRewards?: boolean
  /** Labels of this episode; the turn is added to derive each reply's seed. */
  seedPath: readonly (string | number)[]
  id: string
}

/** A truncated episode has not been won. */
const TRUNCATED: Outcome = { reward: 0, success: false, wellFormed: false }

/**
 * One episode as tokens, turn by turn. Every id is either sampled by the policy or appended by the chat format; nothing
 * that was sampled is tokenized again.
 */
export class Player {
  private readonly options: PlayerOptions
  private readonly episode: Episode
  private readonly messages: Message[]
  private readonly replies: string[] = []
  private readonly tokens: number[]
  private readonly mask: number[]
  private readonly logprobs: number[]
  /** 1 on tokens of replies that were given: [tokens] */
  private readonly given: number[]
  /** The beginning of the next reply. */
  private beginning: readonly number[] = []
  /** Of each turn; undefined where the task does not say: [turns] */
  private readonly earned: (number | undefined)[] = []
  private stopReason: StopReason = 'context'
  private version = 0
  private outcome: Outcome | null = null

  /** @throws Drop 'task-error' when the task cannot be played */
  constructor(options: PlayerOptions) {
    this.options = options
    try {
      this.episode = options.task.play(options.problem)
      this.messages = [...this.episode.messages]
      this.tokens = options.chat.prompt(this.messages)
    } catch (error) {
      throw new Drop('task-error', `task "${options.task.id}" could not be played: ${messageOf(error)}`, {
        cause: error,
      })
    }
    this.mask = this.tokens.map(() => 0)
    this.logprobs = this.tokens.map(() => 0)
    this.given = this.tokens.map(() => 0)
  }

  /** The messages before the first reply. */
  get opening(): Message[] {
    return [...this.episode.messages]
  }

  /** What the task's expert would say now; null where it has none. */
  expertReply(random: Random): string | null {
    try {
      return this.episode.expertReply?.(random) ?? null
    } catch (error) {
      const message = `task "${this.options.task.id}": its expert failed: ${messageOf(error)}`
      throw new Drop('task-error', message, { cause: error })
    }
  }

  /** The request for the next reply, or null when the episode is over. */
  request(): SampleRequest | null {
    const { options, tokens } = this
    if (this.outcome) return null
    const room = options.contextLength - tokens.length
    const turn = this.replies.length
    const cut = options.limits.maxTurns !== undefined && turn >= options.limits.maxTurns
    if (room <= 0 || cut) {
      // Cut by a limit: the last reply may have ended with the policy's own stop, the episode did not.
      this.stopReason = room <= 0 ? 'context' : 'length'
      this.outcome = TRUNCATED
      return null
    }
    const longest = Math.min(options.task.maxReplyTokens, options.limits.maxReplyTokens ?? Infinity)
    return {
      id: options.id,
      tokens: [...tokens],
      maxTokens: Math.max(1, Math.min(longest - this.beginning.length, room)),
      seed: deriveSeed(...options.seedPath, turn),
      temperature: options.temperature,
    }
  }

  /**
   * Gives replies to go on from, as tokens: whole ones that end with a stop token, which the task answers, and the beginning of
   * the next one, which may be empty.
   *
   * @throws Drop as `take` does
   */
  async begin(whole: readonly (readonly number[])[], beginning: readonly number[]): Promise<void> {
    for (const tokens of whole) {
      this.push(tokens, 'given')
      await this.answer(tokens)
    }
    if (this.outcome) return
    this.push(beginning, 'given')
    this.beginning = beginning
  }

  /**
   * Takes a reply and lets the task answer it.
   *
   * @throws Drop when the task throws, does not answer in time, goes on past its own turn limit, or pays what is not finite
   */
  async take(completion: Completion): Promise<void> {
    this.push(completion.tokens, 'sampled', completion.logprobs)
    this.stopReason = completion.stopReason
    this.version = completion.version
    await this.answer([...this.beginning, ...completion.tokens])
    this.beginning = []
  }

  /** Lets the task answer a reply whose tokens are there already. */
  private async answer(tokens: readonly number[]): Promise<void> {
    const { chat, task } = this.options
    const { tokenizer } = chat
    const reply = tokenizer.decode(tokens)
    this.replies.push(reply)
    this.messages.push({ role: 'assistant', content: reply })
    const turn = await this.respond(reply)
    this.messages.push(...turn.messages)
    this.earned.push(turn.reward)
    if (turn.done) {
      this.outcome = turn.outcome!
      return
    }
    if (this.replies.length >= task.maxTurns) {
      throw new Drop('turn-limit', `task "${task.id}" did not end after its ${task.maxTurns} turns`)
    }
    const last = tokens.at(-1)
    this.append(turn.messages, last !== undefined && tokenizer.stopTokens.includes(last))
  }

  /** The episode, once `request` has answered null. */
  finish(): PlayedEpisode {
    const { problem } = this.options
    const { tokens, messages, replies, earned, outcome, stopReason, version } = this
    const isPaid = (this.options.turnRewards ?? true) && earned.some((reward) => reward !== undefined)
    if (!outcome) throw new MyriadError('runtime', `episode ${this.options.id} has not ended`)
    return {
      problem,
      tokens,
      mask: Uint8Array.from(this.mask),
      ...(this.given.includes(1) && { given: Uint8Array.from(this.given) }),
      logprobs: Float32Array.from(this.logprobs),
      messages,
      replies,
      outcome,
      ...(isPaid && { turnRewards: earned.map((reward) => reward ?? 0) }),
      stopReason,
      version,
      turns: replies.length,
    }
  }

  private push(tokens: readonly number[], by: 'sampled' | 'given' | 'world', logprobs?: readonly number[]): void {
    for (const [i, token] of tokens.entries()) {
      this.tokens.push(token)
      this.mask.push(by === 'sampled' ? 1 : 0)
      this.given.push(by === 'given' ? 1 : 0)
      this.logprobs.push(logprobs?.[i] ?? 0)
    }
  }

  private append(messages: readonly Message[], closed: boolean): void {
    try {
      this.push(this.options.chat.continuation(messages, { closed }), 'world')
    } catch (error) {
      const message = `task "${this.options.task.id}": its messages do not fit the chat format: ${messageOf(error)}`
      throw new Drop('task-error', message, { cause: error })
    }
  }

  private async respond(reply: string): Promise<Turn> {
    const { task, limits, problem } = this.options
    const where = `task "${task.id}" (${problem.language}), turn ${this.replies.length}`
    try {
      const turn = await withTimeout((signal) => this.episode.respond(reply, { signal }), limits.turnTimeoutMs)
      if (!Array.isArray(turn.messages)) throw new MyriadError('task', 'the answer has no list of messages')
      if (turn.done && !turn.outcome) throw new MyriadError('task', 'the episode is done but has no outcome')
      if (turn.reward !== undefined && !Number.isFinite(turn.reward))
        throw new Drop('reward-not-finite', `${where}: the task answered the reward ${turn.reward} for the turn`)
      return turn
    } catch (error) {
      if (error instanceof Drop) throw error
      if (error instanceof Timeout) {
        throw new Drop('task-timeout', `${where}: no answer within ${limits.turnTimeoutMs} ms`, { cause: error })
      }
      throw new Drop('task-error', `${where}: ${messageOf(error)}`, { cause: error })
    }
  }
}
