import { ratioOf, realValue, sameExpression } from './evaluate.js'
import { canonical, some, type Expression, type MathValue, type Relation } from './expression.js'
import { near, type Tolerance } from './exact.js'
import { readMath } from './math-parser.js'
import { sameQuantity } from './units.js'

/** Most members of a set or tuple that are compared. */
const MOST_MEMBERS = 200

/**
 * Are two answers the same mathematics? Null where it cannot be told: not readable, too large to evaluate, a sum or an integral.
 *
 * Sets are compared without order, tuples and matrices in order; "x = 3" is 3 where the other names no variable; equations and
 * inequalities are the same when one is a multiple of the other; ± stands for two answers.
 *
 * @example sameMath('\\sqrt{8}', '2\\sqrt{2}', 'en') // true
 */
export function sameMath(
  a: string,
  b: string,
  language: string,
  options: Tolerance & { expectedLanguage?: string } = {},
): boolean | null {
  const left = readMath(a, language)
  const right = readMath(b, options.expectedLanguage ?? language)
  let told: boolean | null = null
  for (const x of left)
    for (const y of right) {
      const same = sameValue(x, y, language, options)
      if (same === true) return true
      told ??= same
    }
  return told
}

/** Are two readings the same? */
export function sameValue(a: MathValue, b: MathValue, language: string, tolerance: Tolerance = {}): boolean | null {
  const again = (x: MathValue, y: MathValue): boolean | null => sameValue(x, y, language, tolerance)
  const [x, y] = [spread(a), spread(b)]
  if (x.kind === 'set' && y.kind === 'set') return sameSet(x.items, y.items, again)
  if (x.kind === 'tuple' && y.kind === 'tuple')
    return x.open === y.open && x.close === y.close ? inOrder(x.items, y.items, again) : false
  if (x.kind === 'matrix' && y.kind === 'matrix') {
    if (x.rows.length !== y.rows.length) return false
    return all(x.rows.map((row, k) => inOrder(row, y.rows[k], again)))
  }
  if (x.kind === 'union' && y.kind === 'union') return sameSet(x.parts, y.parts, again)
  if (x.kind === 'chain' && y.kind === 'chain') return sameChain(x, y)
  if (x.kind === 'relation' && y.kind === 'relation') return sameRelation(x, y, tolerance)
  if (x.kind === 'relation' && y.kind === 'expression') return sameLabelled(x, y, language, tolerance)
  if (x.kind === 'expression' && y.kind === 'relation') return sameLabelled(y, x, language, tolerance)
  if (x.kind === 'expression' && y.kind === 'expression') {
    if (x.unit !== '' && y.unit !== '') {
      const [v, w] = [realValue(x.tree), realValue(y.tree)]
      const same =
        v === null || w === null ? null : sameQuantity({ value: v, unit: x.unit }, { value: w, unit: y.unit }, language)
      if (same !== null) return same
    }
    return sameTree(x.tree, y.tree, tolerance)
  }
  return false
}

function sameTree(a: Expression, b: Expression, tolerance: Tolerance): boolean | null {
  const same = sameExpression(a, b)
  if (same === true) return true
  if (a.kind === 'function' && a.name === 'degree' && !some(b, isDegree)) return sameExpression(a.of[0], b)
  if (b.kind === 'function' && b.name === 'degree' && !some(a, isDegree)) return sameExpression(a, b.of[0])
  if (tolerance.absoluteTolerance || tolerance.relativeTolerance) {
    const [v, w] = [realValue(a), realValue(b)]
    if (v !== null && w !== null && Number.isFinite(v) && Number.isFinite(w))
      return near(ofFloat(v), ofFloat(w), tolerance)
  }
  return same
}

const isDegree = (node: Expression): boolean => node.kind === 'function' && node.name === 'degree'

function ofFloat(value: number): { numerator: bigint; denominator: bigint; exponent: number } {
  const [mantissa, exponent] = value.toExponential(16).split('e')
  const digits = mantissa.replace('.', '')
  return { numerator: BigInt(digits), denominator: 1n, exponent: Number(exponent) - 16 }
}

/** ± as the set of its two answers. */
function spread(value: MathValue): MathValue {
  const tree =
    value.kind === 'expression'
      ? value.tree
      : value.kind === 'relation' && value.operator === '=' && value.left.kind === 'symbol'
        ? value.right
        : null
  if (!tree || !some(tree, ({ kind }) => kind === 'either'))
    return value.kind === 'set'
      ? { kind: 'set', items: value.items.flatMap((item) => flat(spread(item), item)) }
      : value
  const unit = value.kind === 'expression' ? value.unit : ''
  return {
    kind: 'set',
    items: [chosen(tree, 1), chosen(tree, -1)].map((one) => ({ kind: 'expression', tree: one, unit })),
  }
}

const flat = (spreadOut: MathValue, item: MathValue): readonly MathValue[] =>
  spreadOut.kind === 'set' && item.kind !== 'set' ? spreadOut.items : [item]

