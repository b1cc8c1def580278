import { mean } from '../evaluation/index.js'
import type { BenchResult } from './algorithm-bench-run.js'

/** A method over its seeds. */
export interface BenchRow {
  method: string
  family: string
  seeds: number
  /** Mean reward on withheld problems before training; and after it, with its 95 percent interval over seeds. */
  before: number
  after: number
  low: number
  high: number
  success: number
  greedySuccess: number
  /** Means over seeds. */
  trainSeconds: number
  sampledTokens: number
  trainedTokens: number
  skippedSteps: number
  /** What the runs that failed said; null when none did. */
  error: string | null
}

/** Student's t at 97.5 percent, by degrees of freedom from 1; beyond, that of the normal distribution is near enough. */
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

/**
 * Rows by family, in each the best first. The interval is Student's over seeds (each seed a whole run); with one seed there is
 * none, and it is the mean itself.
 */
export function benchRows(results: readonly BenchResult[]): BenchRow[] {
  const methods = [...new Set(results.map(({ method }) => method))]
  const families = [...new Set(results.map(({ family }) => family))]
  const rows = methods.map((method) => rowOf(results.filter((result) => result.method === method)))
  return rows.sort((a, b) => families.indexOf(a.family) - families.indexOf(b.family) || b.after - a.after)
}

function rowOf(all: readonly BenchResult[]): BenchRow {
  const { method, family } = all[0]
  const ended = all.filter(({ error }) => error === null)
  const rewards = ended.map(({ after }) => after.reward)
  const after = mean(rewards)
  const variance = rewards.reduce((sum, reward) => sum + (reward - after) ** 2, 0) / Math.max(1, rewards.length - 1)
  const half = rewards.length < 2 ? 0 : (T[rewards.length - 2] ?? 1.96) * Math.sqrt(variance / rewards.length)
  const of = (value: (result: BenchResult) => number): number => mean(ended.map(value))
  return {
    method,
    family,
    seeds: ended.length,
    before: of((result) => result.before.reward),
    after,
    low: after - half,
    high: after + half,
    success: of((result) => result.after.success),
    greedySuccess: of((result) => result.after.greedySuccess),
    trainSeconds: of((result) => result.trainSeconds),
    sampledTokens: of((result) => result.sampledTokens),
    trainedTokens: of((result) => result.trainedTokens),
    skippedSteps: of((result) => result.skippedSteps),
    error: all.find(({ error }) => error !== null)?.error ?? null,
  }
}

/** The head of the table, and each row's cells: rewards and shares in percent, tokens in thousands. */
export function benchCells(rows: readonly BenchRow[]): string[][] {
  const percent = (share: number): string => (100 * share).toFixed(0)
  const head = [
    'method',
    'family',
    'reward',
    '95% over seeds',
    'success',
    'greedy',
    'seconds',
    'sampled k',
    'trained k',
  ]
  return [
    head,
    ...rows.map((row) =>
      row.seeds === 0
        ? [row.method, row.family, `failed: ${row.error ?? ''}`]
        : [
            row.method,
            row.family,
            `${row.before.toFixed(2)} -> ${row.after.toFixed(2)}`,
            row.seeds < 2 ? '-' : `${row.low.toFixed(2)} to ${row.high.toFixed(2)}`,
            percent(row.success),
            percent(row.greedySuccess),
            row.trainSeconds.toFixed(1),
            (row.sampledTokens / 1000).toFixed(0),
            (row.trainedTokens / 1000).toFixed(0),
          ],
    ),
  ]
}
