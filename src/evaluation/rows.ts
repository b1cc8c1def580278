import { clusteredInterval, mean, meanOfKnown, passAtK } from './statistics.js'
import type { Aggregates, Decoding, EvaluationRow } from './types.js'

/** How one try of a problem went. */
export interface Try {
  success: boolean
  reward: number
  wellFormed: boolean
  languageConsistent: boolean | null
}

/** Tries of the problems of one task and language. */
export interface CellResult {
  task: string
  language: string
  decoding: Decoding
  /** [problem][try]; problems without a try (all dropped) are left out. */
  tries: Try[][]
  /** Tries asked for per problem. */
  samples: number
}

const ALL = '*'

/** The row of one cell. */
export function rowOf(cell: CellResult): EvaluationRow {
  return combine([cell], cell.task, cell.language)
}

/** Means over cells: by task, by language, overall, for each decoding. */
export function aggregate(cells: readonly CellResult[]): Aggregates {
  const by = (key: (cell: CellResult) => string): CellResult[][] => {
    const groups = new Map<string, CellResult[]>()
    for (const cell of cells) groups.set(key(cell), [...(groups.get(key(cell)) ?? []), cell])
    return [...groups.values()]
  }
  return {
    tasks: by((cell) => JSON.stringify([cell.task, cell.decoding])).map((own) => combine(own, own[0].task, ALL)),
    languages: by((cell) => JSON.stringify([cell.language, cell.decoding])).map((own) =>
      combine(own, ALL, own[0].language),
    ),
    overall: by((cell) => cell.decoding).map((own) => combine(own, ALL, ALL)),
  }
}

/** One row from cells of one decoding, each cell counting alike. */
function combine(cells: readonly CellResult[], task: string, language: string): EvaluationRow {
  const [{ decoding, samples }] = cells
  const filled = cells.filter((cell) => cell.tries.length > 0)
  const overCells = (value: (tries: readonly Try[]) => number): number =>
    mean(filled.map((cell) => mean(cell.tries.map(value))))
  const rates = filled.map((cell) => cell.tries.map(successRate))
  const interval = clusteredInterval(rates, samples)
  const row: EvaluationRow = {
    task,
    language,
    decoding,
    n: filled.reduce((sum, cell) => sum + cell.tries.flat().length, 0),
    problems: filled.reduce((sum, cell) => sum + cell.tries.length, 0),
    success: overCells(successRate),
    ciLow: interval.low,
    ciHigh: interval.high,
    languageConsistency: meanOfKnown(
      filled.map((cell) => meanOfKnown(cell.tries.flat().map((one) => one.languageConsistent))),
    ),
    reward: overCells((tries) => mean(tries.map((one) => one.reward))),
    malformed: overCells((tries) => mean(tries.map((one) => (one.wellFormed ? 0 : 1)))),
  }
  // Problems that lost a try to a dropped trajectory have no pass@samples; they are left out of pass@k altogether.
  const whole = filled.map((cell) => cell.tries.filter((tries) => tries.length === samples))
  if (samples > 1 && whole.some((tries) => tries.length > 0)) {
    row.passAt = Array.from({ length: samples }, (_, i) => meanPass(whole, samples, i + 1))
  }
  return row
}

function meanPass(cells: readonly (readonly Try[][])[], samples: number, k: number): number {
  const filled = cells.filter((cell) => cell.length > 0)
  return mean(
    filled.map((cell) => mean(cell.map((tries) => passAtK(samples, tries.filter(({ success }) => success).length, k)))),
  )
}

function successRate(tries: readonly Try[]): number {
  return mean(tries.map(({ success }) => (success ? 1 : 0)))
}
