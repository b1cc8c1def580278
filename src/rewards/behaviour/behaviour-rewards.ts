import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { loadTokenizer } from '../../text/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply } from '../references.js'
import type { Reward, Transcript } from '../types.js'
import type { SchemaCheck } from '../verifiable/json-answer.js'
import { matchesGrammar, parseGrammar, type Grammar } from './grammar.js'
import { isEmptyReply, isRefusal } from './refusal.js'
import { repetition, repetitionBounds, repetitionCost } from './repetition.js'
import { checkTags } from './tags.js'
import { requiredCallSchema, scoreToolCalls, toolCallsIn, toolSchema } from './tool-calls.js'
import { countLetters, countWords, MOST_MEASURED } from './units.js'

const tagNames = z.array(z.string().min(1)).min(1)
const common = { group: 'behaviour', codes: ['R9'] } as const

const rangeSchema = z.strictObject({
  min: z.number().nonnegative().optional(),
  max: z.number().nonnegative().optional(),
})

/** A field of a problem's data by a schema; null where it is not there. */
function field<Schema extends z.ZodType>(
  transcript: Transcript,
  name: string,
  schema: Schema,
): z.output<Schema> | null {
  const value = dataField(transcript, name)
  if (value === null) return null
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [{ path, message }] = parsed.error.issues
  const { task, key } = transcript.problem
  throw new MyriadError('reward', `problem ${task}/${key}: data.${[name, ...path].join('.')}: ${message}`)
}

/**
 * 1 within a range, falling to 0 where it is missed by `slack` times the bound: what an answer should be long.
 *
 * @example rangeValue(150, { max: 100 }, 1) // 0.5
 */
export function rangeValue(
  value: number,
  { min = 0, max = Infinity }: { min?: number; max?: number },
  slack: number,
): number {
  if (value >= min && value <= max) return 1
  const [missed, bound] = value < min ? [min - value, min] : [value - max, max]
  return slack * bound === 0 ? 0 : Math.max(0, 1 - missed / (slack * bound))
}

/** A cost: 0 up to `free`, falling to -1 at `limit`; with `limit` below `free`, of what is too little. */
export function fallingCost(value: number, free: number, limit: number): number {
  return 0 - Math.min(1, Math.max(0, (value - free) / (limit - free)))
}

const unitOptions = {
  unit: z.enum(['letters', 'words', 'tokens']).default('words'),
  /** A model's folder: whose tokens are counted. */
  tokenizer: z.string().min(1).optional(),
}

/** Counts a reply in a unit; a tokenizer is loaded once, when first needed. */
function counter({ unit, tokenizer }: { unit: 'letters' | 'words' | 'tokens'; tokenizer?: string }) {
  let loading: ReturnType<typeof loadTokenizer> | undefined
  return async (reply: string, language: string): Promise<number> => {
    if (unit === 'letters') return countLetters(reply)
    if (unit === 'words') return countWords(reply, language)
    const { encode } = await (loading ??= loadTokenizer(tokenizer!)).then((loaded) => ({
      encode: (text: string) => loaded.encode(text),
    }))
    return encode(reply.slice(0, MOST_MEASURED)).length
  }
}

const needsTokenizer = ({ unit, tokenizer }: { unit: string; tokenizer?: string }): boolean =>
  unit !== 'tokens' || tokenizer !== undefined
const tokenizerMissing = { path: ['tokenizer'], message: 'is needed to count tokens: give the folder of a model' }

function formatGrammar(given: string | undefined): Reward {
  const grammars = new Map<string, Grammar>()
  const read = (source: string): Grammar => {
    let grammar = grammars.get(source)
    if (!grammar) grammars.set(source, (grammar = parseGrammar(source)))
    return grammar
  }
  if (given !== undefined) read(given)
  return {
    name: 'format-grammar',
    score: (transcript) => {
      const source = field(transcript, 'grammar', z.string()) ?? given
      if (source === undefined) return null
      return matchesGrammar(read(source), lastReply(transcript).trim()) ? 1 : 0
    },
  }
}

interface ToolCallWeights {
  valid: number
  complete: number
  order: number
  extra: number
}

