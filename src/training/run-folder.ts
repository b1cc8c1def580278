import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { parseConfig, type TrainConfig } from './config.js'
import { appendLines, cutLines, fileWork, readIfPresent, readLines, syncFile, writeAtomically } from './files.js'
import type { EpisodeRecord, EvaluationRecord, StepMetrics, Summary } from './types.js'

/** The files of a run; docs/loop.md says what stands in each. */
export interface RunFolder {
  readonly path: string
  /** Makes the folder and writes config.json, unless the run has begun already. */
  begin(): Promise<void>
  /** Takes away what `begin` made, when nothing came after it: a run that cannot be is not to be in the way of another. */
  abandon(): Promise<void>
  appendStep(metrics: StepMetrics, episodes: readonly EpisodeRecord[]): Promise<void>
  appendEvaluation(record: EvaluationRecord): Promise<void>
  /** Puts all lines on the disk; to be done before the checkpoint that says they are there. */
  sync(): Promise<void>
  /** Evaluations so far, in order. */
  evaluations(): Promise<EvaluationRecord[]>
  /** Forgets what was written after a step, so that it can be done again. */
  cutBack(step: number): Promise<void>
  writeSummary(summary: Summary): Promise<void>
  /** Null while the run has not ended. */
  summary(): Promise<Summary | null>
}

/**
 * The run folder of a configuration: a new one, or with `resume` that of the run in it. Nothing is written yet, so that a
 * model that cannot be opened leaves no run behind.
 *
 * @param base fingerprint of the model that the run needs beside its checkpoints, or null when it needs none
 * @throws MyriadError 'usage' when it holds a run and `resume` was not asked for, a run of another configuration, or one
 * whose base model has changed
 */
export async function openRun(
  path: string,
  config: TrainConfig,
  resume: boolean,
  base: string | null = null,
): Promise<RunFolder> {
  const text = await readIfPresent(join(path, 'config.json'))
  if (text !== null && !resume) {
    const advice = 'Resume it with --resume, or choose another --out folder.'
    throw new MyriadError('usage', `${path} already holds a run. ${advice}`)
  }
  const file = (name: string): string => join(path, name)
  if (text !== null) {
    refuseOther(path, await readRunConfig(path), config)
    refuseOtherBase(path, config, await readIfPresent(file('base.json')), base)
  }
  let made: 'nothing' | 'files' | 'folder' = 'nothing'
  return {
    path,
    begin: async () => {
      if (text !== null) return
      const isNew = (await fileWork(path, () => mkdir(path, { recursive: true }))) !== undefined
      // config.json last: with it the run has begun.
      if (base !== null)
        await writeAtomically(
          file('base.json'),
          `${JSON.stringify({ model: config.model, fingerprint: base }, null, 2)}\n`,
        )
      await writeAtomically(file('config.json'), `${JSON.stringify(config, null, 2)}\n`)
      made = isNew ? 'folder' : 'files'
    },
    abandon: async () => {
      if (made === 'nothing') return
      const own = ['config.json', 'base.json']
      if ((await readdir(path)).some((name) => !own.includes(name))) return
      for (const name of own) await rm(file(name), { force: true })
      if (made === 'folder') await rmdir(path)
    },
    appendStep: async (metrics, episodes) => {
      await appendLines(file('episodes.jsonl'), episodes)
      await appendLines(file('metrics.jsonl'), [metrics])
    },
    appendEvaluation: (record) => appendLines(file('evaluations.jsonl'), [record]),
    sync: async () => {
      for (const name of ['metrics.jsonl', 'episodes.jsonl', 'evaluations.jsonl']) await syncFile(file(name))
    },
    evaluations: async () => (await readLines(file('evaluations.jsonl'))) as unknown as EvaluationRecord[],
    cutBack: async (step) => {
      const upTo = (record: Record<string, unknown>): boolean => Number(record.step) <= step
      await cutLines(file('metrics.jsonl'), upTo)
      await cutLines(file('episodes.jsonl'), upTo)
      await cutLines(file('evaluations.jsonl'), (record) => upTo(record) && record.phase !== 'after')
    },
    writeSummary: (summary) => writeAtomically(file('summary.json'), `${JSON.stringify(summary, null, 2)}\n`),
    summary: async () => {
      const summary = await readIfPresent(file('summary.json'))
      return summary === null ? null : (JSON.parse(summary) as Summary)
    },
  }
}

/**
 * The configuration a run was begun with.
 *
 * @throws MyriadError 'usage' when the folder holds no run
 */
export async function readRunConfig(path: string): Promise<TrainConfig> {
  const file = join(path, 'config.json')
  const text = await readIfPresent(file)
  if (text === null) {
    throw new MyriadError('usage', `${path} holds no run to resume: there is no config.json in it`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MyriadError('checkpoint', `${file} is damaged: it is not JSON`, { cause: error })
  }
  return parseConfig(value, file)
}

/** Anything else than the same configuration would make the numbers of one run come from two. */
function refuseOther(path: string, begun: TrainConfig, given: TrainConfig): void {
  const differing = differences(begun, JSON.parse(JSON.stringify(given)), '')
  if (differing.length === 0) return
  throw new MyriadError(
    'usage',
    `${path} was begun with another configuration; these fields differ: ${differing.join(', ')}. ` +
      'Resume it with the configuration it was begun with, or choose another --out folder.',
  )
}

/** What was learnt over one model means nothing over another. Runs from before there were fingerprints have none. */
function refuseOtherBase(path: string, { model }: TrainConfig, text: string | null, base: string | null): void {
  if (text === null || base === null) return
  const { fingerprint } = baseSchema.parse(JSON.parse(text))
  if (fingerprint === base) return
  throw new MyriadError(
    'usage',
    `${model} has changed since the run in ${path} was begun on it: its config.json or its weights are others, and what was ` +
      'trained does not belong to them. Put the model back as it was, or begin anew in another --out folder.',
  )
}

const baseSchema = z.object({ fingerprint: z.string() })

function differences(a: unknown, b: unknown, path: string): string[] {
  if (isDeepStrictEqual(a, b)) return []
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (!isObject(a) || !isObject(b)) return [path]
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return keys.flatMap((key) => differences(a[key], b[key], path === '' ? key : `${path}.${key}`))
}
