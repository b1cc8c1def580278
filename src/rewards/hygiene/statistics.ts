/** How a part of the reward was spread over the episodes of a step. */
export interface RewardStatistics {
  mean: number
  /** Of the population; 0 of one. */
  std: number
  min: number
  max: number
  /** Share of the scored episodes it did not apply to, in [0, 1]. */
  null: number
  /** Share of all episodes that it failed at, in [0, 1]. */
  failed: number
}

/**
 * Statistics of each part over the episodes of a step.
 *
 * @param parts of each scored episode; a part that did not apply is not there
 * @param failures of each part, how many episodes it failed at: those are not among `parts`
 * @example rewardStatistics([{ task: 1 }, { task: 0 }]).task.mean // 0.5
 */
export function rewardStatistics(
  parts: readonly Readonly<Record<string, number>>[],
  failures: Readonly<Record<string, number>> = {},
): Record<string, RewardStatistics> {
  const names = [...new Set(parts.flatMap((one) => Object.keys(one)))].sort()
  const lost = Object.values(failures).reduce((a, b) => a + b, 0)
  return Object.fromEntries(
    names.map((name) => {
      const values = parts.flatMap((one) => (Object.hasOwn(one, name) ? [one[name]] : []))
      const mean = values.reduce((a, b) => a + b, 0) / values.length
      const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
      const statistics = {
        mean,
        std: Math.sqrt(variance),
        min: values.reduce((a, b) => Math.min(a, b)),
        max: values.reduce((a, b) => Math.max(a, b)),
        null: 1 - values.length / parts.length,
        // Parts of a part fail together.
        failed: (failures[name] ?? failures[name.split('.')[0]] ?? 0) / (parts.length + lost),
      }
      return [name, statistics]
    }),
  )
}

/**
 * Pearson correlations of parts, by 'a~b' in alphabetical order, over episodes that both apply to. Pairs with fewer than three, or with
 * a part that is always the same, are left out. Near 1: one of the two is superfluous; below 0: they pull against each other.
 *
 * @example rewardCorrelations([{ a: 1, b: 2 }, { a: 2, b: 4 }, { a: 3, b: 6 }]) // { 'a~b': 1 }
 */
export function rewardCorrelations(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = [...new Set(parts.flatMap((one) => Object.keys(one)))].sort()
  const found: Record<string, number> = {}
  names.forEach((a, i) => {
    for (const b of names.slice(i + 1)) {
      const both = parts.filter((one) => Object.hasOwn(one, a) && Object.hasOwn(one, b))
      const value = correlation(
        both.map((one) => one[a]),
        both.map((one) => one[b]),
      )
      if (value !== null) found[`${a}~${b}`] = value
    }
  })
  return found
}

function correlation(x: readonly number[], y: readonly number[]): number | null {
  if (x.length < 3) return null
  const [meanX, meanY] = [x, y].map((values) => values.reduce((a, b) => a + b, 0) / values.length)
  let [xx, yy, xy] = [0, 0, 0]
  for (let i = 0; i < x.length; i++) {
    xx += (x[i] - meanX) ** 2
    yy += (y[i] - meanY) ** 2
    xy += (x[i] - meanX) * (y[i] - meanY)
  }
  // Rounding leaves a trace of spread in values that are all the same.
  const floor = 1e-18 * x.length
  if (xx <= floor * Math.max(1, meanX ** 2) || yy <= floor * Math.max(1, meanY ** 2)) return null
  return Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy)))
}
