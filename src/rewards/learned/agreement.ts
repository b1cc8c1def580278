/** How far two or more raters agree: people, models, metrics. */
import { MyriadError } from '../../core/index.js'

function requireSameLength(what: string, a: readonly unknown[], b: readonly unknown[]): void {
  if (a.length !== b.length) throw new MyriadError('usage', `${what}: ${a.length} values and ${b.length}`)
}

/**
 * Share of pairs whose better reply scores strictly higher; a tie is a miss. NaN of none.
 *
 * @param differences score of the better reply less that of the worse one
 */
export function pairAccuracy(differences: readonly number[]): number {
  return differences.length === 0 ? NaN : differences.filter((d) => d > 0).length / differences.length
}

/**
 * Kendall's tau-b: concordant less discordant pairs, ties of either side taken into account, in [-1, 1]. NaN where one side has
 * but one value. Source: Kendall 1945. O(n log n) after Knight 1966.
 *
 * @example kendallTau([1, 2, 3], [1, 3, 2]) // 0.333
 */
export function kendallTau(x: readonly number[], y: readonly number[]): number {
  requireSameLength("Kendall's tau", x, y)
  const order = [...x.keys()].sort((i, j) => x[i] - x[j] || y[i] - y[j])
  const pairs = (n: number): number => (n * (n - 1)) / 2
  const ties = (equal: (i: number, j: number) => boolean, sorted: readonly number[]): number => {
    let [total, run] = [0, 1]
    for (let k = 1; k <= sorted.length; k++) {
      if (k < sorted.length && equal(sorted[k - 1], sorted[k])) run++
      else {
        total += pairs(run)
        run = 1
      }
    }
    return total
  }
  const all = pairs(x.length)
  const tiedX = ties((i, j) => x[i] === x[j], order)
  const tiedBoth = ties((i, j) => x[i] === x[j] && y[i] === y[j], order)
  const tiedY = ties(
    (i, j) => y[i] === y[j],
    [...y.keys()].sort((i, j) => y[i] - y[j]),
  )
  const discordant = inversions(order.map((i) => y[i]))
  const concordantLess = all - tiedX - tiedY + tiedBoth - 2 * discordant
  // Divided one by one: the product of both roots may round past 1.
  return Math.min(1, Math.max(-1, concordantLess / Math.sqrt(all - tiedX) / Math.sqrt(all - tiedY)))
}

/** Pairs i < j with values[i] > values[j], by merging. */
function inversions(values: number[]): number {
  if (values.length < 2) return 0
  const middle = values.length >> 1
  const [left, right] = [values.slice(0, middle), values.slice(middle)]
  let count = inversions(left) + inversions(right)
  for (let i = 0, j = 0, k = 0; k < values.length; k++) {
    if (j >= right.length || (i < left.length && left[i] <= right[j])) values[k] = left[i++]
    else {
      values[k] = right[j++]
      count += left.length - i
    }
  }
  return count
}

/** Ranks from 1, ties with the mean of their places. */
export function ranksOf(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((i, j) => values[i] - values[j])
  const ranks = new Array<number>(values.length)
  for (let start = 0; start < order.length;) {
    let end = start + 1
    while (end < order.length && values[order[end]] === values[order[start]]) end++
    for (let k = start; k < end; k++) ranks[order[k]] = (start + end + 1) / 2
    start = end
  }
  return ranks
}

/** Pearson's correlation, in [-1, 1]; NaN where one side does not vary. */
export function pearson(x: readonly number[], y: readonly number[]): number {
  requireSameLength('correlation', x, y)
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value / values.length, 0)
  const [mx, my] = [mean(x), mean(y)]
  let [xx, yy, xy] = [0, 0, 0]
  for (let i = 0; i < x.length; i++) {
    xx += (x[i] - mx) ** 2
    yy += (y[i] - my) ** 2
    xy += (x[i] - mx) * (y[i] - my)
  }
  return xx === 0 || yy === 0 ? NaN : Math.min(1, Math.max(-1, xy / Math.sqrt(xx) / Math.sqrt(yy)))
}

/** Spearman's rank correlation: Pearson's of the ranks, ties with mean ranks. */
export function spearman(x: readonly number[], y: readonly number[]): number {
  return pearson(ranksOf(x), ranksOf(y))
}

export type KappaWeights = 'none' | 'linear' | 'quadratic'

/**
 * Cohen's kappa of two raters: agreement beyond chance, 1 at best. Weights count how far apart two ratings are, by the place of
 * their categories in ascending order. NaN where both say the same one thing always. Source: Cohen 1960, 1968.
 *
 * @example cohenKappa([1, 1, 0, 0], [1, 0, 0, 0]) // 0.5
 */
