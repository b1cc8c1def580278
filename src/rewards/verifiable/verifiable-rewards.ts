import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply, referencesOf } from '../references.js'
import type { Reward, RewardValue, Transcript } from '../types.js'
import { algebraPackage, createAlgebra, sameAnswerWith } from './algebra.js'
import { withoutThinking } from './extract.js'
import { findJson, schemaCheck, type SchemaCheck } from './json-answer.js'
import { matcherOf } from './regex-answer.js'
import { ANSWER_TYPES, sameAnswer, type AnswerOptions, type AnswerType, type AnswerVerdict } from './same-answer.js'

const common = {
  several: z.enum(['reject', 'first', 'last']).default('reject'),
  expectedLanguage: z.string().optional(),
}
const tolerances = {
  absoluteTolerance: z.number().nonnegative().optional(),
  relativeTolerance: z.number().nonnegative().optional(),
}
const numeric = {
  ...tolerances,
  percent: z.enum(['fraction', 'either', 'ignore']).default('fraction'),
  words: z.boolean().default(true),
}
const partial = z.boolean()

const applies = 'problems with data.answer, data.answers or data.references, or a solver; null elsewhere'
const declared = { group: 'answers', codes: ['R1'], applies } as const

type Options = AnswerOptions & { partial?: boolean }

/** The options of a multiple choice that a problem carries: data.choices or data.options, an array of texts. */
function choicesOf(transcript: Transcript): readonly string[] | undefined {
  const given = dataField(transcript, 'choices') ?? dataField(transcript, 'options')
  const parsed = z.array(z.string()).min(2).safeParse(given)
  return parsed.success ? parsed.data : undefined
}

function optionsFor(transcript: Transcript, type: AnswerType, options: Options): AnswerOptions {
  const choices = type === 'choice' || type === 'auto' ? choicesOf(transcript) : undefined
  return { ...options, type, language: transcript.problem.language, ...(choices ? { choices } : {}) }
}

const worth = (verdicts: readonly AnswerVerdict[], isPartial: boolean): number =>
  Math.max(...verdicts.map(({ equal, score }) => (equal ? 1 : isPartial ? score : 0)))

/** Compares the last reply with the reference it is best by. */
function byAnswer(name: string, type: AnswerType, options: Options): Reward {
  return {
    name,
    score: (transcript) => {
      const references = referencesOf(transcript)
      if (references === null) return null
      const given = optionsFor(transcript, type, options)
      const reply = lastReply(transcript)
      return worth(
        references.map((expected) => sameAnswer(reply, expected, given)),
        options.partial ?? false,
      )
    },
  }
}

function answerReward(
  name: string,
  type: AnswerType,
  summary: string,
  extra: z.ZodRawShape,
  range: string,
): RewardDeclaration {
  return reward({
    ...declared,
    name,
    summary,
    range,
    reference: 'ours; numbers, names of units and months by CLDR 48',
    options: z.strictObject({ ...common, ...extra }),
    make: (options) => byAnswer(name, type, options as Options),
  }) as RewardDeclaration
}

const schemaOptions = z.strictObject({
  schema: z.record(z.string(), z.unknown()).optional(),
  partial: partial.default(true),
})

function jsonSchema({ schema, partial: isPartial }: z.output<typeof schemaOptions>): Reward {
  const checks = new Map<string, SchemaCheck>()
  const checkOf = (one: unknown): SchemaCheck => {
    const key = JSON.stringify(one)
    let check = checks.get(key)
    // Groups share a problem; schemas of older problems need not be kept.
    if (checks.size > 100) checks.clear()
    if (!check) checks.set(key, (check = schemaCheck(one)))
    return check
  }
  return {
    name: 'json-schema',
    score: (transcript): RewardValue => {
      const wanted = schema ?? dataField(transcript, 'schema')
      if (wanted === null) return null
      const check = checkOf(typeof wanted === 'string' ? parsedSchema(wanted) : wanted)
      const value = findJson(withoutThinking(lastReply(transcript)) ?? '')
      if (value === undefined) return 0
      return isPartial ? check.share(value) : Number(check.valid(value))
    },
  }
}

function parsedSchema(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new MyriadError('reward', 'data.schema is no JSON', { cause: error })
  }
}

const regexOptions = z.strictObject({
  pattern: z.string().optional(),
  match: z.enum(['whole', 'search']).default('whole'),
  ignoreCase: z.boolean().default(false),
})

