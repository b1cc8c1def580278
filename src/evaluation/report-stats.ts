import type { EvaluationRow } from './report-data.js'
import type { Interval } from './report-charts.js'

export type Decoding = EvaluationRow['decoding']

/** The mean of some evaluation rows. */
export interface Aggregate extends Interval {
  /** Null when no reply in them carried a language. */
  languageConsistency: number | null
  /** Largest k that every row has, and the mean pass@k; null when rows have none. */
  pass: { k: number; value: number } | null
}

/**
 * The unweighted mean over cells (task by language), with a 95% interval that takes the cells as independent:
 * standard error = sqrt(sum of squared standard errors) / cells, each cell's read off its own interval. Undefined without rows.
 */
export function aggregate(rows: readonly EvaluationRow[]): Aggregate | undefined {
  if (rows.length === 0) return undefined
  const value = mean(rows.map((row) => row.success))
  const error = Math.sqrt(rows.reduce((sum, row) => sum + ((row.ciHigh - row.ciLow) / 2) ** 2, 0)) / rows.length
  const consistency = rows.flatMap((row) => row.languageConsistency ?? [])
  const k = Math.min(...rows.map((row) => row.passAt?.length ?? 0))
  return {
    value,
    low: Math.max(0, value - error),
    high: Math.min(1, value + error),
    languageConsistency: consistency.length === 0 ? null : mean(consistency),
    pass: k === 0 ? null : { k, value: mean(rows.map((row) => row.passAt?.[k - 1] ?? 0)) },
  }
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

/** The distinct values in order of first appearance. */
export function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}

export function percent(value: number): string {
  return `${Math.round(value * 100)}%`
}

/** "+37 points", with a true minus sign. */
export function points(before: number, after: number): string {
  const change = Math.round(after * 100) - Math.round(before * 100)
  return `${change > 0 ? '+' : change < 0 ? '−' : '±'}${Math.abs(change)} points`
}

/** 75 -> "1 min 15 s". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${rest} s` : `${rest} s`
}

/** A number in at most four characters or so: 12345 -> "12.3k", 0.01234 -> "0.012". */
export function compact(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`
  if (size >= 100) return String(Math.round(value))
  if (size >= 0.001) return String(Number(value.toPrecision(2)))
  return value.toExponential(0)
}
