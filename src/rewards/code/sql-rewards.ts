import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply } from '../references.js'
import type { Reward, Transcript } from '../types.js'
import { findPackages } from './child-process.js'
import { fencedBlocks, knownLanguage, programIn } from './extract.js'
import { languageOf, languages } from './languages.js'
import { closeSandboxes, sharedSandbox } from './run.js'
import type { Sandbox } from './sandbox.js'
import { cellOf, ordersRows, sameRows, type SqlRows } from './sql-result.js'
import type { ProgramLimits, ProgramResult } from './types.js'

export type SqlDialect = 'sqlite' | 'postgres'

export interface QueryToCheck {
  dialect: SqlDialect
  /** The SQL to be judged. */
  query: string
  /** SQL that makes tables and rows; several databases make it harder to be right by chance. None: an empty database. */
  schemas?: readonly string[]
  /** The query whose result is right; or the rows themselves, the same for each database. */
  gold?: string
  rows?: readonly (readonly unknown[])[]
  /** Compared after both have run, in place of their own results: for statements that change rows. */
  check?: string
  /** In the same order, or as a multiset; the former when `gold` (or `check`) has an ORDER BY unless given. */
  ordered?: boolean
  tolerance?: number
  limits?: Partial<ProgramLimits>
  /** Instead of the one this process shares. */
  sandbox?: Sandbox
}

export interface QueryCheck {
  /** Databases where the result is the right one. */
  passed: number
  databases: number
  /** 'ok', 'wrong-answer', or how the query failed. */
  verdict: ProgramResult['verdict'] | 'wrong-answer'
  detail: string
}

/** Results of gold queries: the same for every reply to a problem. */
const golden = new Map<string, Promise<SqlRows>>()
const KEPT = 256

/**
 * Runs a query on fresh databases and compares what it gives with the gold query's result. The gold query runs in a process
 * of its own turn, so the query judged cannot see it.
 *
 * @throws MyriadError 'reward' when the schema or the gold query fails: a fault of the data, never of the query
 * @example await checkQuery({ dialect: 'sqlite', schemas: ['CREATE TABLE t(a); INSERT INTO t VALUES (2), (1)'],
 *   query: 'SELECT a FROM t', gold: 'SELECT a AS b FROM t' }) // { passed: 1, databases: 1, verdict: 'ok', detail: '' }
 */
export async function checkQuery(given: QueryToCheck): Promise<QueryCheck> {
  const { dialect, query, gold, rows, check, limits, tolerance } = given
  const schemas = given.schemas && given.schemas.length > 0 ? given.schemas : ['']
  const ordered = given.ordered ?? ordersRows(check ?? gold ?? '', dialect)
  const sandbox = given.sandbox ?? sharedSandbox(languageOf(dialect))
  let passed = 0
  for (const stdin of schemas) {
    // Without a gold query this shows that the tables can be made.
    const right = await goldRows(sandbox, {
      dialect,
      stdin,
      gold: gold ?? '',
      check: gold === undefined ? undefined : check,
    })
    const expected = gold === undefined ? { columns: [], rows: (rows ?? []).map((row) => row.map(cellOf)) } : right
    const run = await sandbox.run({ source: query, stdin, limits, call: callOf(check) })
    if (run.verdict === 'sandbox-error') throw new MyriadError('reward', `${dialect}: ${run.detail}`)
    if (run.verdict !== 'ok') return { passed, databases: schemas.length, verdict: run.verdict, detail: run.detail }
    if (!sameRows(JSON.parse(run.value ?? '{"columns":[],"rows":[]}') as SqlRows, expected, { ordered, tolerance }))
      return { passed, databases: schemas.length, verdict: 'wrong-answer', detail: '' }
    passed++
  }
  return { passed, databases: schemas.length, verdict: 'ok', detail: '' }
}

function callOf(check: string | undefined): { name: string; arguments: string[] } | undefined {
  return check === undefined ? undefined : { name: 'query', arguments: [check] }
}

