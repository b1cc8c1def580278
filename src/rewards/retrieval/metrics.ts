/** Relevance of documents by id: above 0 is relevant. A plain list counts 1 each. */
export type Gold = readonly string[] | Readonly<Record<string, number>>

/** Ids in order of rank, each once, at its best. */
function ranked(ids: readonly string[], k: number): string[] {
  return [...new Set(ids)].slice(0, k)
}

/** Grades above 0, by id. */
export function gradesOf(gold: Gold): Map<string, number> {
  const entries = Array.isArray(gold) ? gold.map((id: string) => [id, 1] as const) : Object.entries(gold)
  return new Map(entries.filter(([, grade]) => grade > 0) as (readonly [string, number])[])
}

/**
 * Share of relevant documents among the first k retrieved. Of no relevant ones 0, as trec_eval has it.
 *
 * @example recallAt(['a', 'x', 'b'], ['a', 'b'], 2) // 0.5
 */
export function recallAt(retrieved: readonly string[], gold: Gold, k = Infinity): number {
  const grades = gradesOf(gold)
  return grades.size === 0 ? 0 : ranked(retrieved, k).filter((id) => grades.has(id)).length / grades.size
}

/**
 * Share of the first k retrieved that are relevant; of k even where fewer were retrieved, as trec_eval has it (without k, of
 * those retrieved).
 *
 * @example precisionAt(['a', 'x', 'b'], ['a', 'b'], 5) // 0.4
 */
export function precisionAt(retrieved: readonly string[], gold: Gold, k = Infinity): number {
  const grades = gradesOf(gold)
  const first = ranked(retrieved, k)
  const of = k === Infinity ? first.length : k
  return of === 0 ? 0 : first.filter((id) => grades.has(id)).length / of
}

/**
 * One over the rank of the first relevant document, 0 where none is among the first k.
 *
 * @example reciprocalRank(['x', 'a'], ['a', 'b']) // 0.5
 */
export function reciprocalRank(retrieved: readonly string[], gold: Gold, k = Infinity): number {
  const grades = gradesOf(gold)
  const rank = ranked(retrieved, k).findIndex((id) => grades.has(id))
  return rank < 0 ? 0 : 1 / (rank + 1)
}

/**
 * Normalized discounted cumulative gain: the sum of grade / log2(rank + 1) over the first k, over that of the best order
 * (Järvelin and Kekäläinen 2002; gains are grades, as in trec_eval).
 *
 * @example ndcgAt(['b', 'a'], { a: 2, b: 1 }) // 0.86
 */
export function ndcgAt(retrieved: readonly string[], gold: Gold, k = Infinity): number {
  const grades = gradesOf(gold)
  const gain = (values: readonly number[]): number =>
    values.reduce((sum, grade, i) => sum + grade / Math.log2(i + 2), 0)
  const best = gain([...grades.values()].sort((a, b) => b - a).slice(0, k))
  return best === 0 ? 0 : gain(ranked(retrieved, k).map((id) => grades.get(id) ?? 0)) / best
}