function regex({ pattern, ...options }: z.output<typeof regexOptions>): Reward {
  const own = pattern === undefined ? null : matcherOf(pattern, options)
  return {
    name: 'regex',
    score: (transcript) => {
      const given = dataField(transcript, 'pattern')
      const matches = own ?? (typeof given === 'string' ? matcherOf(given, options) : null)
      return matches && Number(matches(withoutThinking(lastReply(transcript)) ?? ''))
    },
  }
}

const engineOptions = z.strictObject({
  ...common,
  ...tolerances,
  timeoutMs: z.number().positive().default(2000),
})

function mathEngine({ timeoutMs, ...options }: z.output<typeof engineOptions>): Reward {
  const algebra = createAlgebra({ timeoutMs })
  return {
    name: 'math-engine',
    score: async (transcript) => {
      const references = referencesOf(transcript)
      if (references === null) return null
      const given = optionsFor(transcript, 'math', options)
      const verdicts: AnswerVerdict[] = []
      for (const expected of references)
        verdicts.push(await sameAnswerWith(algebra, lastReply(transcript), expected, given))
      return worth(verdicts, false)
    },
    close: () => algebra.close(),
  }
}

/** Rewards for answers that can be checked exactly. */
export const verifiableRewards: readonly RewardDeclaration[] = [
  answerReward(
    'answer',
    'auto',
    'is it the right answer? Read as what the expected one is: number, formula, set, interval, choice, date, unit, yes or no, JSON, words',
    {
      ...numeric,
      type: z.enum(ANSWER_TYPES).default('auto'),
      partial: partial.default(false),
    },
    '0 or 1; [0, 1] with partial credit',
  ),
  answerReward('number', 'number', 'is it the right number? Exact, in any digits and separators', numeric, '0 or 1'),
  answerReward(
    'math',
    'math',
    'is it the same mathematics? LaTeX or plain, by evaluation at random points',
    tolerances,
    '0 or 1',
  ),
  answerReward(
    'multiple-choice',
    'choice',
    'is it the right option? By label in a dozen scripts, or by its text (data.choices)',
    { partial: partial.default(false) },
    '0 or 1; [0, 1] with partial credit for several right options',
  ),
  answerReward(
    'set',
    'set',
    'is it the right set? Else the share of members in both',
    { partial: partial.default(true) },
    '[0, 1]',
  ),
  answerReward(
    'interval',
    'interval',
    'is it the same part of the real line? Half for the right ends, open and closed confused',
    { partial: partial.default(true) },
    '0, 0.5 or 1',
  ),
  answerReward(
    'date',
    'date',
    'is it the right day? A third for the year, two for the month as well',
    { partial: partial.default(true) },
    '0, 1/3, 2/3 or 1',
  ),
  answerReward(
    'unit',
    'unit',
    'is it the right quantity, after conversion? Half for the number without its unit',
    { relativeTolerance: tolerances.relativeTolerance, partial: partial.default(true) },
    '0, 0.5 or 1',
  ),
  answerReward('yes-no', 'boolean', 'yes or no, true or false, as expected? In two dozen languages', {}, '0 or 1'),
  answerReward(
    'json',
    'json',
    'is it the expected JSON? Else the share of fields that are right',
    { partial: partial.default(true) },
    '[0, 1]',
  ),
  reward({
    ...declared,
    name: 'json-schema',
    summary: 'does the JSON in the reply follow the schema? Else the share of properties that do, below 1',
    range: '[0, 1]',
    applies: 'problems with data.schema, or a schema as an option; null elsewhere',
    reference: 'JSON Schema 2020-12, by ajv; patterns in linear time by re2js',
    options: schemaOptions,
    make: jsonSchema,
  }) as RewardDeclaration,
  reward({
    ...declared,
    name: 'regex',
    summary: 'does the reply match the regular expression?',
    range: '0 or 1',
    applies: 'problems with data.pattern, or a pattern as an option; null elsewhere',
    reference: 'RE2, by re2js: linear in the reply',
    options: regexOptions,
    make: regex,
  }) as RewardDeclaration,
  reward({
    ...declared,
    name: 'math-engine',
    summary: 'as "math"; what that cannot tell (integrals, sums), a computer algebra system is asked',
    range: '0 or 1',
    reference: 'compute-engine, in a thread with a time limit',
    packages: [algebraPackage],
    options: engineOptions,
    make: mathEngine,
  }) as RewardDeclaration,
]