export function cohenKappa<T extends string | number>(
  a: readonly T[],
  b: readonly T[],
  weights: KappaWeights = 'none',
): number {
  requireSameLength("Cohen's kappa", a, b)
  const categories = [...new Set([...a, ...b])].sort((p, q) => (p < q ? -1 : p > q ? 1 : 0))
  const place = new Map(categories.map((category, i) => [category, i]))
  const counts = (values: readonly T[]): number[] => {
    const result = categories.map(() => 0)
    for (const value of values) result[place.get(value)!]++
    return result
  }
  const distance = (i: number, j: number): number =>
    weights === 'none' ? Number(i !== j) : weights === 'linear' ? Math.abs(i - j) : (i - j) ** 2
  const observed = a.reduce((sum, value, k) => sum + distance(place.get(value)!, place.get(b[k])!), 0)
  const [ofA, ofB] = [counts(a), counts(b)]
  const expected = ofA.reduce(
    (sum, n, i) => sum + ofB.reduce((inner, m, j) => inner + (n * m * distance(i, j)) / a.length, 0),
    0,
  )
  return 1 - observed / expected
}

/**
 * Fleiss' kappa of several raters, who need not be the same ones for every item. NaN where there is one category only.
 * Source: Fleiss 1971.
 *
 * @param counts how many raters put an item into a category: [items][categories]; every item has the same number, at least 2
 * @throws MyriadError 'usage' otherwise
 */
export function fleissKappa(counts: readonly (readonly number[])[]): number {
  const raters = counts[0]?.reduce((a, b) => a + b, 0) ?? 0
  if (raters < 2 || counts.some((row) => row.length !== counts[0].length || row.reduce((a, b) => a + b, 0) !== raters))
    throw new MyriadError('usage', "Fleiss' kappa: every item needs the same number of ratings, at least 2")
  const shares = counts[0].map((_, j) => counts.reduce((sum, row) => sum + row[j], 0) / (counts.length * raters))
  const expected = shares.reduce((sum, share) => sum + share * share, 0)
  const observed =
    counts.reduce((sum, row) => sum + row.reduce((inner, n) => inner + n * (n - 1), 0), 0) /
    (counts.length * raters * (raters - 1))
  return (observed - expected) / (1 - expected)
}

export type AlphaLevel = 'nominal' | 'ordinal' | 'interval' | 'ratio'

/**
 * Krippendorff's alpha: agreement beyond chance of any number of raters, ratings missing or not. 1 at best, 0 as by chance. NaN
 * where no two ratings differ, or no item has two. Source: Krippendorff, Computing Krippendorff's alpha-reliability (2011).
 *
 * @param ratings [raters][items], null where there is none; numbers
 * @throws MyriadError 'usage' when raters have different numbers of items, or ratios are of negative numbers
 * @example krippendorffAlpha([[1, 2, null], [1, 2, 3]], 'ordinal')
 */
export function krippendorffAlpha(
  ratings: readonly (readonly (number | null)[])[],
  level: AlphaLevel = 'nominal',
): number {
  const items = ratings[0]?.length ?? 0
  if (ratings.some((row) => row.length !== items))
    throw new MyriadError('usage', "Krippendorff's alpha: every rater needs an entry for every item, null for none")
  const values = [...new Set(ratings.flat().filter((value) => value !== null))].sort((a, b) => a - b)
  if (level === 'ratio' && values[0] < 0)
    throw new MyriadError('usage', "Krippendorff's alpha: ratings of ratio level are not negative")
  const place = new Map(values.map((value, i) => [value, i]))
  const coincidences = values.map(() => values.map(() => 0))
  for (let u = 0; u < items; u++) {
    const unit = ratings.flatMap((row) => {
      const value = row[u]
      return value === null ? [] : [place.get(value)!]
    })
    for (let i = 0; i < unit.length; i++)
      for (let j = 0; j < unit.length; j++) if (i !== j) coincidences[unit[i]][unit[j]] += 1 / (unit.length - 1)
  }
  const totals = coincidences.map((row) => row.reduce((a, b) => a + b, 0))
  const all = totals.reduce((a, b) => a + b, 0)
  const distance = (i: number, j: number): number => {
    if (i === j) return 0
    if (level === 'nominal') return 1
    if (level === 'interval') return (values[i] - values[j]) ** 2
    if (level === 'ratio') return ((values[i] - values[j]) / (values[i] + values[j])) ** 2
    const [low, high] = i < j ? [i, j] : [j, i]
    const between = totals.slice(low, high + 1).reduce((a, b) => a + b, 0)
    return (between - (totals[low] + totals[high]) / 2) ** 2
  }
  let [observed, expected] = [0, 0]
  for (let i = 0; i < values.length; i++)
    for (let j = 0; j < values.length; j++) {
      observed += coincidences[i][j] * distance(i, j)
      expected += (totals[i] * totals[j] * distance(i, j)) / (all - 1)
    }
  return 1 - observed / expected
}
