import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { toolCallsIn } from '../behaviour/tool-calls.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply } from '../references.js'
import type { Reward, Transcript } from '../types.js'
import { citationScores, citationsIn, quotationAccuracy, quotationsIn } from './citations.js'
import { evidenceCoverage } from './evidence.js'
import { ndcgAt, precisionAt, recallAt, reciprocalRank, type Gold } from './metrics.js'

const MOST_READ = 200_000
const ids = z.array(z.union([z.string(), z.number()]).transform(String))
const goldSchema = z.union([ids, z.record(z.string(), z.number())])
const evidenceSchema = z.array(z.union([z.string(), z.array(z.string()).min(1)]))
const documentsSchema = z.union([
  z.record(z.string(), z.string()),
  z
    .array(z.object({ id: z.union([z.string(), z.number()]).transform(String), text: z.string() }))
    .transform((list) => Object.fromEntries(list.map(({ id, text }) => [id, text]))),
])

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
 * Ids of documents in a text: a JSON list of ids or of objects with an `id`, else a line each, without bullets, numbers of
 * rank, brackets.
 *
 * @example idsIn('1. [doc-7]\n2. doc-3') // ['doc-7', 'doc-3']
 */
export function idsIn(given: string): string[] {
  const text = given.slice(0, MOST_READ)
  const start = text.indexOf('[')
  const end = text.lastIndexOf(']')
  if (start >= 0 && end > start) {
    try {
      const list: unknown = JSON.parse(text.slice(start, end + 1))
      if (Array.isArray(list)) {
        const found = list.flatMap((one: unknown) => {
          const id = typeof one === 'object' && one !== null ? (one as { id?: unknown }).id : one
          return typeof id === 'string' || typeof id === 'number' ? [String(id)] : []
        })
        if (found.length > 0 && (text.slice(0, start) + text.slice(end + 1)).trim().length < text.length / 2)
          return found
      }
    } catch {
      // Brackets around something else.
    }
  }
  return text
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^(?:[-*•]|\p{Nd}{1,4}[.)])\s+/u, '')
        .replace(/^[[【(]\s*([^[\]【】()]*?)\s*[\]】)].*$/u, '$1'),
    )
    .filter((line) => line !== '')
}

type Source = 'reply' | 'tools' | 'data'

/** What was retrieved, in order: by the last reply, by all answers of tools, or as `data.retrieved` says. */
function retrievedBy(transcript: Transcript, from: Source): string[] | null {
  if (from === 'data') return field(transcript, 'retrieved', ids)
  if (from === 'reply') return idsIn(lastReply(transcript))
  return transcript.messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => idsIn(content))
}

const common = { group: 'retrieval', codes: ['R7'] } as const

function ranking(
  name: string,
  summary: string,
  measure: (retrieved: readonly string[], gold: Gold, k?: number) => number,
): RewardDeclaration {
  return reward({
    ...common,
    name,
    summary,
    range: '[0, 1]',
    applies: 'problems with data.gold (ids, or grades by id); null elsewhere',
    reference: 'equal to trec_eval',
    options: z.strictObject({
      k: z.int().positive().optional(),
      /** Where the ids are: the last reply, the answers of tools, or data.retrieved. */
      from: z.enum(['reply', 'tools', 'data']).default('reply'),
    }),
    make: ({ k, from }) => ({
      name,
      score: (transcript) => {
        const gold = field(transcript, 'gold', goldSchema)
        const retrieved = gold === null ? null : retrievedBy(transcript, from)
        return gold === null || retrieved === null ? null : measure(retrieved, gold, k)
      },
    }),
  }) as RewardDeclaration
}

function searchCost({
  names,
  tag,
  metric,
  free,
  limit,
}: {
  names: readonly string[]
  tag: string
  metric?: string
  free: number
  limit: number
}): Reward {
  const opening = `<${tag}>`
  return {
    name: 'search-cost',
    score: ({ replies, outcome }) => {
      const counted = metric === undefined ? undefined : outcome.metrics?.[metric]
      if (metric !== undefined && counted === undefined) return null
      const searches =
        counted ??
        replies.reduce((sum, reply) => {
          const tags = reply.slice(0, MOST_READ).split(opening).length - 1
          return sum + tags + toolCallsIn(reply).filter(({ name }) => names.includes(name)).length
        }, 0)
      return 0 - Math.min(1, Math.max(0, (searches - free) / (limit - free)))
    },
  }
}

