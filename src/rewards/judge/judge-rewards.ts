import { basename, resolve } from 'node:path'
import { z } from 'zod'
import { createRandom, deriveSeed } from '../../core/index.js'
import { modelFingerprint } from '../../models/index.js'
import { openLocalPolicy } from '../../policy/local/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply, referencesOf } from '../references.js'
import type { Reward, RewardValue, Transcript } from '../types.js'
import { diskCache } from './cache.js'
import { createJudgeClient, type JudgeClient } from './client.js'
import { endpointModel, endpointPackages } from './endpoint-model.js'
import { scoreGroups } from './groups.js'
import { judgeList } from './listwise.js'
import { comparePair, schedule, winRates, type Comparison } from './pairwise.js'
import { expectedScore, judgeScore, verdictLikelihood } from './pointwise.js'
import { policyModel } from './policy-model.js'
import { criteriaOf, judgedOf, type JudgeSettings } from './prompts.js'
import { judgeRubric, rubricOf, rubricSchema, rubricValue } from './rubric.js'

const positive = z.number().positive()
const count = z.int().positive()

/** What every judge is told. */
export const judgeOptions = z.strictObject({
  /** A model's folder or GGUF file; with `endpoint`, the name it has there. */
  model: z.string().min(1),
  /** Address of an OpenAI-compatible endpoint. */
  endpoint: z.url().optional(),
  /** Environment variable that holds the endpoint's key. */
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, 'must be the name of an environment variable, not a key')
    .default('OPENAI_API_KEY'),
  /** Ask the endpoint to keep to a JSON schema. */
  structured: z.boolean().default(false),
  maxTokens: count.default(1024),
  temperature: z.number().nonnegative().default(0),
  seed: z.int().nonnegative().default(0),
  /** Folder of cached answers. */
  cache: z.string().min(1).optional(),
  retries: z.int().nonnegative().default(4),
  timeoutMs: count.default(60_000),
  requestsPerMinute: positive.optional(),
  tokensPerMinute: positive.optional(),
  concurrency: count.default(8),
  /** Prices of a million tokens. */
  prices: z.strictObject({ input: z.number().nonnegative(), output: z.number().nonnegative() }).optional(),
  /** What may be spent. */
  budget: z.strictObject({ tokens: positive.optional(), cost: positive.optional() }).optional(),
  /** Show the judge the problem's references. */
  references: z.boolean().default(false),
})

export type JudgeOptions = z.output<typeof judgeOptions>

/** A judge as options describe it. A local model is opened when first asked. */
export async function openJudge(options: JudgeOptions): Promise<JudgeClient> {
  const { model, endpoint, apiKeyEnv, structured, cache, retries, timeoutMs, prices, budget } = options
  const { requestsPerMinute, tokensPerMinute, concurrency } = options
  return createJudgeClient({
    model: endpoint === undefined ? await localModel(model) : endpointModel({ endpoint, model, apiKeyEnv, structured }),
    cache: cache === undefined ? undefined : diskCache(resolve(cache)),
    limits: { requestsPerMinute, tokensPerMinute, concurrency: endpoint === undefined ? undefined : concurrency },
    retries,
    timeoutMs: endpoint === undefined ? 2 ** 31 - 1 : timeoutMs,
    prices,
    budget,
  })
}

async function localModel(folder: string) {
  const { policy, chat } = await openLocalPolicy(folder, { workers: 1 })
  const name = `${basename(resolve(folder))}#${await modelFingerprint(folder)}`
  return policyModel({ policy, chat, name, close: () => policy.close() })
}

/** What a reward does with a judge. */
type Act = (client: JudgeClient, transcript: Transcript) => Promise<RewardValue>
type ActOnGroup = (client: JudgeClient, group: readonly Transcript[]) => Promise<(RewardValue | Error)[]>

