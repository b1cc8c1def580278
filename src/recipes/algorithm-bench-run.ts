import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { messageOf } from '../core/index.js'
import { train, type Summary, type TrainConfigInput } from '../training/index.js'
import { benchConfig, teacherConfig } from './algorithm-bench.js'

/** What one run of one method came to; a line of results.jsonl. */
export interface BenchResult {
  method: string
  family: string
  seed: number
  /** Of the run's configuration: a result of other settings is not taken for this one's. */
  settings: string
  /** Null: it ended. */
  error: string | null
  before: BenchScore
  after: BenchScore
  sampledTokens: number
  trainedTokens: number
  /** Training steps alone, evaluations left out. */
  trainSeconds: number
  skippedSteps: number
}

/** Means over withheld problems. */
export interface BenchScore {
  /** Of replies sampled at temperature 1. */
  reward: number
  success: number
  greedySuccess: number
}

export interface BenchOptions {
  methods: readonly { name: string; family: string }[]
  seeds: readonly number[]
  /** Folder of results; made if absent, gone on with if not empty. */
  out: string
  model: string
  steps?: number
  /** Runs at a time, each with one worker thread. */
  parallel: number
  onResult?: (result: BenchResult, done: number, total: number) => void
  onNote?: (text: string) => void
  signal?: AbortSignal
}

/**
 * Trains the same model with each method and seed on the same work, and answers what came of it. Finished runs are kept in
 * results.jsonl, so that a comparison that was stopped goes on where it was. Seed by seed: what is there after a while is a
 * whole table of fewer seeds.
 */
export async function runBench(options: BenchOptions): Promise<BenchResult[]> {
  const { out, model, steps, signal, onNote } = options
  mkdirSync(out, { recursive: true })
  const teacher = join(out, 'teacher', 'checkpoints', 'final')
  const file = join(out, 'results.jsonl')
  const jobs = options.seeds.flatMap((seed) =>
    options.methods.map(({ name, family }) => ({
      family,
      config: benchConfig(name, seed, { model, teacher, ...(steps !== undefined && { steps }) }),
    })),
  )
  const known = readResults(file)
  const results: (BenchResult | undefined)[] = jobs.map(({ config }) =>
    known.find(({ settings }) => settings === settingsOf(config)),
  )
  let done = results.filter((result) => result !== undefined).length
  const taught = options.methods.some(({ family }) => family === 'distillation')
  if (taught && done < jobs.length && !existsSync(join(out, 'teacher', 'summary.json'))) {
    onNote?.('training the teacher of the distillation methods')
    rmSync(join(out, 'teacher'), { recursive: true, force: true })
    await train(teacherConfig(model), { out: join(out, 'teacher'), signal })
  }
  let next = 0
  const work = async (): Promise<void> => {
    while (next < jobs.length && !signal?.aborted) {
      const index = next++
      if (results[index]) continue
      const result = await runOne(jobs[index].config, jobs[index].family, out, signal)
      if (!result) return
      appendFileSync(file, `${JSON.stringify(result)}\n`)
      results[index] = result
      options.onResult?.(result, ++done, jobs.length)
    }
  }
  await Promise.all(Array.from({ length: options.parallel }, work))
  return results.filter((result) => result !== undefined)
}

/** Null when it was interrupted. */
async function runOne(
  config: TrainConfigInput,
  family: string,
  out: string,
  signal?: AbortSignal,
): Promise<BenchResult | null> {
  const method = String(config.name)
  const folder = join(out, 'work', `${method}-seed${config.seed}`)
  const head = { method, family, seed: config.seed ?? 1, settings: settingsOf(config) }
  const nothing: BenchScore = { reward: 0, success: 0, greedySuccess: 0 }
  rmSync(folder, { recursive: true, force: true })
  try {
    const summary = await train(config, { out: folder, signal })
    if (!summary.finished) return null
    const steps = readFileSync(join(folder, 'metrics.jsonl'), 'utf8').trimEnd().split('\n')
    const metrics = steps.map((line) => JSON.parse(line) as StepLine)
    const sum = (of: (line: StepLine) => number): number => metrics.reduce((total, line) => total + of(line), 0)
    return {
      ...head,
      error: null,
      before: scoreOf(summary, 'before'),
      after: scoreOf(summary, 'after'),
      sampledTokens: sum(({ sampledTokens }) => sampledTokens),
      trainedTokens: sum(({ trainedTokens }) => trainedTokens),
      trainSeconds: Number(sum(({ time }) => time.rolloutSeconds + time.updateSeconds).toFixed(2)),
      skippedSteps: summary.skippedSteps,
    }
  } catch (error) {
    return {
      ...head,
      error: messageOf(error),
      before: nothing,
      after: nothing,
      sampledTokens: 0,
      trainedTokens: 0,
      trainSeconds: 0,
      skippedSteps: 0,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface StepLine {
  sampledTokens: number
  trainedTokens: number
  time: { rolloutSeconds: number; updateSeconds: number }
}

function scoreOf(summary: Summary, when: 'before' | 'after'): BenchScore {
  const { overall } = summary.evaluation.aggregates[when]!
  const of = (decoding: 'sampled' | 'greedy') => overall.find((row) => row.decoding === decoding)!
  return { reward: of('sampled').reward, success: of('sampled').success, greedySuccess: of('greedy').success }
}

/** Where results lie does not change them. */
function settingsOf(config: TrainConfigInput): string {
  const { teacher: _, model: __, ...rest } = config
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16)
}

function readResults(file: string): BenchResult[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  const results = lines.flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as BenchResult]
    } catch {
      return [] // the line that was being written when it was stopped
    }
  })
  writeFileSync(file, results.map((result) => `${JSON.stringify(result)}\n`).join(''))
  return results
}