function toolCalls(weights: ToolCallWeights): Reward {
  let checks = new Map<string, SchemaCheck>()
  return {
    name: 'tool-calls',
    score: (transcript) => {
      const tools = field(transcript, 'tools', z.array(toolSchema))
      if (tools === null) return null
      const required = field(transcript, 'requiredCalls', z.array(requiredCallSchema)) ?? []
      if (checks.size > 1000) checks = new Map()
      const scores = scoreToolCalls(transcript.replies.flatMap(toolCallsIn), { tools, required }, checks)
      // Nothing called: as it should be where nothing is required, else neither valid nor in order.
      const none = required.length === 0 ? 1 : 0
      // One required call that was made is in order by itself.
      const alone = required.length === 0 || scores.complete === 0 ? none : required.length > 1 ? 0 : 1
      return {
        valid: weights.valid * (scores.valid ?? none),
        complete: weights.complete * (scores.complete ?? 1),
        order: weights.order * (scores.order ?? alone),
        ...(weights.extra > 0 && { extra: 0 - weights.extra * (scores.extra ?? 0) }),
      }
    },
  }
}

/** Rewards for how a reply is given, whatever it says. */
export const behaviourRewards: readonly RewardDeclaration[] = [
  reward({
    ...common,
    name: 'format-tags',
    summary: 'are the tags asked for there: each once, closed, in order, filled, nothing outside?',
    range: '0 or 1',
    applies: 'always; the last reply',
    reference: 'the format reward of DeepSeek-R1, arXiv 2501.12948',
    options: z.strictObject({
      tags: tagNames.default(['think', 'answer']),
      optional: z.array(z.string().min(1)).default([]),
      outside: z.boolean().default(false),
      empty: z.boolean().default(false),
    }),
    make: (options) => {
      checkTags('', options)
      return { name: 'format-tags', score: (transcript) => (checkTags(lastReply(transcript), options).ok ? 1 : 0) }
    },
  }),
  reward({
    ...common,
    name: 'format-grammar',
    summary: 'is the last reply, white space around it aside, in the language of a grammar (a small EBNF)?',
    range: '0 or 1',
    applies: 'problems with data.grammar, or all with a grammar in the configuration; null elsewhere',
    reference: 'Earley 1970',
    options: z.strictObject({ grammar: z.string().min(1).optional() }),
    make: ({ grammar }) => formatGrammar(grammar),
  }),
  reward({
    ...common,
    name: 'length-range',
    summary:
      'is the last reply as long as it should be? Less for what is missed, 0 where it is missed by `slack` times the bound',
    range: '[0, 1]',
    applies: 'problems with data.length ({ min, max }), or all with a bound in the configuration; null elsewhere',
    reference: 'ours; letters are grapheme clusters, words those of Unicode and Intl.Segmenter',
    options: z
      .strictObject({ ...unitOptions, ...rangeSchema.shape, slack: z.number().nonnegative().default(1) })
      .refine(needsTokenizer, tokenizerMissing)
      .refine(({ min = 0, max = Infinity }) => min <= max, { path: ['max'], message: 'must not be below min' }),
    make: (options) => {
      const count = counter(options)
      const { min, max, slack } = options
      return {
        name: 'length-range',
        score: async (transcript) => {
          const range = field(transcript, 'length', rangeSchema) ?? { min, max }
          if (range.min === undefined && range.max === undefined) return null
          return rangeValue(await count(lastReply(transcript), transcript.problem.language), range, slack)
        },
      }
    },
  }),
  reward({
    ...common,
    name: 'length-budget',
    summary: 'a cost for all replies together beyond a budget: 0 up to `budget`, falling to -1 at `limit`',
    range: '[-1, 0]',
    applies:
      'always, or, with onlySuccess, where the task was done (null elsewhere): brevity is worth nothing to a wrong answer',
    reference: 'shape of DAPO, arXiv 2503.14476, equation 13',
    options: z
      .strictObject({
        ...unitOptions,
        budget: z.number().nonnegative(),
        limit: z.number().positive(),
        onlySuccess: z.boolean().default(false),
      })
      .refine(needsTokenizer, tokenizerMissing)
      .refine(({ budget, limit }) => limit > budget, { path: ['limit'], message: 'must be above the budget' }),
    make: (options) => {
      const count = counter(options)
      return {
        name: 'length-budget',
        score: async ({ replies, problem, outcome }) => {
          if (options.onlySuccess && !outcome.success) return null
          let total = 0
          for (const reply of replies) total += await count(reply, problem.language)
          return fallingCost(total, options.budget, options.limit)
        },
      }
    },
  }),
  reward({
    ...common,
    name: 'repetition',
    summary:
      'a cost for saying one thing over and over: repeated n-grams, loops, long parts that come twice, or what deflate finds',
    range: '[-1, 0]',
    applies: 'always; replies under 30 letters cost nothing',
    reference: 'n-grams: Welleck et al. 2020; deflate: Radford et al. 2022 (Whisper), on letters in place of bytes',
    options: z
      .strictObject({
        /** The worst of all counts unless one is named. */
        measure: z.enum(['all', 'ngrams', 'loop', 'substring', 'compression']).default('all'),
        /** No cost up to here, of the named measure. */
        free: z.number().nonnegative().optional(),
        /** -1 from here on. */
        limit: z.number().positive().optional(),
      })
      .refine(({ measure, free, limit }) => measure !== 'all' || (free === undefined && limit === undefined), {
        path: ['free'],
        message: 'and limit need a measure',
      }),
    make: ({ measure, free, limit }) => ({
      name: 'repetition',
      score: (transcript) => {
        const found = repetition(lastReply(transcript), transcript.problem.language)
        if (measure === 'all') return 0 - repetitionCost(found)
        const [low, high] = repetitionBounds[measure]
        return fallingCost(found[measure], free ?? low, limit ?? high)
      },
    }),
  }),
  reward({
    ...common,
    name: 'answered',
    summary: 'does the last reply say something, and not decline? Where data.refuse is true, does it decline?',
    range: '0 or 1',
    applies: 'always; refusals are known by phrases in 20 languages, in others only silence is found',
    reference: 'ours',
    options: z.strictObject({ phrases: z.array(z.string().min(1)).default([]) }),
    make: ({ phrases }) => ({
      name: 'answered',
      score: (transcript) => {
        const reply = lastReply(transcript)
        if (isEmptyReply(reply)) return 0
        return isRefusal(reply, phrases) === (dataField(transcript, 'refuse') === true) ? 1 : 0
      },
    }),
  }),
  reward({
    ...common,
    codes: ['R7', 'R9'],
    name: 'tool-calls',
    summary: 'do the tools called exist, do their arguments fit, was everything called that had to be, in order?',
    range: '[0, 1] by the weights given, as parts valid, complete and order; less the cost of extra calls',
    applies:
      'problems with data.tools ([{ name, parameters }]); data.requiredCalls ([{ name, arguments }]) says what must be called',
    reference: 'RLTR; TL-Training',
    options: z.strictObject({
      valid: z.number().default(0.4),
      complete: z.number().default(0.5),
      order: z.number().default(0.1),
      /** Cost where every call is one too many. */
      extra: z.number().nonnegative().default(0),
    }),
    make: toolCalls,
  }),
  reward({
    ...common,
    name: 'outcome-cost',
    summary: 'a cost of something the task measured (latency, price, turns): 0 up to `free`, falling to -1 at `limit`',
    range: '[-1, 0]',
    applies: 'where outcome.metrics has it; null elsewhere',
    reference: 'ours',
    options: z
      .strictObject({ metric: z.string().min(1), free: z.number(), limit: z.number() })
      .refine(({ free, limit }) => free !== limit, { path: ['limit'], message: 'must differ from free' }),
    make: ({ metric, free, limit }) => ({
      name: 'outcome-cost',
      score: ({ outcome }) => {
        const value = outcome.metrics && Object.hasOwn(outcome.metrics, metric) ? outcome.metrics[metric] : null
        return value === null ? null : fallingCost(value, free, limit)
      },
    }),
  }),
]
