import { z } from 'zod'
import { reward, type RewardDeclaration } from './declaration.js'
import { languageConsistency } from './language/consistency.js'
import { bleu, chrf, exactAnswer, format, lengthPenalty, taskReward } from './outcome.js'

const none = z.strictObject({})
const chrfOptions = z.strictObject({ charOrder: z.int().positive().optional(), beta: z.number().positive().optional() })
const references = 'problems with data.answer, data.answers or data.references; null elsewhere'

/** The rewards every configuration starts with. */
export const outcomeRewards: readonly RewardDeclaration[] = [
  reward({
    name: 'task',
    group: 'task',
    codes: ['R1'],
    summary: "the task's own reward",
    range: 'usually [0, 1]; the task says',
    applies: 'always',
    reference: 'the task',
    options: none,
    make: taskReward,
  }),
  reward({
    name: 'format',
    group: 'behaviour',
    codes: ['R9'],
    summary: 'was the last reply in the form the task asks for?',
    range: '0 or 1',
    applies: 'always',
    reference: 'the task',
    options: none,
    make: format,
  }),
  reward({
    name: 'exact',
    group: 'answers',
    codes: ['R1'],
    summary:
      'is the last reply an accepted answer? Case, Unicode form, native digits and a final full stop do not matter',
    range: '0 or 1',
    applies: references,
    reference: 'ours',
    options: none,
    make: () => exactAnswer(),
  }),
  reward({
    name: 'chrf',
    group: 'strings',
    codes: ['R2'],
    summary: 'character n-gram F-score of the last reply against its references',
    range: '[0, 1]',
    applies: references,
    reference: 'Popovic 2015; equal to sacreBLEU',
    options: chrfOptions,
    make: (options) => chrf(options),
  }),
  reward({
    name: 'chrf++',
    group: 'strings',
    codes: ['R2'],
    summary: 'chrF with words and pairs of words counted too',
    range: '[0, 1]',
    applies: references,
    reference: 'Popovic 2017; equal to sacreBLEU',
    options: chrfOptions,
    make: (options) => chrf({ ...options, wordOrder: 2 }),
  }),
  reward({
    name: 'bleu',
    group: 'strings',
    codes: ['R2'],
    summary: 'sentence BLEU of the last reply against its references',
    range: '[0, 1]',
    applies: references,
    reference: 'Papineni et al. 2002; equal to sacreBLEU',
    options: z.strictObject({ tokenize: z.enum(['13a', 'intl', 'char', 'zh', 'none']).optional() }),
    make: (options) => bleu(options),
  }),
  reward({
    name: 'language',
    group: 'language',
    codes: ['R4'],
    summary: 'is the reply in the language that was asked for?',
    range: '0 or 1',
    applies: 'replies that carry a language; null for numbers, single letters, words of the problem itself',
    reference: 'ours: agreement of eld and cld3, script, the words of the task',
    options: none,
    make: () => languageConsistency(),
  }),
  reward({
    name: 'length',
    group: 'behaviour',
    codes: ['R9'],
    summary: 'a cost for talking long: 0 up to `free` letters, falling to -1 at `limit`',
    range: '[-1, 0]',
    applies: 'always',
    reference: 'shape of DAPO, arXiv 2503.14476, equation 13, in letters',
    options: z.strictObject({ free: z.number().nonnegative(), limit: z.number().positive() }),
    make: lengthPenalty,
  }),
]
