/** A cell of a result: text, truth, NULL, a number in decimal notation, or bytes in hexadecimal. */
export type SqlCell = null | boolean | string | { readonly n: string } | { readonly b: string }

/** What the last query of a program gave. */
export interface SqlRows {
  columns: readonly string[]
  rows: readonly (readonly SqlCell[])[]
}

/** Rows that a program may give in all. */
export const MOST_ROWS = 10_000

/** As in the command-line shells: cells between bars, NULL as nothing. */
export function rowLine(row: readonly SqlCell[]): string {
  const shown = row.map((cell) => {
    if (cell === null) return ''
    if (typeof cell === 'boolean') return cell ? 't' : 'f'
    if (typeof cell === 'string') return cell
    return 'n' in cell ? cell.n : cell.b
  })
  return `${shown.join('|')}\n`
}

/** Cells as a test writes them: JSON numbers, integers beyond 2^53 as decimal strings, bytes in hexadecimal. */
export function plainRows({ rows }: SqlRows): (null | boolean | number | string)[][] {
  return rows.map((row) =>
    row.map((cell) => {
      if (typeof cell !== 'object' || cell === null) return cell
      if ('b' in cell) return cell.b
      const value = Number(cell.n)
      return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)) ? cell.n : value
    }),
  )
}

/** A cell out of a value that a test or a data set writes. Numbers are numbers, all else as it stands. */
export function cellOf(value: unknown): SqlCell {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint') return { n: String(value) }
  return JSON.stringify(value)
}

export interface SqlComparison {
  /** Rows in the same order, or as a multiset. */
  ordered: boolean
  /** Of numbers that are not both whole: the largest difference, relative to the larger of the two; 1e-9 unless given. */
  tolerance?: number
}

/**
 * Are two results the same? Column names do not count, column order does. Numbers are equal by value, whatever their type
 * (1, 1.0, 1.00); truth equals 1 and 0, which SQLite has in its place; NULL equals NULL; text is compared exactly.
 *
 * @example sameRows({ columns: ['n'], rows: [[{ n: '1.0' }]] }, { columns: ['count'], rows: [[{ n: '1' }]] }, { ordered: true }) // true
 */
export function sameRows(given: SqlRows, expected: SqlRows, { ordered, tolerance = 1e-9 }: SqlComparison): boolean {
  if (given.rows.length !== expected.rows.length) return false
  const left = given.rows.map(comparable)
  const right = expected.rows.map(comparable)
  const width = right[0]?.length ?? 0
  if (left.some((row) => row.length !== width) || right.some((row) => row.length !== width)) return false
  if (ordered) return left.every((row, at) => sameRow(row, right[at], tolerance))
  // Rows that agree in everything but inexact numbers share a bucket; within it each takes a partner that is near enough.
  const buckets = new Map<string, Comparable[][]>()
  for (const row of right) {
    const key = exactKey(row)
    const bucket = buckets.get(key)
    if (bucket) bucket.push(row)
    else buckets.set(key, [row])
  }
  for (const bucket of buckets.values()) bucket.sort(byNumbers)
  for (const row of left.sort(byNumbers)) {
    const bucket = buckets.get(exactKey(row))
    const at = bucket?.findIndex((one) => sameRow(row, one, tolerance)) ?? -1
    if (at < 0) return false
    bucket!.splice(at, 1)
  }
  return true
}

/** Numbers that are not whole are JS numbers here; everything else is a text that is equal when the cells are. */
type Comparable = string | number

function comparable(row: readonly SqlCell[]): Comparable[] {
  return row.map((cell) => {
    if (cell === null) return 'null'
    if (typeof cell === 'boolean') return cell ? 'n1' : 'n0'
    if (typeof cell === 'string') return `t${cell}`
    if ('b' in cell) return `b${cell.b}`
    return wholeOf(cell.n) ?? Number(cell.n)
  })
}

/** 'n12' of '12', '12.0', '+012', '1.2e1'; null when it is not whole. */
function wholeOf(text: string): string | null {
  const plain = /^([+-]?)0*(\d+)(?:\.0*)?$/.exec(text)
  if (plain) return plain[2] === '0' ? 'n0' : `n${plain[1] === '-' ? '-' : ''}${plain[2]}`
  const value = Number(text)
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `n${BigInt(value)}` : null
}

function exactKey(row: readonly Comparable[]): string {
  return JSON.stringify(row.map((cell) => (typeof cell === 'string' ? cell : 0)))
}

function byNumbers(a: readonly Comparable[], b: readonly Comparable[]): number {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i], b[i]]
    if (typeof x === 'number' && typeof y === 'number' && x !== y) return x - y
  }
  return 0
}

