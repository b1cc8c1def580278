import pc from 'picocolors'
import type { Aggregates, Decoding, EvaluationRow, RandomRow } from './types.js'

/** What the table of a finished (or interrupted) run shows; a `Summary` is one. */
export interface SummaryLike {
  evaluation: {
    random: readonly RandomRow[]
    aggregates: { before: Aggregates; after: Aggregates | null }
  }
}

export interface TableOptions {
  /** ANSI colours; none unless given. */
  colors?: boolean
}

/**
 * Success of a run on withheld problems before and after, per task and per language, as aligned plain text: what a random
 * legal player scores, temperature 1 and greedy side by side, pass@k, and replies in the right language. Every figure is a
 * percentage; `*` marks a change where the 95 percent intervals do not overlap.
 *
 * @example console.log(summaryTable(summary, { colors: process.stdout.isTTY }))
 */
export function summaryTable(summary: SummaryLike, options: TableOptions = {}): string {
  const { random, aggregates } = summary.evaluation
  const { before } = aggregates
  const after = aggregates.after ?? before
  const columns = columnsOf(before)
  const line = (label: string, pick: RowPicker, floor: number | null): Cell[] => {
    const [sampledBefore, sampledAfter] = [pick(before, 'sampled'), pick(after, 'sampled')]
    const [greedyBefore, greedyAfter] = [pick(before, 'greedy'), pick(after, 'greedy')]
    return [
      text(label),
      figure(floor),
      change(sampledBefore, sampledAfter),
      change(greedyBefore, greedyAfter),
      shift(sampledBefore?.passAt?.at(-1), sampledAfter?.passAt?.at(-1)),
      shift(sampledBefore?.languageConsistency, sampledAfter?.languageConsistency),
    ]
  }
  const note = 'Success on withheld problems in percent, before -> after; * the 95 percent intervals do not overlap.'
  return `${layOut(before, random, columns, line, options)}\n\n${note}`
}

/**
 * How a model does on withheld problems, per task and per language, with 95 percent intervals.
 *
 * @example console.log(evaluationTable({ ...(await evaluate(options)), random }))
 */
export function evaluationTable(
  evaluation: Aggregates & { random: readonly RandomRow[] },
  options: TableOptions = {},
): string {
  const line = (label: string, pick: RowPicker, floor: number | null): Cell[] => {
    const [sampled, greedy] = [pick(evaluation, 'sampled'), pick(evaluation, 'greedy')]
    return [
      text(label),
      figure(floor),
      interval(sampled),
      interval(greedy),
      figure(sampled?.passAt?.at(-1)),
      figure(sampled?.languageConsistency),
    ]
  }
  const note = 'Success on withheld problems in percent, with 95 percent intervals.'
  return `${layOut(evaluation, evaluation.random, columnsOf(evaluation), line, options)}\n\n${note}`
}

type RowPicker = (aggregates: Aggregates, decoding: Decoding) => EvaluationRow | undefined
type Style = 'plain' | 'head' | 'good' | 'bad'
interface Cell {
  text: string
  style: Style
}

function columnsOf(aggregates: Aggregates): string[] {
  const k = aggregates.overall.find(({ decoding }) => decoding === 'sampled')?.passAt?.length
  return ['random', 'temperature 1', 'greedy', k ? `pass@${k}` : 'pass@k', 'language']
}

/** Three blocks under one head: tasks, languages, all. */
function layOut(
  aggregates: Aggregates,
  random: readonly RandomRow[],
  columns: readonly string[],
  line: (label: string, pick: RowPicker, floor: number | null) => Cell[],
  options: TableOptions,
): string {
  const heading = (label: string): Cell[] => [label, ...columns].map((head) => ({ text: head, style: 'head' }))
  const names = (key: 'task' | 'language', rows: readonly EvaluationRow[]): string[] => [
    ...new Set(rows.map((row) => row[key])),
  ]
  const floorOf = (keep: (row: RandomRow) => boolean): number | null => {
    const rows = random.filter((row) => row.n > 0 && keep(row))
    return rows.length === 0 ? null : rows.reduce((sum, { success }) => sum + success, 0) / rows.length
  }
  const tasks = names('task', aggregates.tasks).map((task) =>
    line(
      task,
      (from, decoding) => from.tasks.find((row) => row.task === task && row.decoding === decoding),
      floorOf((row) => row.task === task),
    ),
  )
  const languages = names('language', aggregates.languages).map((language) =>
    line(
      language,
      (from, decoding) => from.languages.find((row) => row.language === language && row.decoding === decoding),
      floorOf((row) => row.language === language),
    ),
  )
  const overall = line(
    'mean',
    (from, decoding) => from.overall.find((row) => row.decoding === decoding),
    floorOf(() => true),
  )
  const rows = [heading('task'), ...tasks, [], heading('language'), ...languages, [], overall]
  return align(rows, options.colors ?? false)
}

function text(value: string): Cell {
  return { text: value, style: 'plain' }
}

function percent(value: number): string {
  return (100 * value).toFixed(0)
}

function figure(value: number | null | undefined): Cell {
  return text(value === null || value === undefined ? '-' : percent(value))
}

function interval(row: EvaluationRow | undefined): Cell {
  return text(row && row.n > 0 ? `${percent(row.success)} (${percent(row.ciLow)}-${percent(row.ciHigh)})` : '-')
}

function shift(before: number | null | undefined, after: number | null | undefined): Cell {
  return text(`${figure(before).text} -> ${figure(after).text}`)
}

/** Success before and after; coloured and marked where each lies outside the other's interval. */
function change(before: EvaluationRow | undefined, after: EvaluationRow | undefined): Cell {
  if (!before || !after || before.n + after.n === 0) return text('-')
  if (before.n === 0 || after.n === 0) {
    const [from, to] = [before, after].map((row) => figure(row.n > 0 ? row.success : null).text)
    return text(`${from} -> ${to} `)
  }
  const beyond = after.ciLow > before.ciHigh || after.ciHigh < before.ciLow
  const style = !beyond ? 'plain' : after.success > before.success ? 'good' : 'bad'
  return { text: `${percent(before.success)} -> ${percent(after.success)}${beyond ? '*' : ' '}`, style }
}

/** First column to the left, figures to the right, two spaces between; task ids and tags are ASCII, so length is width. */
function align(rows: readonly (readonly Cell[])[], colors: boolean): string {
  const paint = pc.createColors(colors)
  const painters: Record<Style, (value: string) => string> = {
    plain: (value) => value,
    head: paint.bold,
    good: paint.green,
    bad: paint.red,
  }
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.text.length)))
  const render = (row: readonly Cell[]): string =>
    row
      .map((cell, i) => {
        const padded = i === 0 ? cell.text.padEnd(widths[i]) : cell.text.padStart(widths[i])
        return painters[cell.style](padded)
      })
      .join('  ')
  return rows.map((row) => (row.length === 0 ? '' : render(row).trimEnd())).join('\n')
}
