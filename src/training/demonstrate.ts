import type { Group, Shown } from '../algorithms/types.js'
import { createRandom, deriveSeed } from '../core/index.js'
import type { Problem, Task } from '../tasks/types.js'
import type { ChatFormat, Message, Tokenizer } from '../text/types.js'
import { Drop, Player, type EpisodeLimits } from './episode.js'

/** A problem solved by the task's own expert. */
export interface Demonstration extends Shown {
  /** The messages before the first reply. */
  opening: Message[]
  replies: string[]
}

/**
 * Plays a problem by the task's `expertReply`, and writes it in tokens exactly as an episode of the policy would be: replies
 * end with the stop token, later turns are appended.
 *
 * @param afterSpace begin replies with a space, as policies do whose first words have the tokens of words within a text
 * @returns null where the task has no expert, its expert does not succeed, or the conversation outgrows the context
 * @example await demonstrate(sort, problem, { chat, contextLength: 512, limits: DEFAULT_LIMITS, seed: 1, afterSpace: false })
 */
export async function demonstrate(
  task: Task,
  problem: Problem,
  options: { chat: ChatFormat; contextLength: number; limits: EpisodeLimits; seed: number; afterSpace: boolean },
): Promise<Demonstration | null> {
  const { chat, contextLength, limits, seed, afterSpace } = options
  const random = createRandom(seed)
  try {
    const player = new Player({
      task,
      problem,
      chat,
      contextLength,
      limits: { turnTimeoutMs: limits.turnTimeoutMs, rewardTimeoutMs: limits.rewardTimeoutMs },
      temperature: 1,
      seedPath: [],
      id: `demonstration of ${problem.key}`,
    })
    const { opening } = player
    while (player.request()) {
      const reply = player.expertReply(random)
      if (reply === null) return null
      const tokens = replyTokens(chat, afterSpace ? ` ${reply}` : reply)
      await player.take({ id: '', tokens, logprobs: tokens.map(() => 0), stopReason: 'stop', version: 0 })
    }
    const { tokens, mask, replies, outcome } = player.finish()
    return outcome.success && tokens.length <= contextLength ? { tokens, mask, opening, replies } : null
  } catch (error) {
    // What is wrong with the task drops its episodes, with their reasons, in the rollout.
    if (error instanceof Drop) return null
    throw error
  }
}

/** Demonstrations for the problems of a step, one a group. */
export function demonstrateAll(
  groups: readonly Group[],
  taskOf: (id: string) => Task,
  options: { chat: ChatFormat; contextLength: number; limits: EpisodeLimits; seedPath: readonly (string | number)[] },
): Promise<(Demonstration | null)[]> {
  const afterSpace = speaksAfterSpace(groups)
  return Promise.all(
    groups.map(({ problem }, i) =>
      demonstrate(taskOf(problem.task), problem, {
        ...options,
        afterSpace,
        seed: deriveSeed(...options.seedPath, i),
      }),
    ),
  )
}

/** Whether most replies of a step begin with a space. */
function speaksAfterSpace(groups: readonly Group[]): boolean {
  const replies = groups.flatMap(({ trajectories }) =>
    trajectories.flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant').slice(0, 1)),
  )
  return replies.filter(({ content }) => content.startsWith(' ')).length * 2 > replies.length
}

/** A reply with the token that ends a turn, as a policy would have sampled it. */
function replyTokens({ tokenizer, continuation }: ChatFormat, reply: string): number[] {
  const next: Message[] = [{ role: 'user', content: 'x' }]
  const [open, closed] = [continuation(next, { closed: false }), continuation(next, { closed: true })]
  const tail = open.slice(0, open.length - closed.length)
  const end = tail.find((token) => tokenizer.stopTokens.includes(token)) ?? tokenizer.stopTokens[0]
  // A reply follows a special token: some tokenizers begin a text that stands alone otherwise.
  const { encodeAfter = tokenizer.encode } = tokenizer as Tokenizer & { encodeAfter?: Tokenizer['encode'] }
  return [...encodeAfter(reply), ...(end === undefined ? [] : [end])]
}
