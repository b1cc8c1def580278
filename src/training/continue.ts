import type { Algorithm, Group, LearnContext } from '../algorithms/types.js'
import type { Demonstration } from './demonstrate.js'
import type { PlayOptions } from './play.js'
import { rollout, type Rollout, type RolloutItem } from './rollout.js'

/**
 * Plays, for every group that has a demonstration, the episodes that go on from its beginning, `needs.continuations` each. What
 * they cost is added to `play`.
 *
 * @param demonstrations one per group
 * @returns the groups with their continuations; those without a demonstration as they are
 */
export async function playContinuations(
  groups: readonly Group[],
  demonstrations: readonly (Demonstration | null)[],
  algorithm: Pick<Algorithm, 'needs' | 'prefixLength'>,
  context: LearnContext,
  options: Omit<PlayOptions, 'curriculum' | 'needs'>,
  play: Rollout,
): Promise<Group[]> {
  const { policy, chat, tasks, score, config, step } = options
  const items: RolloutItem[] = []
  const places: number[] = []
  groups.forEach(({ problem }, g) => {
    const shown = demonstrations[g]
    if (!shown) return
    const replies = repliesOf(shown)
    const length = replies.reduce((sum, reply) => sum + reply.length, 0)
    const { task, turnRewards } = tasks.find((candidate) => candidate.task.id === problem.task)!
    for (let index = 0; index < (algorithm.needs.continuations ?? 0); index++) {
      const asked = algorithm.prefixLength?.(length, context, g, index) ?? 0
      const begin = cut(replies, Math.max(0, Math.min(asked, length - 1)))
      items.push({ task, problem, samples: 1, temperature: config.temperature, turnRewards, begin })
      places.push(g)
    }
  })
  const continued = await rollout({
    policy,
    chat,
    items,
    score,
    limits: config.limits,
    seedPath: [config.seed, 'continue', step],
  })
  play.dropped.push(...continued.dropped)
  play.sampledTokens += continued.sampledTokens
  return groups.map((group, g) => {
    const continuations = continued.groups.flatMap(({ trajectories }, i) => (places[i] === g ? trajectories : []))
    return places.includes(g) ? { ...group, continuations } : group
  })
}

/** The solver's replies as tokens. */
function repliesOf({ tokens, mask }: Demonstration): number[][] {
  const replies: number[][] = []
  tokens.forEach((token, t) => {
    if (!mask[t]) return
    if (!mask[t - 1]) replies.push([])
    replies[replies.length - 1].push(token)
  })
  return replies
}

/** The first `length` tokens of replies: whole ones, and the beginning of the next. */
function cut(replies: readonly number[][], length: number): { whole: number[][]; beginning: number[] } {
  const whole: number[][] = []
  let left = length
  for (const reply of replies) {
    if (left < reply.length) return { whole, beginning: reply.slice(0, left) }
    whole.push(reply)
    left -= reply.length
  }
  return { whole, beginning: [] }
}
