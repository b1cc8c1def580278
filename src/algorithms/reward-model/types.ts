import { MyriadError } from '../../core/index.js'

/** What is known of a scored reply (or step). */
export interface ScoreItem {
  /** Items that were compared with each other share it: a pair, or a ranking of replies to one prompt. */
  comparison?: number
  /** Place in the comparison, 0 the best; equal places are ties. */
  rank?: number
  /** By how much the best of a pair is better, in units of score; on the item of rank 0. */
  margin?: number
  /** How sure it is that the item of rank 0 is the better one, in [0, 1]; on that item. 1 unless given. */
  probability?: number
  /** Of each head; NaN where there is none: [heads]. */
  labels?: readonly number[]
}

/** Scores of a reward model and what is known of what it scored. */
export interface ScoreBatch {
  /** Head by head of each item: [items * heads]. */
  scores: Float64Array
  /** 1 unless given. */
  heads?: number
  items: readonly ScoreItem[]
}

export interface ScoreResult {
  value: number
  /** d value / d score: [items * heads]. */
  gradient: Float64Array
  metrics: Record<string, number>
}

/** An objective of a reward model: a pure function of its scores. */
export interface ScoreLoss {
  name: string
  evaluate(batch: ScoreBatch): ScoreResult
}

/**
 * The result, when it is finite.
 *
 * @throws MyriadError 'numeric' otherwise
 */
export function finiteResult(name: string, result: ScoreResult): ScoreResult {
  const at = result.gradient.findIndex((slope) => !Number.isFinite(slope))
  if (Number.isFinite(result.value) && at < 0) return result
  const what = at < 0 ? `value ${result.value}` : `derivative ${result.gradient[at]} at score ${at}`
  throw new MyriadError('numeric', `${name} is not finite: ${what}; a score or label is too large or not a number`)
}

/** Indices of the items of each comparison, in order of first appearance. */
export function comparisonsOf(items: readonly ScoreItem[]): number[][] {
  const comparisons = new Map<number, number[]>()
  items.forEach(({ comparison }, i) => {
    if (comparison === undefined) return
    if (!comparisons.has(comparison)) comparisons.set(comparison, [])
    comparisons.get(comparison)!.push(i)
  })
  return [...comparisons.values()]
}

/**
 * The one head of a batch whose loss knows only one.
 *
 * @throws MyriadError 'usage' when there are several, or scores and items do not fit
 */
export function oneHead(name: string, { scores, heads = 1, items }: ScoreBatch): Float64Array {
  if (heads !== 1)
    throw new MyriadError('usage', `"${name}" is of one head, the scores have ${heads}; merge or choose one`)
  if (scores.length !== items.length)
    throw new MyriadError('usage', `"${name}": ${scores.length} scores of ${items.length} items`)
  return scores
}