async function goldRows(
  sandbox: Sandbox,
  { dialect, stdin, gold, check }: { dialect: string; stdin: string; gold: string; check?: string },
): Promise<SqlRows> {
  const key = JSON.stringify([dialect, stdin, gold, check])
  let result = golden.get(key)
  if (!result) {
    result = sandbox.run({ source: gold, stdin, call: callOf(check), limits: { seconds: 30 } }).then((run) => {
      if (run.verdict === 'ok') return JSON.parse(run.value!) as SqlRows
      golden.delete(key)
      throw new MyriadError('reward', `${dialect}: the schema or the gold query fails: ${run.verdict} ${run.detail}`)
    })
    if (golden.size >= KEPT) golden.delete(golden.keys().next().value!)
    golden.set(key, result)
  }
  return result
}

/** A block that says SQL is meant for either dialect. */
function queryIn(reply: string, dialect: SqlDialect): string {
  const block = fencedBlocks(reply).findLast(({ tag }) => tag === 'sql' || knownLanguage(tag) === dialect)
  return block?.text ?? programIn(reply, dialect)
}

const dataSchema = z.object({
  schema: z.union([z.string(), z.array(z.string()).min(1)]).nullable(),
  gold: z.string().nullable(),
  rows: z.array(z.array(z.json())).nullable(),
  check: z.string().nullable(),
  dialect: z.string().nullable(),
})

const options = z.strictObject({
  /** Where `data.dialect` names none. */
  dialect: z.enum(['sqlite', 'postgres']).default('sqlite'),
  ordered: z.boolean().optional(),
  tolerance: z.number().nonnegative().optional(),
  limits: z
    .strictObject({
      seconds: z.number().positive().max(600).optional(),
      memoryMiB: z.number().min(32).max(2048).optional(),
      outputBytes: z.int().positive().max(16_777_216).optional(),
    })
    .optional(),
})

/** 1 when the last reply's SQL gives what the gold query gives, on every database of the problem. */
export function sqlResult(given: z.input<typeof options> = {}): Reward {
  const { dialect: usual, ordered, tolerance, limits } = options.parse(given)
  const score = async (transcript: Transcript): Promise<number | null> => {
    const field = (name: string): unknown => dataField(transcript, name)
    if (field('gold') === null && field('rows') === null) return null
    const parsed = dataSchema.safeParse({
      schema: field('schema'),
      gold: field('gold'),
      rows: field('rows'),
      check: field('check'),
      dialect: field('dialect'),
    })
    if (!parsed.success) {
      const [{ path, message }] = parsed.error.issues
      throw new MyriadError('reward', `data.${path.join('.')}: ${message}`)
    }
    const { schema, gold, rows, check } = parsed.data
    const { name } = languageOf(parsed.data.dialect ?? usual)
    if (name !== 'sqlite' && name !== 'postgres')
      throw new MyriadError('reward', `data.dialect: "${name}" is not sqlite or postgres`)
    const { verdict } = await checkQuery({
      dialect: name,
      query: queryIn(lastReply(transcript), name),
      schemas: schema === null ? [] : [schema].flat(),
      gold: gold ?? undefined,
      rows: rows ?? undefined,
      check: check ?? undefined,
      ordered,
      tolerance,
      limits,
    })
    return Number(verdict === 'ok')
  }
  return {
    name: 'sql-result',
    score,
    scoreAll: (transcripts) =>
      Promise.all(
        transcripts.map((one) =>
          score(one).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
        ),
      ),
    close: closeSandboxes,
  }
}

/** Rewards for SQL. */
export const sqlRewards: readonly RewardDeclaration[] = [
  reward({
    name: 'sql-result',
    group: 'code',
    codes: ['R1', 'R6'],
    summary: "does the reply's query give the rows that the gold query gives?",
    range: '0 or 1',
    applies:
      'problems with data.gold (a query) or data.rows; data.schema is the SQL that makes tables and rows, or several; null elsewhere',
    reference: 'Yu et al. 2018 (Spider), arXiv 1809.08887; several databases: Zhong et al. 2020, arXiv 2010.02840',
    packages: [languages.sqlite, languages.postgres].flatMap(({ packages }) =>
      packages.map(({ name, version }) => ({ name, version })),
    ),
    options,
    make: (chosen) => {
      findPackages(languages[chosen.dialect])
      return sqlResult(chosen)
    },
  }) as RewardDeclaration,
]
