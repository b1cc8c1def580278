import { MyriadError } from '../core/index.js'
import { answersOf, matchesAnswer } from './answers.js'
import { sentenceBleu, type BleuOptions } from './strings/bleu.js'
import { sentenceChrf, type ChrfOptions } from './strings/chrf.js'
import type { Reward, Transcript } from './types.js'

/** The task's own reward. */
export function taskReward(): Reward {
  return { name: 'task', score: ({ outcome }) => outcome.reward }
}

/** 1 when the last reply was in the form the task asks for, else 0. */
export function format(): Reward {
  return { name: 'format', score: ({ outcome }) => (outcome.wellFormed ? 1 : 0) }
}

/** Where a reward finds the right answers; null: this problem has none. */
export type AnswersOf = (transcript: Transcript) => readonly string[] | null

const answersOfProblem: AnswersOf = ({ problem }) => answersOf(problem)

/**
 * 1 when the last reply is an accepted answer, else 0; null for problems without answers. Upper and lower case, Unicode
 * forms, native digits and a final full stop make no difference.
 *
 * @example exactAnswer({ answers: ({ problem }) => [String(problem.data)] })
 */
export function exactAnswer(options: { answers?: AnswersOf } = {}): Reward {
  const { answers = answersOfProblem } = options
  return {
    name: 'exact',
    score: (transcript) => {
      const accepted = answers(transcript)
      return accepted === null ? null : matchesAnswer(lastReply(transcript), accepted) ? 1 : 0
    },
  }
}

/**
 * chrF in [0, 1] between the last reply and the closest reference; null for problems without references.
 *
 * @example chrf({ wordOrder: 2 }) // chrF++
 */
export function chrf(options: ChrfOptions & { references?: AnswersOf } = {}): Reward {
  const { references = answersOfProblem, ...chrfOptions } = options
  return {
    name: chrfOptions.wordOrder ? 'chrf++' : 'chrf',
    score: (transcript) => {
      const accepted = references(transcript)
      return accepted === null ? null : sentenceChrf(lastReply(transcript), accepted, chrfOptions)
    },
  }
}

/** Sentence BLEU in [0, 1] between the last reply and the references; null for problems without references. */
export function bleu(options: BleuOptions & { references?: AnswersOf } = {}): Reward {
  const { references = answersOfProblem, ...bleuOptions } = options
  return {
    name: 'bleu',
    score: (transcript) => {
      const accepted = references(transcript)
      return accepted === null ? null : sentenceBleu(lastReply(transcript), accepted, bleuOptions)
    },
  }
}

/**
 * A cost for talking long: 0 up to `free` letters in all replies together, falling evenly to -1 at `limit` and beyond.
 * Letters are what a reader sees (grapheme clusters), so a script is not punished for its encoding.
 *
 * The shape is the soft overlong punishment of DAPO (arXiv:2503.14476), in letters in place of tokens.
 */
export function lengthPenalty(options: { free: number; limit: number }): Reward {
  const { free, limit } = options
  if (!(free >= 0 && limit > free))
    throw new MyriadError('usage', `lengthPenalty: needs 0 <= free < limit, got free ${free} and limit ${limit}`)
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
  return {
    name: 'length',
    score: ({ replies }) => {
      let length = 0
      for (const reply of replies) for (const _ of segmenter.segment(reply)) length++
      return 0 - Math.min(1, Math.max(0, (length - free) / (limit - free)))
    },
  }
}

function lastReply({ replies }: Transcript): string {
  return replies[replies.length - 1] ?? ''
}
