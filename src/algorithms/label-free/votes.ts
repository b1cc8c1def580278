import { z } from 'zod'
import { FIRST_STEP } from '../compose.js'
import { answerExtractor, answerOptions, type AnswerExtractor } from '../exploration/answers.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { reward } from '../multi/statistics.js'
import { objective, type Shaping } from '../objective.js'
import type { Algorithm } from '../types.js'

/** How often each answer was given, in order of first appearance. Missing ones are not counted. */
export function tally(answers: readonly (string | null)[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const answer of answers) if (answer !== null) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  return counts
}

/**
 * The most common answer; the first given of equals. Missing answers (null) are no candidates, but count as votes: null is
 * the result where no answer has at least `minimumShare` of all.
 *
 * @param minimumShare from 0 to 1
 * @example majorityVote(['7', '8', null, '7']) // '7'
 */
export function majorityVote(answers: readonly (string | null)[], minimumShare = 0): string | null {
  let winner: string | null = null
  let most = 0
  for (const [answer, count] of tally(answers)) if (count > most) [winner, most] = [answer, count]
  return winner !== null && most >= minimumShare * answers.length ? winner : null
}

/** Rewards become 1 for the answer of the majority, else 0; all 0 where there is no majority. */
export function voteShaping(minimumShare: number, extract: AnswerExtractor): Shaping {
  return (groups) => {
    const votes = groups.map(({ trajectories }) => majorityVote(trajectories.map(extract), minimumShare))
    const undecided = votes.filter((vote) => vote === null).length
    return {
      groups: reward(groups, 'vote', (trajectory, g) => Number(votes[g] !== null && extract(trajectory) === votes[g])),
      metrics: { undecided: groups.length === 0 ? 0 : undecided / groups.length },
    }
  }
}

/** Learns from the first `count` trajectories of each group only, after `shaping` saw them all. */
function learnFirst(algorithm: Algorithm, shaping: Shaping, count: number): Algorithm {
  return {
    ...algorithm,
    learn: (groups, context = FIRST_STEP) => {
      const { groups: shaped, metrics } = shaping(groups, context)
      const lesson = algorithm.learn(
        shaped.map((group) => ({ ...group, trajectories: group.trajectories.slice(0, count) })),
        context,
      )
      const rest = groups.map(({ trajectories }) =>
        trajectories.slice(count).map(({ tokens }) => new Float32Array(tokens.length)),
      )
      return {
        ...lesson,
        advantages: lesson.advantages.map((rows, g) => [...rows, ...rest[g]]),
        metrics: {
          ...lesson.metrics,
          ...Object.fromEntries(Object.entries(metrics ?? {}).map(([name, value]) => [`majority-vote.${name}`, value])),
        },
      }
    },
  }
}

const options = {
  ...answerOptions,
  /** Share of the votes that a majority needs; else the group teaches nothing. */
  minimumShare: z.number().min(0).max(1).default(0),
}

export const votePart = objective({
  kind: 'shaping',
  name: 'majority-vote',
  family: 'label-free',
  summary: 'The answer most samples agree on is taken for right: 1 for it, 0 for others.',
  formula: 'R_i = 1[a_i = a*], a* the most common answer of the group (first of equals), where its share >= minimum',
  reference: 'TTRL, arXiv 2504.16084; ours: missing answers are no candidates (its code lets them win), minimum share',
  standing: 'source',
  use: 'No labels, and a policy whose majority is right more often than not. It makes confident errors firmer.',
  rows: ['A105', 'B062'],
  options: z.strictObject(options),
  make: ({ minimumShare, answer }) => voteShaping(minimumShare, answerExtractor(answer)),
})

export const ttrl = objective({
  ...votePart,
  kind: 'method',
  name: 'ttrl',
  options: z.strictObject({
    ...groupMethodOptions,
    ...options,
    /** Learn from so many samples of a group only (32 of 64 in the paper); all of them vote. All unless given. */
    learners: z.number().int().positive().optional(),
  }),
  make: (given) => {
    const shaping = votePart.make(given)
    return learnFirst(groupMethod('ttrl', given), shaping, given.learners ?? Infinity)
  },
})
