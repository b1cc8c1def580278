import type { EvaluationRow, EvaluationRows, RunData } from './report-data.js'

export type Decoding = EvaluationRow['decoding']

/** The mean over cells of one decoding: of one task, or of all when `task` is undefined. */
export function meanRow(
  evaluation: EvaluationRows | null,
  decoding: Decoding,
  task?: string,
): EvaluationRow | undefined {
  const rows = task === undefined ? evaluation?.overall : evaluation?.tasks.filter((row) => row.task === task)
  return rows?.find((row) => row.decoding === decoding)
}

/** "66 to 69%" */
export function interval(row: EvaluationRow): string {
  return `${Math.round(row.ciLow * 100)} to ${percent(row.ciHigh)}`
}

/** The tasks of a run, in the order they were evaluated in. */
export function tasksOf({ before, after }: RunData): string[] {
  return distinct([...(before?.rows ?? []), ...(after?.rows ?? [])].map((row) => row.task))
}

/** The languages of a run, in the order they were evaluated in. */
export function languagesOf({ before, after }: RunData): string[] {
  return distinct([...(before?.rows ?? []), ...(after?.rows ?? [])].map((row) => row.language))
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

/** A number in few characters: 12345 -> "12.3k", 0.01234 -> "0.012". */
export function compact(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`
  if (size >= 100) return String(Math.round(value))
  return String(Number(value.toPrecision(2)))
}

/** The label of a tick: as many digits as tell it from its neighbours, `step` away. */
export function tick(value: number, step: number): string {
  const size = Math.abs(value)
  if (size < step / 1000) return '0'
  if (size >= 1e4) {
    const [unit, name] = size >= 1e6 ? [1e6, 'M'] : [1e3, 'k']
    return `${(value / unit).toFixed(decimals(step / unit))}${name}`
  }
  if (size >= 0.001) return value.toFixed(decimals(step))
  const power = Math.floor(Math.log10(size) + 1e-9)
  return `${(value / 10 ** power).toFixed(decimals(step / 10 ** power))}e${power}`
}

/** Decimal places that a multiple of `step` needs, at most six. */
function decimals(step: number): number {
  let places = 0
  while (places < 6 && Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) > 1e-6) places++
  return places
}
