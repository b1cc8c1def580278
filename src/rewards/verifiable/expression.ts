import type { Exact } from './exact.js'

/** An expression as a tree. */
export type Expression =
  | { kind: 'number'; value: Exact }
  | { kind: 'symbol'; name: string }
  /** pi, e, i, inf. */
  | { kind: 'constant'; name: 'pi' | 'e' | 'i' | 'inf' }
  | { kind: 'sum' | 'product'; terms: readonly Expression[] }
  | { kind: 'quotient' | 'power'; left: Expression; right: Expression }
  | { kind: 'minus'; of: Expression }
  /** A known function: sin, sqrt, root(x, n), log(x, base), factorial, binomial, abs, floor, ceil, degree ... */
  | { kind: 'function'; name: string; of: readonly Expression[] }
  /** Plus or minus. */
  | { kind: 'either'; left: Expression | null; right: Expression }
  /** What has no value here (a sum with bounds, an integral): equal to the same text only. */
  | { kind: 'opaque'; text: string }

/** An answer as mathematics. */
export type MathValue =
  | { kind: 'expression'; tree: Expression; unit: string }
  /** `or`: alternatives joined by that word. */
  | { kind: 'set'; items: readonly MathValue[]; or?: boolean }
  | { kind: 'tuple'; open: string; close: string; items: readonly MathValue[] }
  | { kind: 'matrix'; rows: readonly (readonly MathValue[])[] }
  | { kind: 'relation'; operator: Relation; left: Expression; right: Expression }
  | { kind: 'chain'; operators: readonly Relation[]; terms: readonly Expression[] }
  | { kind: 'union'; parts: readonly MathValue[] }

export type Relation = '=' | '<' | '≤' | '>' | '≥' | '≠'

/** A text in canonical words: two trees with the same text are the same, orders of sums and products aside. */
export function canonical(tree: Expression): string {
  switch (tree.kind) {
    case 'number': {
      const { numerator, denominator, exponent } = tree.value
      return `${numerator}/${denominator}e${exponent}`
    }
    case 'symbol':
      return `$${tree.name}`
    case 'constant':
      return tree.name
    case 'sum':
    case 'product':
      return `${tree.kind}(${tree.terms.map(canonical).sort().join(',')})`
    case 'quotient':
    case 'power':
      return `${tree.kind}(${canonical(tree.left)},${canonical(tree.right)})`
    case 'minus':
      return `-(${canonical(tree.of)})`
    case 'function':
      return `${tree.name}(${tree.of.map(canonical).join(',')})`
    case 'either':
      return `±(${tree.left ? canonical(tree.left) : ''},${canonical(tree.right)})`
    case 'opaque':
      return `opaque(${tree.text})`
  }
}

/** The children of a tree. */
export function parts(tree: Expression): readonly Expression[] {
  switch (tree.kind) {
    case 'sum':
    case 'product':
      return tree.terms
    case 'quotient':
    case 'power':
      return [tree.left, tree.right]
    case 'minus':
      return [tree.of]
    case 'function':
      return tree.of
    case 'either':
      return tree.left ? [tree.left, tree.right] : [tree.right]
    default:
      return []
  }
}

/** Is there a node like this in the tree? */
export function some(tree: Expression, like: (node: Expression) => boolean): boolean {
  return like(tree) || parts(tree).some((part) => some(part, like))
}

/** The names of its variables. */
export function symbolsOf(tree: Expression, into = new Set<string>()): Set<string> {
  if (tree.kind === 'symbol') into.add(tree.name)
  for (const part of parts(tree)) symbolsOf(part, into)
  return into
}