/** Rewards for what was looked up, and for what an answer stands on. */
export const retrievalRewards: readonly RewardDeclaration[] = [
  ranking('retrieval-recall', 'share of the relevant documents among the first k retrieved', recallAt),
  ranking('retrieval-precision', 'share of the first k retrieved documents that are relevant', precisionAt),
  ranking('retrieval-mrr', 'one over the rank of the first relevant document', reciprocalRank),
  ranking('retrieval-ndcg', 'discounted gain of the ranking over that of the best one', ndcgAt),
  reward({
    ...common,
    name: 'evidence-coverage',
    summary: 'share of the pieces of evidence that the last reply (or what tools answered) holds',
    range: '[0, 1]',
    applies: 'problems with data.evidence (texts, or lists of wordings); null elsewhere',
    reference: 'ours; information gain of searches as in StepSearch, arXiv 2505.15107, where looked for in tools',
    options: z.strictObject({ in: z.enum(['reply', 'tools']).default('reply') }),
    make: (options) => ({
      name: 'evidence-coverage',
      score: (transcript) => {
        const evidence = field(transcript, 'evidence', evidenceSchema)
        if (evidence === null || evidence.length === 0) return null
        const answers = transcript.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
        return evidenceCoverage(options.in === 'reply' ? lastReply(transcript) : answers.join('\n'), evidence)
      },
    }),
  }),
  reward({
    ...common,
    name: 'citations',
    summary: 'do the ids cited in brackets agree with those that support the answer? Made-up ids count against it',
    range: '[0, 1]',
    applies: 'problems with data.gold; without it, those with data.documents, where every id that exists is right',
    reference: 'Gao et al. 2023 (ALCE) on ids in place of entailment',
    options: z.strictObject({ measure: z.enum(['f1', 'precision', 'recall']).default('f1') }),
    make: ({ measure }) => ({
      name: 'citations',
      score: (transcript) => {
        const gold = field(transcript, 'gold', goldSchema)
        const documents = field(transcript, 'documents', documentsSchema)
        if (gold === null && documents === null) return null
        const supporting =
          gold === null ? null : Array.isArray(gold) ? gold : Object.keys(gold).filter((id) => gold[id] > 0)
        const known = [...new Set([...(supporting ?? []), ...Object.keys(documents ?? {})])]
        const cited = citationsIn(lastReply(transcript), known)
        if (supporting !== null) return citationScores(cited, supporting)[measure]
        return citationScores(cited, known).precision
      },
    }),
  }),
  reward({
    ...common,
    name: 'quotations',
    summary: 'share of quotations, followed by a citation, that stand in the document they cite',
    range: '[0, 1]',
    applies: 'problems with data.documents (texts by id); null elsewhere, and where nothing is quoted',
    reference: 'ours',
    options: z.strictObject({}),
    make: () => ({
      name: 'quotations',
      score: (transcript) => {
        const documents = field(transcript, 'documents', documentsSchema)
        return documents === null ? null : quotationAccuracy(quotationsIn(lastReply(transcript)), documents)
      },
    }),
  }),
  reward({
    ...common,
    codes: ['R7', 'R9'],
    name: 'search-cost',
    summary: 'a cost of searching: 0 up to `free` searches, falling to -1 at `limit`',
    range: '[-1, 0]',
    applies: 'always; with `metric`, where outcome.metrics counts searches',
    reference: 'SEM; R1-Searcher++; AI-SearchPlanner',
    options: z
      .strictObject({
        /** Tools whose calls are searches. */
        names: z.array(z.string().min(1)).default(['search']),
        /** Tag that opens a search in a reply. */
        tag: z.string().min(1).default('search'),
        metric: z.string().min(1).optional(),
        free: z.number().nonnegative().default(0),
        limit: z.number().positive().default(10),
      })
      .refine(({ free, limit }) => limit > free, { path: ['limit'], message: 'must be above free' }),
    make: searchCost,
  }),
]