/** Opens the judge once, when it is first needed, and ends it. */
function holder(open: () => Promise<JudgeClient>) {
  let client: Promise<JudgeClient> | undefined
  return {
    get: () => (client ??= open()),
    close: async () => {
      const opened = client
      client = undefined
      // What could not be opened has nothing to end.
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}

/**
 * A reward that asks a judge about each reply; many at once where they come together.
 *
 * @example judgeReward('polite', async () => client, async (judge, transcript) => judgeScore(judge, judgedOf(transcript), { criteria: 'Is it polite?' }))
 */
export function judgeReward(name: string, open: () => Promise<JudgeClient>, act: Act): Reward {
  const { get, close } = holder(open)
  const score = async (transcript: Transcript): Promise<RewardValue> => act(await get(), transcript)
  return {
    name,
    score,
    scoreAll: (transcripts) =>
      Promise.all(
        transcripts.map((transcript) =>
          score(transcript).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
        ),
      ),
    close,
  }
}

/** A reward that compares the replies to one problem. Null for a reply that has no other beside it. */
export function groupJudgeReward(name: string, open: () => Promise<JudgeClient>, act: ActOnGroup): Reward {
  const { get, close } = holder(open)
  return {
    name,
    groupwise: true,
    score: () => null,
    scoreAll: (transcripts) =>
      scoreGroups(transcripts, async (group) => (group.length < 2 ? [null] : act(await get(), group))),
    close,
  }
}

const settingsOf = ({ maxTokens, temperature, seed }: JudgeOptions): JudgeSettings => ({ maxTokens, temperature, seed })
const criteria = z.string().min(1).optional()
const common = { group: 'judge', codes: ['R5'], packages: endpointPackages } as const

/**
 * Mean win rates of the replies of one problem: [replies], in [0, 1]. Equal replies are tied without asking. A comparison the
 * judge failed at is left out; a reply of which none is left has the error.
 *
 * @param options.opponents each reply meets about so many others; all unless given
 * @param options.onComparison sees each comparison, for `positionBias`
 */
export async function tournament(
  client: JudgeClient,
  group: readonly Transcript[],
  options: {
    criteria?: string
    opponents?: number
    references?: boolean
    settings?: JudgeSettings
    onComparison?: (comparison: Comparison) => void
  },
): Promise<(number | Error)[]> {
  const [first] = group
  const judged = judgedOf(first, options)
  const replies = group.map(lastReply)
  const given = criteriaOf(first, options.criteria)
  const random = createRandom(deriveSeed('tournament', options.settings?.seed ?? 0, judged.conversation, ...replies))
  const circle = random.shuffle(group.map((_, i) => i))
  let failure = new Error('no comparison was made')
  const results = await Promise.all(
    schedule(group.length, options.opponents ?? Infinity, circle).map(async (pair) => {
      const [a, b] = pair.map((i) => replies[i])
      if (a === b) return { pair, value: 0.5 }
      try {
        const comparison = await comparePair(client, judged, a, b, { criteria: given, settings: options.settings })
        options.onComparison?.(comparison)
        return { pair, value: comparison.value }
      } catch (error) {
        failure = error as Error
        return { pair, value: null }
      }
    }),
  )
  return winRates(group.length, results).map((rate) => rate ?? failure)
}

/** Rewards by judges that are language models. */
export const judgeRewards: readonly RewardDeclaration[] = [
  reward({
    ...common,
    name: 'judge-score',
    summary: 'a language model marks the last reply by criteria',
    range: '[0, 1]',
    applies: 'always; criteria of a problem (data.criteria) go before those of the configuration',
    reference: 'Zheng et al. 2023 (single-answer grading); expected marks: Liu et al. 2023 (G-Eval)',
    options: judgeOptions
      .extend({
        criteria,
        scale: z.int().min(2).max(100).default(10),
        /** Mean over the likelihoods of all marks, in place of one mark; local models only. */
        expected: z.boolean().default(false),
        samples: count.default(1),
      })
      .refine(({ expected, endpoint }) => !expected || endpoint === undefined, {
        path: ['expected'],
        message: 'is for local models only: leave "endpoint" out',
      }),
    make: (options) =>
      judgeReward(
        'judge-score',
        () => openJudge(options),
        async (client, transcript) => {
          const { scale, samples, expected } = options
          const mark = expected ? expectedScore : judgeScore
          const given = criteriaOf(transcript, options.criteria)
          const asked = { criteria: given, scale, samples, settings: settingsOf(options) }
          return ((await mark(client, judgedOf(transcript, options), asked)) - 1) / (scale - 1)
        },
      ),
  }),
  reward({
    ...common,
    name: 'judge-likelihood',
    summary: 'how likely a local language model is to say that the last reply is right',
    range: '[0, 1]',
    applies: 'always',
    reference: 'Zhang et al. 2024 (GenRM), arXiv 2408.15240',
    packages: undefined,
    options: judgeOptions.omit({ endpoint: true, apiKeyEnv: true, structured: true }).extend({
      question: z.string().min(1).default('Is the REPLY a right answer?'),
      words: z.tuple([z.string().min(1), z.string().min(1)]).default(['Yes', 'No']),
    }),
    make: (options) =>
      judgeReward(
        'judge-likelihood',
        () => openJudge({ ...options, apiKeyEnv: 'OPENAI_API_KEY', structured: false }),
        (client, transcript) => verdictLikelihood(client, judgedOf(transcript, options), options),
      ),
  }),
  reward({
    ...common,
    name: 'judge-rubric',
    summary: 'a language model checks the last reply against weighted criteria, some of which may be critical',
    range: '[0, 1], as one part a criterion',
    applies: 'problems with a rubric (data.rubric), or all with one in the configuration; null elsewhere',
    reference: 'HealthBench, arXiv 2505.08775; Rubrics as Rewards, arXiv 2507.17746',
    options: judgeOptions.extend({ rubric: rubricSchema.optional() }),
    make: (options) =>
      judgeReward(
        'judge-rubric',
        () => openJudge(options),
        async (client, transcript) => {
          const rubric = rubricOf(transcript, options.rubric)
          if (rubric === null) return null
          const judged = judgedOf(transcript, options)
          return rubricValue(rubric, await judgeRubric(client, judged, rubric, settingsOf(options)))
        },
      ),
  }),
  reward({
    ...common,
    name: 'judge-pairwise',
    summary: 'mean win rate of a reply over others to its problem, each pair judged in both orders',
    range: '[0, 1]',
    applies: 'groups of two replies or more to one problem; null for one alone',
    reference: 'Zheng et al. 2023; Writing-Zero, arXiv 2506.00103; SP3F',
    options: judgeOptions.extend({
      criteria,
      /** Each reply meets about so many others; all unless given. */
      opponents: count.optional(),
    }),
    make: (options) =>
      groupJudgeReward(
        'judge-pairwise',
        () => openJudge(options),
        (client, group) => tournament(client, group, { ...options, settings: settingsOf(options) }),
      ),
  }),
  reward({
    ...common,
    name: 'judge-versus-reference',
    summary: 'is the last reply better than the reference? Judged in both orders',
    range: '0, 0.25, 0.5, 0.75 or 1; 0.5 is as good',
    applies: 'problems with references or a solver; null elsewhere',
    reference: 'Zheng et al. 2023; comparison with a strong model, arXiv 2505.12996',
    options: judgeOptions.omit({ references: true }).extend({ criteria }),
    make: (options) => {
      const whole = { ...options, references: false }
      return judgeReward(
        'judge-versus-reference',
        () => openJudge(whole),
        async (client, transcript) => {
          const reference = referencesOf(transcript)?.[0]
          if (reference === undefined) return null
          const reply = lastReply(transcript)
          if (reply === reference) return 0.5
          const asked = { criteria: criteriaOf(transcript, options.criteria), settings: settingsOf(whole) }
          return (await comparePair(client, judgedOf(transcript), reply, reference, asked)).value
        },
      )
    },
  }),
  reward({
    ...common,
    name: 'judge-list',
    summary: 'a language model marks all replies to a problem side by side, anonymous and shuffled',
    range: '[0, 1]',
    applies: 'groups of two replies or more to one problem; null for one alone',
    reference: 'listwise judging; ours in its form',
    options: judgeOptions.extend({ criteria, scale: z.int().min(2).max(100).default(5), rounds: count.default(1) }),
    make: (options) =>
      groupJudgeReward(
        'judge-list',
        () => openJudge(options),
        (client, group) => listValues(client, group, criteriaOf(group[0], options.criteria), options),
      ),
  }),
  reward({
    ...common,
    name: 'judge-principle',
    summary: 'a language model marks all replies to a problem by a principle in words',
    range: '[0, 1]',
    applies: 'groups of two replies or more to a problem with data.principle, or a principle in the configuration',
    reference: 'RewardAnything, arXiv 2506.03637',
    options: judgeOptions.extend({
      principle: z.string().min(1).optional(),
      scale: z.int().min(2).max(100).default(5),
      rounds: count.default(1),
    }),
    make: (options) =>
      groupJudgeReward(
        'judge-principle',
        () => openJudge(options),
        async (client, group) => {
          const own = dataField(group[0], 'principle')
          const principle = typeof own === 'string' ? own : options.principle
          if (principle === undefined) return group.map(() => null)
          return listValues(client, group, principle, { ...options, byPrinciple: true })
        },
      ),
  }),
]

async function listValues(
  client: JudgeClient,
  group: readonly Transcript[],
  given: string,
  options: JudgeOptions & { scale: number; rounds: number; byPrinciple?: boolean },
): Promise<number[]> {
  const { scale, rounds, byPrinciple: principle } = options
  const asked = { criteria: given, principle, scale, rounds, settings: settingsOf(options) }
  const marks = await judgeList(client, judgedOf(group[0], options), group.map(lastReply), asked)
  return marks.map((mark) => (mark - 1) / (scale - 1))
}
