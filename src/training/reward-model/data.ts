import type { ScoreItem } from '../../algorithms/reward-model/index.js'
import { MyriadError, type Random } from '../../core/index.js'
import { stepScorables, type Scorable } from '../../rewards/learned/index.js'

/** Of two replies to a prompt the better one. */
export interface PreferencePair {
  prompt: string
  chosen: string
  rejected: string
  /** By how much the chosen one is better, in units of score. */
  margin?: number
  /** How sure that is, in [0, 1]; 1 unless given. */
  probability?: number
  /** BCP 47; accuracy is told by it. */
  language?: string
  /** From 0: the expert that a router is taught for it. */
  category?: number
}

/** Replies to a prompt in order. */
export interface Ranking {
  prompt: string
  replies: readonly string[]
  /** 0 the best, equal ones are ties: [replies]; the order of the replies unless given. */
  ranks?: readonly number[]
  language?: string
  category?: number
}

/** Ratings of a reply. */
export interface RatedReply {
  prompt: string
  reply: string
  /** Of each head, null where there is none; a number where there is one head. */
  ratings: number | readonly (number | null)[]
  language?: string
  category?: number
}

/** A solution with a label of each step: 1 right, 0 wrong, or between; null where there is none. */
export interface LabelledSteps {
  prompt: string
  steps: readonly string[]
  labels: readonly (number | null)[]
  language?: string
  category?: number
}

/** What a reward model is trained on. */
export type RewardData =
  | { kind: 'pairs'; pairs: readonly PreferencePair[] }
  | { kind: 'rankings'; rankings: readonly Ranking[] }
  | { kind: 'ratings'; ratings: readonly RatedReply[] }
  | { kind: 'steps'; solutions: readonly LabelledSteps[] }

/** What is drawn and judged together: a pair, a ranking, a rated reply, a solution. */
export interface Unit {
  prompt: string
  language: string | undefined
  category: number
  samples: readonly Scorable[]
  /** Of each sample; `comparison` is set when a batch is made. */
  items: readonly ScoreItem[]
}

/**
 * Data as units.
 *
 * @throws MyriadError 'usage' naming the entry and what is wrong with it
 */
export function unitsOf(data: RewardData, heads: number): Unit[] {
  switch (data.kind) {
    case 'pairs':
      return data.pairs.map(({ chosen, rejected, margin, probability, ...rest }) =>
        unit(rest, [chosen, rejected], [{ rank: 0, margin, probability }, { rank: 1 }]),
      )
    case 'rankings':
      return data.rankings.map(({ replies, ranks = replies.map((_, i) => i), ...rest }, i) => {
        if (ranks.length !== replies.length || replies.length < 2)
          throw new MyriadError(
            'usage',
            `ranking ${i}: ${replies.length} replies and ${ranks.length} ranks; two are needed`,
          )
        return unit(
          rest,
          replies,
          ranks.map((rank) => ({ rank })),
        )
      })
    case 'ratings':
      return data.ratings.map(({ reply, ratings, ...rest }, i) => {
        const labels = typeof ratings === 'number' ? [ratings] : ratings.map((rating) => rating ?? NaN)
        if (labels.length !== heads || labels.some((label) => Math.abs(label) === Infinity))
          throw new MyriadError(
            'usage',
            `rating ${i}: [${labels}] for ${heads} heads; finite numbers, or null for none`,
          )
        return unit(rest, [reply], [{ labels }])
      })
    case 'steps':
      return data.solutions.map(({ steps, labels, ...rest }, i) => {
        if (steps.length !== labels.length || steps.length === 0)
          throw new MyriadError('usage', `solution ${i}: ${steps.length} steps and ${labels.length} labels`)
        if (labels.some((label) => label !== null && !(label >= 0 && label <= 1)))
          throw new MyriadError('usage', `solution ${i}: labels [${labels}] of steps are in [0, 1], or null`)
        return {
          ...unit(
            rest,
            steps,
            labels.map((label) => ({ labels: [label ?? NaN] })),
          ),
          samples: stepScorables(rest.prompt, steps),
        }
      })
  }
}

function unit(
  { prompt, language, category = NaN }: { prompt: string; language?: string; category?: number },
  replies: readonly string[],
  items: readonly ScoreItem[],
): Unit {
  return { prompt, language, category, samples: replies.map((reply) => ({ prompt, reply })), items }
}

/**
 * Splits units so that no prompt is on both sides. With fewer than two prompts nothing is held out.
 *
 * @param share of prompts held out, rounded up
 */
export function splitByPrompt(
  units: readonly Unit[],
  share: number,
  random: Random,
): { train: Unit[]; heldOut: Unit[] } {
  const prompts = random.shuffle([...new Set(units.map(({ prompt }) => prompt))])
  const count = share > 0 && prompts.length > 1 ? Math.min(prompts.length - 1, Math.ceil(share * prompts.length)) : 0
  const held = new Set(prompts.slice(0, count))
  return {
    train: units.filter(({ prompt }) => !held.has(prompt)),
    heldOut: units.filter(({ prompt }) => held.has(prompt)),
  }
}