function sameRow(a: readonly Comparable[], b: readonly Comparable[], tolerance: number): boolean {
  return a.every((cell, i) => sameCell(cell, b[i], tolerance))
}

function sameCell(a: Comparable, b: Comparable, tolerance: number): boolean {
  if (a === b) return true
  const [x, y] = [numberOf(a), numberOf(b)]
  if (x === null || y === null || (typeof a === 'string' && typeof b === 'string')) return false
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) && Number.isNaN(y)
  return Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y)) || x === y
}

function numberOf(cell: Comparable): number | null {
  if (typeof cell === 'number') return cell
  return cell.startsWith('n') && cell !== 'null' ? Number(cell.slice(1)) : null
}

const QUOTES: Readonly<Record<string, string>> = { "'": "'", '"': '"', '`': '`', '[': ']' }

/** A piece of SQL: comments and quoted texts are pieces of their own, marked `opaque`. */
interface Piece {
  text: string
  opaque: boolean
}

/** Cuts SQL into plain stretches and what is quoted or commented. Linear in its length. */
function piecesOf(sql: string, dialect: 'sqlite' | 'postgres'): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  let at = 0
  const opaque = (end: number): void => {
    if (at > from) pieces.push({ text: sql.slice(from, at), opaque: false })
    pieces.push({ text: sql.slice(at, end), opaque: true })
    from = at = end
  }
  const after = (end: number, length: number): number => (end < 0 ? sql.length : end + length)
  while (at < sql.length) {
    const char = sql[at]
    if (char === '-' && sql[at + 1] === '-') opaque(after(sql.indexOf('\n', at), 1))
    else if (char === '/' && sql[at + 1] === '*') opaque(commentEnd(sql, at, dialect === 'postgres'))
    else if (char === '$' && dialect === 'postgres') {
      const tag = /^\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]{0,62})?\$/.exec(sql.slice(at, at + 66))?.[0]
      if (tag) opaque(after(sql.indexOf(tag, at + tag.length), tag.length))
      else at++
    } else if (QUOTES[char] && !(dialect === 'postgres' && (char === '[' || char === '`'))) {
      const escapes =
        dialect === 'postgres' && char === "'" && /[eE]/.test(sql[at - 1] ?? '') && !/\w/.test(sql[at - 2] ?? '')
      opaque(quoteEnd(sql, at + 1, QUOTES[char], escapes))
    } else at++
  }
  if (at > from) pieces.push({ text: sql.slice(from), opaque: false })
  return pieces
}

function commentEnd(sql: string, start: number, nests: boolean): number {
  let depth = 1
  let at = start + 2
  while (at < sql.length && depth > 0) {
    if (sql.startsWith('*/', at)) {
      depth--
      at += 2
    } else if (nests && sql.startsWith('/*', at)) {
      depth++
      at += 2
    } else at++
  }
  return at
}

function quoteEnd(sql: string, start: number, quote: string, escapes: boolean): number {
  for (let at = start; at < sql.length; at++) {
    if (escapes && sql[at] === '\\') at++
    else if (sql[at] === quote) {
      if (sql[at + 1] === quote && quote !== ']') at++
      else return at + 1
    }
  }
  return sql.length
}

/**
 * Does a query order its rows: an ORDER BY outside parentheses, texts and comments?
 *
 * @example ordersRows('SELECT * FROM (SELECT 1 ORDER BY 1)', 'sqlite') // false
 */
export function ordersRows(sql: string, dialect: 'sqlite' | 'postgres'): boolean {
  let depth = 0
  let outside = ''
  for (const { text, opaque } of piecesOf(sql, dialect)) {
    if (opaque) {
      outside += ' '
      continue
    }
    for (const char of text) {
      if (char === '(') depth++
      else if (char === ')') {
        depth = Math.max(0, depth - 1)
        outside += ' '
      } else if (depth === 0) outside += char
    }
  }
  return /\border\s+by\b/i.test(outside)
}

/** The statements of a text, without what is empty. A function body with BEGIN ATOMIC must be quoted instead. */
export function statementsOf(sql: string, dialect: 'sqlite' | 'postgres'): string[] {
  const statements: string[] = []
  let statement = ''
  let said = false
  const end = (): void => {
    if (said) statements.push(statement.trim())
    statement = ''
    said = false
  }
  for (const { text, opaque } of piecesOf(sql, dialect)) {
    if (opaque) {
      statement += text
      said ||= !/^(?:--|\/\*)/.test(text)
      continue
    }
    text.split(';').forEach((part, i) => {
      if (i > 0) end()
      statement += part
      said ||= part.trim() !== ''
    })
  }
  end()
  return statements
}
