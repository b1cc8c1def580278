import { readFileSync } from 'node:fs'
import { nothingMeasured } from '../evaluation/lost.js'
import type { Aggregates } from '../evaluation/types.js'
import type { TrainConfig } from './config.js'
import type { EvaluationRecord, StepMetrics, Summary, Totals } from './types.js'

export function initialTotals(): Totals {
  return {
    wallSeconds: 0,
    rolloutSeconds: 0,
    updateSeconds: 0,
    sampledTokens: 0,
    trainedTokens: 0,
    dropped: {},
    skippedSteps: 0,
    skippedInARow: 0,
  }
}

/** Totals with one more step; `wallSeconds` is kept by the trainer's clock. */
export function addStep(totals: Totals, metrics: StepMetrics): Totals {
  const skipped = metrics.skipped !== null
  return {
    ...totals,
    rolloutSeconds: totals.rolloutSeconds + metrics.time.rolloutSeconds,
    updateSeconds: totals.updateSeconds + metrics.time.updateSeconds,
    sampledTokens: totals.sampledTokens + metrics.sampledTokens,
    trainedTokens: totals.trainedTokens + metrics.trainedTokens,
    dropped: addCounts(totals.dropped, metrics.dropped),
    skippedSteps: totals.skippedSteps + (skipped ? 1 : 0),
    skippedInARow: skipped ? totals.skippedInARow + 1 : 0,
  }
}

export function summarize(parts: {
  config: TrainConfig
  out: string
  step: number
  totals: Totals
  evaluations: readonly EvaluationRecord[]
  finished: boolean
  /** Why the last step that was skipped was. */
  lastSkip?: string
}): Summary {
  const { config, out, step, totals, evaluations, finished } = parts
  const before = evaluations.find(({ phase }) => phase === 'before')
  const after = evaluations.find(({ phase }) => phase === 'after')
  const failure = finished ? failureOf(parts, before, after) : undefined
  return {
    name: config.name,
    seed: config.seed,
    steps: step,
    finished,
    ...(failure !== undefined && { failure }),
    wallSeconds: totals.wallSeconds,
    evaluation: {
      before: before?.rows ?? [],
      after: after?.rows ?? null,
      random: before?.random ?? [],
      aggregates: {
        before: aggregatesOf(before) ?? { tasks: [], languages: [], overall: [] },
        after: aggregatesOf(after),
      },
    },
    throughput: {
      sampledTokensPerSecond: rate(totals.sampledTokens, totals.rolloutSeconds),
      trainedTokensPerSecond: rate(totals.trainedTokens, totals.updateSeconds),
    },
    dropped: evaluations.reduce((sum, record) => addCounts(sum, record.dropped), totals.dropped),
    skippedSteps: totals.skippedSteps,
    versions: versions(),
    out,
  }
}

function failureOf(
  { step, totals, lastSkip }: { step: number; totals: Totals; lastSkip?: string },
  before: EvaluationRecord | undefined,
  after: EvaluationRecord | undefined,
): string | undefined {
  if (step > 0 && totals.skippedSteps >= step)
    return `nothing was learnt: all ${step} steps were skipped, the last because ${lastSkip ?? 'of what metrics.jsonl says'}`
  return (before && nothingMeasured(before, ' before training')) ?? (after && nothingMeasured(after, ' after training'))
}

function aggregatesOf(record: EvaluationRecord | undefined): Aggregates | null {
  return record ? { tasks: record.tasks, languages: record.languages, overall: record.overall } : null
}

function addCounts(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
  return Object.fromEntries(keys.map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]))
}

function rate(tokens: number, seconds: number): number {
  return seconds > 0 ? tokens / seconds : 0
}

/** What made the numbers: this package, the engine below it, and the machine. */
function versions(): Record<string, string> {
  const path = new URL('../../package.json', import.meta.url)
  const { version, dependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
    version: string
    dependencies: Record<string, string>
  }
  return {
    'myriad-rl': version,
    'onnxruntime-node': dependencies['onnxruntime-node'],
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }
}
