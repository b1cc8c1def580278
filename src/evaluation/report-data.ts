import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'

/** JSON has no NaN or infinity: a writer leaves null, a reader takes it as missing. */
const number = z.number().nullable().catch(null)

const rowSchema = z.object({
  task: z.string(),
  language: z.string(),
  decoding: z.enum(['sampled', 'greedy']),
  n: z.number(),
  success: z.number(),
  ciLow: z.number(),
  ciHigh: z.number(),
  languageConsistency: z.number().nullish(),
  reward: number,
  /** passAt[k - 1], unbiased. */
  passAt: z.array(z.number()).optional(),
})

/** Cells without a single try (all dropped) have no success rate and are left out. */
const rowsSchema = z
  .array(z.looseObject({ success: z.number().nullable() }))
  .transform((rows) => rows.filter((row) => row.success !== null))
  .pipe(z.array(rowSchema))

/** Means over cells; '*' stands for what was averaged over. */
const aggregatesSchema = z.object({ tasks: rowsSchema, overall: rowsSchema })

const randomSchema = z.array(z.object({ task: z.string(), language: z.string(), success: number }))

const summarySchema = z.object({
  name: z.string(),
  seed: z.number(),
  steps: z.number(),
  finished: z.boolean(),
  wallSeconds: z.number(),
  evaluation: z.object({
    before: rowsSchema,
    after: rowsSchema.nullable(),
    random: randomSchema,
    aggregates: z.object({ before: aggregatesSchema, after: aggregatesSchema.nullable() }),
  }),
  throughput: z.object({ sampledTokensPerSecond: number, trainedTokensPerSecond: number }),
  dropped: z.record(z.string(), z.number()),
  versions: z.record(z.string(), z.unknown()),
})

/** Evaluations as they were made, for runs that have no summary yet. */
const evaluationSchema = aggregatesSchema.extend({
  phase: z.enum(['before', 'during', 'after']),
  step: z.number(),
  rows: rowsSchema,
  random: randomSchema,
})

const taskStepSchema = z.looseObject({
  success: number,
  reward: number,
  languageConsistency: number,
  malformed: number.optional(),
  tokensPerEpisode: number.optional(),
})

const stepSchema = z.looseObject({
  step: z.number(),
  repetition: number.optional(),
  rewardStatistics: z
    .record(z.string(), z.looseObject({ mean: number, std: number, min: number, max: number }))
    .optional(),
  rewardCorrelations: z.record(z.string(), number).optional(),
  tasks: z.record(z.string(), taskStepSchema).default({}),
})

const episodeSchema = z.object({
  step: z.number(),
  task: z.string(),
  language: z.string(),
  reward: number,
  success: z.boolean(),
  languageConsistent: z.boolean().nullish(),
  rewardParts: z.record(z.string(), number).optional(),
  /** The text of each token. [tokens] */
  tokens: z.array(z.string()),
  /** 1 on tokens the policy sampled. [tokens] */
  mask: z.array(z.number()),
  /** [tokens] */
  advantages: z.array(number),
})

export type EvaluationRow = z.infer<typeof rowSchema>
export type RandomRow = z.infer<typeof randomSchema>[number]
export type RunSummary = z.infer<typeof summarySchema>
export type StepMetrics = z.infer<typeof stepSchema>
export type EpisodeRecord = z.infer<typeof episodeSchema>

/** Rows per task and language, means per task, means over all. */
export interface EvaluationRows {
  rows: EvaluationRow[]
  tasks: EvaluationRow[]
  overall: EvaluationRow[]
}

/** What a run folder says of itself, checked. `summary` is null while the run has not ended. */
export interface RunData {
  config: Record<string, unknown>
  summary: RunSummary | null
  /** On withheld problems: before training, and after it or the last evaluation there is. */
  before: EvaluationRows | null
  after: EvaluationRows | null
  /** A random legal player on the same problems. */
  random: RandomRow[]
  steps: StepMetrics[]
  episodes: EpisodeRecord[]
}

/**
 * Reads a run folder: config.json, summary.json, evaluations.jsonl, metrics.jsonl, episodes.jsonl. A last line cut short by a killed run is
 * left out; anything else that does not fit is a MyriadError('checkpoint') with file, line and field.
 */
export async function readRun(folder: string): Promise<RunData> {
  const config = await readJson(folder, 'config.json', z.record(z.string(), z.unknown()))
  if (config === null) {
    throw new MyriadError(
      'usage',
      `${folder} holds no run: there is no config.json in it. Give the folder that "myriad train" wrote.`,
    )
  }
  const summary = await readJson(folder, 'summary.json', summarySchema)
  const evaluations = await readLines(folder, 'evaluations.jsonl', evaluationSchema)
  const first = evaluations.find(({ phase }) => phase === 'before')
  const last = evaluations.findLast(({ phase }) => phase !== 'before')
  return {
    config,
    summary,
    before: combined(summary?.evaluation.before, summary?.evaluation.aggregates.before) ?? first ?? null,
    after: combined(summary?.evaluation.after, summary?.evaluation.aggregates.after) ?? last ?? null,
    random: summary?.evaluation.random ?? first?.random ?? [],
    steps: await readLines(folder, 'metrics.jsonl', stepSchema),
    episodes: await readLines(folder, 'episodes.jsonl', episodeSchema),
  }
}

function combined(
  rows: EvaluationRow[] | null | undefined,
  aggregates: z.infer<typeof aggregatesSchema> | null | undefined,
): EvaluationRows | null {
  return rows && aggregates ? { rows, ...aggregates } : null
}

async function readJson<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readText(join(folder, name))
  return text === null ? null : parse(text, schema, join(folder, name))
}

async function readLines<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T[]> {
  const path = join(folder, name)
  const lines = ((await readText(path)) ?? '').split('\n')
  lines.pop() // after the last newline there is nothing, or a line that a killed run did not finish
  return lines.flatMap((line, i) => (line.trim() === '' ? [] : [parse(line, schema, `${path}:${i + 1}`)]))
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new MyriadError('io', `${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function parse<T>(text: string, schema: z.ZodType<T>, where: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MyriadError('checkpoint', `${where} is not JSON: ${messageOf(error)}`, { cause: error })
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new MyriadError('checkpoint', `${where}: ${issue.path.join('.') || 'the document'}: ${issue.message}`)
}
