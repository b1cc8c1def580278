/**
 * The known name most like a mistyped one, or null when none is close: at most a third of its letters differ
 * (insertions, deletions, replacements and swaps of neighbours count one each).
 *
 * @example nearest('quickstrat', ['quickstart', 'smoke']) // 'quickstart'
 */
export function nearest(name: string, known: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = Infinity
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3))) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Optimal string alignment distance. */
function editDistance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array<number>(b.length).fill(0)])
  for (let j = 0; j <= b.length; j++) rows[0][j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1)
      }
    }
  }
  return rows[a.length][b.length]
}

/** ' Did you mean "x"?' when a known name is near, else ''. */
export function suggestion(name: string, known: readonly string[]): string {
  const found = nearest(name, known)
  return found === null ? '' : ` Did you mean "${found}"?`
}