function chosen(tree: Expression, sign: 1 | -1): Expression {
  switch (tree.kind) {
    case 'either': {
      const right = chosen(tree.right, sign)
      const signed: Expression = sign === 1 ? right : { kind: 'minus', of: right }
      return tree.left ? { kind: 'sum', terms: [chosen(tree.left, sign), signed] } : signed
    }
    case 'sum':
    case 'product':
      return { ...tree, terms: tree.terms.map((term) => chosen(term, sign)) }
    case 'quotient':
    case 'power':
      return { ...tree, left: chosen(tree.left, sign), right: chosen(tree.right, sign) }
    case 'minus':
      return { kind: 'minus', of: chosen(tree.of, sign) }
    case 'function':
      return { ...tree, of: tree.of.map((part) => chosen(part, sign)) }
    default:
      return tree
  }
}

/** False if one is, else null if one is, else true. */
function all(told: readonly (boolean | null)[]): boolean | null {
  return told.includes(false) ? false : told.includes(null) ? null : true
}

function inOrder<Item>(
  a: readonly Item[],
  b: readonly Item[],
  same: (x: Item, y: Item) => boolean | null,
): boolean | null {
  if (a.length !== b.length) return false
  if (a.length > MOST_MEMBERS) return null
  return all(a.map((item, k) => same(item, b[k])))
}

function sameSet<Item>(
  a: readonly Item[],
  b: readonly Item[],
  same: (x: Item, y: Item) => boolean | null,
): boolean | null {
  if (a.length > MOST_MEMBERS || b.length > MOST_MEMBERS) return null
  const covered = (items: readonly Item[], by: readonly Item[]): boolean | null =>
    all(
      items.map((item) => {
        const told = by.map((other) => same(item, other))
        return told.includes(true) ? true : told.includes(null) ? null : false
      }),
    )
  return all([covered(a, b), covered(b, a)])
}

type Relationship = Extract<MathValue, { kind: 'relation' }>

/** "x = 3" or "f(x) = x^2" without what it names; null for an equation that is more than a definition. */
function labelled({ operator, left, right }: Relationship): { label: Expression; value: Expression } | null {
  if (operator !== '=') return null
  const isLabel = (tree: Expression): boolean =>
    tree.kind === 'symbol' ||
    (tree.kind === 'function' && tree.name.startsWith('call ')) ||
    (tree.kind === 'product' && tree.terms.every(({ kind }) => kind === 'symbol'))
  if (isLabel(left)) return { label: left, value: right }
  return left.kind === 'number' && right.kind === 'symbol' ? { label: right, value: left } : null
}

function sameLabelled(
  relation: Relationship,
  other: Extract<MathValue, { kind: 'expression' }>,
  language: string,
  tolerance: Tolerance,
): boolean | null {
  const found = labelled(relation)
  if (!found) return false
  return sameValue({ kind: 'expression', tree: found.value, unit: '' }, { ...other, unit: '' }, language, tolerance)
}

function sameRelation(a: Relationship, b: Relationship, tolerance: Tolerance): boolean | null {
  const [x, y] = [labelled(a), labelled(b)]
  if (x && y && canonical(x.label) === canonical(y.label)) {
    const same = sameTree(x.value, y.value, tolerance)
    if (same !== false) return same
  }
  const [from, to] = [standard(a), standard(b)]
  if (from.operator !== to.operator) return false
  if (sameExpression(from.tree, to.tree) === true) return true
  const ratio = ratioOf(from.tree, to.tree)
  if (ratio === null) return false
  return from.operator === '=' || from.operator === '≠' || ratio > 0
}

/** As "tree < 0", "tree ≤ 0", "tree = 0" or "tree ≠ 0". */
function standard({ operator, left, right }: Relationship): { operator: Relation; tree: Expression } {
  const minus = (from: Expression, what: Expression): Expression => ({
    kind: 'sum',
    terms: [from, { kind: 'minus', of: what }],
  })
  if (operator === '>') return { operator: '<', tree: minus(right, left) }
  if (operator === '≥') return { operator: '≤', tree: minus(right, left) }
  return { operator, tree: minus(left, right) }
}

type Chain = Extract<MathValue, { kind: 'chain' }>
const turned: Readonly<Record<Relation, Relation>> = { '<': '>', '>': '<', '≤': '≥', '≥': '≤', '=': '=', '≠': '≠' }

function sameChain(a: Chain, b: Chain): boolean | null {
  const upward = (chain: Chain): Chain =>
    chain.operators.includes('>') || chain.operators.includes('≥')
      ? {
          kind: 'chain',
          operators: chain.operators.map((operator) => turned[operator]).reverse(),
          terms: [...chain.terms].reverse(),
        }
      : chain
  const [x, y] = [upward(a), upward(b)]
  if (x.operators.join('') !== y.operators.join('')) return false
  return inOrder(x.terms, y.terms, sameExpression)
}
