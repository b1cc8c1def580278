import { realValue, sameExpression } from './evaluate.js'
import type { Expression, MathValue, Relation } from './expression.js'
import { readMath } from './math-parser.js'

interface Interval {
  from: number
  to: number
  fromClosed: boolean
  toClosed: boolean
}

/**
 * Are two subsets of the real line the same? Intervals with open and closed ends, unions of them, inequalities in one variable, sets
 * of points, ℝ.
 *
 * @returns `same`: null when one of the two is no such subset; `ends`: the same ends, open or closed aside
 * @example sameInterval('0 \\le x < 1', '[0, 1)', 'en').same // true
 */
export function sameInterval(
  a: string,
  b: string,
  language: string,
  expectedLanguage = language,
): { same: boolean | null; ends: boolean } {
  let told: boolean | null = null
  let ends = false
  for (const x of readMath(a, language))
    for (const y of readMath(b, expectedLanguage)) {
      const [left, right] = [partsOf(x), partsOf(y)]
      if (left && right) {
        if (equal(left, right, true)) return { same: true, ends: true }
        ends ||= equal(left, right, false)
        told = false
      } else if (x.kind === 'tuple' && y.kind === 'tuple' && x.items.length === 2 && y.items.length === 2) {
        // Ends with variables: as expressions.
        const alike = x.items.every((item, k) => {
          const other = y.items[k]
          return (
            item.kind === 'expression' && other.kind === 'expression' && sameExpression(item.tree, other.tree) === true
          )
        })
        if (alike && x.open === y.open && x.close === y.close) return { same: true, ends: true }
        ends ||= alike
        told ??= false
      }
    }
  return { same: told, ends }
}

/** Is this text an interval or a union of them, rather than a pair? */
export function isInterval(text: string, language: string): boolean {
  return readMath(text, language).some(
    (value) =>
      (value.kind === 'union' && partsOf(value) !== null) ||
      (value.kind === 'tuple' &&
        value.items.length === 2 &&
        partsOf(value) !== null &&
        (value.open === '(' ? value.close === ']' : value.close === ')')) ||
      (value.kind === 'tuple' && partsOf(value)?.some(({ from, to }) => from === -Infinity || to === Infinity)),
  )
}

function partsOf(value: MathValue): Interval[] | null {
  const parts = collect(value)
  return parts && merged(parts)
}

function collect(value: MathValue): Interval[] | null {
  switch (value.kind) {
    case 'union': {
      const all = value.parts.map(collect)
      return all.some((one) => one === null) ? null : all.flatMap((one) => one ?? [])
    }
    case 'set': {
      if (value.or && value.items.some(({ kind }) => kind !== 'expression'))
        return collect({ kind: 'union', parts: value.items })
      const points = value.items.map((item) => (item.kind === 'expression' ? realValue(item.tree) : null))
      return points.some((point) => point === null)
        ? null
        : points.map((point) => ({ from: point ?? 0, to: point ?? 0, fromClosed: true, toClosed: true }))
    }
    case 'tuple': {
      const [first, second] = value.items
      if (value.items.length !== 2 || first.kind !== 'expression' || second.kind !== 'expression') return null
      const [from, to] = [realValue(first.tree), realValue(second.tree)]
      if (from === null || to === null) return null
      return [{ from, to, fromClosed: value.open === '[', toClosed: value.close === ']' }]
    }
    case 'relation':
      return fromRelation(value.operator, value.left, value.right)
    case 'chain': {
      const [low, middle, high] = value.terms
      if (value.terms.length !== 3 || middle.kind !== 'symbol') return null
      const [one] = fromRelation(value.operators[0], low, middle) ?? []
      const [two] = fromRelation(value.operators[1], middle, high) ?? []
      if (!one || !two) return null
      const lower = one.from > two.from ? one : two
      const upper = one.to < two.to ? one : two
      return [{ from: lower.from, fromClosed: lower.fromClosed, to: upper.to, toClosed: upper.toClosed }]
    }
    case 'expression':
      if (
        value.tree.kind === 'symbol' &&
        (value.tree.name === 'set-R' || value.tree.name === 'ℝ' || value.tree.name === 'R')
      )
        return [{ from: -Infinity, to: Infinity, fromClosed: false, toClosed: false }]
      return null
    default:
      return null
  }
}

function fromRelation(operator: Relation, left: Expression, right: Expression): Interval[] | null {
  if (left.kind === 'symbol') {
    const value = realValue(right)
    if (value === null) return null
    if (operator === '<' || operator === '≤')
      return [{ from: -Infinity, fromClosed: false, to: value, toClosed: operator === '≤' }]
    if (operator === '>' || operator === '≥')
      return [{ from: value, fromClosed: operator === '≥', to: Infinity, toClosed: false }]
    if (operator === '=') return [{ from: value, fromClosed: true, to: value, toClosed: true }]
    return [
      { from: -Infinity, fromClosed: false, to: value, toClosed: false },
      { from: value, fromClosed: false, to: Infinity, toClosed: false },
    ]
  }
  if (right.kind !== 'symbol') return null
  const turned =
    ({ '<': '>', '≤': '≥', '>': '<', '≥': '≤' } as Partial<Record<Relation, Relation>>)[operator] ?? operator
  return fromRelation(turned, right, left)
}

const close = (a: number, b: number): boolean =>
  a === b || (Number.isFinite(a - b) && Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b)))

/** Sorted, without empty parts, touching parts joined. An interval whose ends are turned round is kept as it is: no subset. */
function merged(parts: readonly Interval[]): Interval[] {
  const kept = parts
    .filter(({ from, to, fromClosed, toClosed }) => from !== to || (fromClosed && toClosed))
    .toSorted((a, b) => a.from - b.from || Number(b.fromClosed) - Number(a.fromClosed))
  const joined: Interval[] = []
  for (const part of kept) {
    const last = joined[joined.length - 1]
    const touches = last && (part.from < last.to || (close(part.from, last.to) && (part.fromClosed || last.toClosed)))
    if (!touches) joined.push({ ...part })
    else if (close(part.to, last.to)) last.toClosed ||= part.toClosed
    else if (part.to > last.to) [last.to, last.toClosed] = [part.to, part.toClosed]
  }
  return joined
}

function equal(a: readonly Interval[], b: readonly Interval[], strict: boolean): boolean {
  return (
    a.length === b.length &&
    a.every((part, k) => {
      const other = b[k]
      const sameClosed = part.fromClosed === other.fromClosed && part.toClosed === other.toClosed
      return close(part.from, other.from) && close(part.to, other.to) && (sameClosed || !strict)
    })
  )
}
