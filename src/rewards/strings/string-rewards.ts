import { z } from 'zod'
import { reward, type RewardDeclaration } from '../declaration.js'
import { lastReply, referencesOf } from '../references.js'
import type { Reward, Transcript } from '../types.js'
import { swapDistance } from './edit-distance.js'
import { errorRates } from './error-rates.js'
import { meteor } from './meteor.js'
import { rougeL, rougeLsum, rougeN, type PrecisionRecall, type RougeOptions } from './rouge.js'
import { squadExact, squadF1 } from './squad.js'
import { sentenceTer } from './ter.js'

/**
 * Most code units of a reply that is compared: what is beyond counts as wrong by its absence. Comparisons whose time grows with
 * the square of a length would let an endless reply stop a run.
 */
const MOST_COMPARED = 4000

/** A reward that compares the last reply with the reference it is best by. */
function best(name: string, score: (reply: string, reference: string, transcript: Transcript) => number): Reward {
  return {
    name,
    score: (transcript) => {
      const references = referencesOf(transcript)
      if (references === null) return null
      const reply = lastReply(transcript).slice(0, MOST_COMPARED)
      return Math.max(...references.map((reference) => score(reply, reference, transcript)))
    },
  }
}

const applies = 'problems with references (data.answer, data.answers, data.references) or a solver; null elsewhere'
const common = { group: 'strings', codes: ['R2'], range: '[0, 1]', applies } as const

const rougeOptions = z.strictObject({
  words: z.enum(['rouge', 'space', 'segmenter']).default('segmenter'),
  measure: z.enum(['f', 'precision', 'recall']).default('f'),
})

function rouge(
  name: string,
  summary: string,
  score: (reply: string, reference: string, options: RougeOptions) => PrecisionRecall,
): RewardDeclaration {
  return reward({
    ...common,
    name,
    summary,
    reference: 'Lin 2004; with words "rouge" equal to rouge-score without stemming',
    options: rougeOptions,
    make: ({ words, measure }) =>
      best(name, (reply, text, { problem }) => score(reply, text, { words, language: problem.language })[measure]),
  }) as RewardDeclaration
}

const squadOptions = z.strictObject({ normalization: z.enum(['squad', 'unicode']).default('unicode') })

/** An error rate as a reward: 1 for no error, falling to 0 where there are as many errors as the reference is long. */
function fewErrors(rate: () => number): number {
  try {
    return Math.max(0, 1 - rate())
  } catch (error) {
    if (error instanceof RangeError) return 0
    throw error
  }
}

/** Rewards from metrics of strings. */
export const stringRewards: readonly RewardDeclaration[] = [
  reward({
    ...common,
    name: 'ter',
    summary: '1 minus the translation edit rate, at least 0',
    reference: 'Snover et al. 2006; equal to sacreBLEU',
    options: z.strictObject({
      normalized: z.boolean().default(false),
      noPunctuation: z.boolean().default(false),
      asianSupport: z.boolean().default(false),
      caseSensitive: z.boolean().default(false),
    }),
    make: (options) => best('ter', (reply, text) => Math.max(0, 1 - sentenceTer(reply, [text], options))),
  }),
  rouge('rouge-1', 'words in common with the reference', (a, b, options) => rougeN(a, b, 1, options)),
  rouge('rouge-2', 'pairs of words in common with the reference', (a, b, options) => rougeN(a, b, 2, options)),
  rouge('rouge-l', 'longest common subsequence of words with the reference', rougeL),
  rouge('rouge-lsum', 'longest common subsequences of words, line by line', rougeLsum),
  reward({
    ...common,
    name: 'meteor-exact',
    summary: 'METEOR by exact matches: words aligned in few runs',
    reference: 'Banerjee and Lavie 2005, without stems and synonyms',
    options: z.strictObject({ segment: z.boolean().default(true) }),
    make: ({ segment }) =>
      best('meteor-exact', (reply, text, { problem }) =>
        meteor(reply, text, segment ? { language: problem.language } : {}),
      ),
  }),
  reward({
    ...common,
    name: 'squad-exact',
    summary: 'is the reply the reference, punctuation and case aside?',
    range: '0 or 1',
    reference: 'Rajpurkar et al. 2016; with normalization "squad" equal to its script',
    options: squadOptions,
    make: ({ normalization }) =>
      best('squad-exact', (reply, text, { problem }) =>
        squadExact(reply, text, { normalization, language: problem.language }),
      ),
  }),
  reward({
    ...common,
    name: 'squad-f1',
    summary: 'harmonic mean of precision and recall of the words of the reply',
    reference: 'Rajpurkar et al. 2016; with normalization "squad" equal to its script',
    options: squadOptions,
    make: ({ normalization }) =>
      best('squad-f1', (reply, text, { problem }) =>
        squadF1(reply, text, { normalization, language: problem.language }),
      ),
  }),
  reward({
    ...common,
    name: 'edit-similarity',
    summary: '1 minus the edit distance (swaps counted once) over the longer length, in letters a reader sees',
    reference: 'Damerau 1964, Levenshtein 1966',
    options: z.strictObject({}),
    make: () => best('edit-similarity', (reply, text, { problem }) => editSimilarity(reply, text, problem.language)),
  }),
  reward({
    ...common,
    name: 'wer',
    summary: '1 minus the word error rate, at least 0',
    reference: 'Morris et al. 2004; with unit "word" equal to jiwer',
    options: z.strictObject({ unit: z.enum(['word', 'segmented-word']).default('segmented-word') }),
    make: ({ unit }) =>
      best('wer', (reply, text, { problem }) =>
        fewErrors(() => errorRates(text, reply, unit, problem.language).errorRate),
      ),
  }),
  reward({
    ...common,
    name: 'cer',
    summary: '1 minus the character error rate, at least 0',
    reference: 'Morris et al. 2004; with unit "character" equal to jiwer',
    options: z.strictObject({ unit: z.enum(['character', 'grapheme']).default('grapheme') }),
    make: ({ unit }) =>
      best('cer', (reply, text, { problem }) =>
        fewErrors(() => errorRates(text, reply, unit, problem.language).errorRate),
      ),
  }),
]

/**
 * 1 minus the optimal string alignment distance over the longer length, in grapheme clusters after NFC; 1 for two empty texts.
 *
 * @example editSimilarity('ab', 'ba') // 0.5
 */
export function editSimilarity(a: string, b: string, language = 'en'): number {
  const segmenter = new Intl.Segmenter(language, { granularity: 'grapheme' })
  const letters = (text: string): string[] => Array.from(segmenter.segment(text.normalize('NFC')), (s) => s.segment)
  const [given, wanted] = [letters(a), letters(b)]
  const longer = Math.max(given.length, wanted.length)
  return longer === 0 ? 1 : 1 - swapDistance(given, wanted) / longer
}
