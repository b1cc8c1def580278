/** How the items of one sequence become those of another. */
export interface Edits {
  matches: number
  substitutions: number
  /** Items of the reference that are missing. */
  deletions: number
  /** Items that the reference lacks. */
  insertions: number
}

/**
 * The Levenshtein distance: fewest insertions, deletions and substitutions that turn one sequence into the other. Memory is
 * that of one row.
 *
 * @example editDistance([...'kitten'], [...'sitting']) // 3
 */
export function editDistance(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  const row = Int32Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0]
    row[0] = i
    for (let j = 1; j <= b.length; j++) {
      const above = row[j]
      row[j] = Math.min(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1))
      diagonal = above
    }
  }
  return row[b.length]
}

/**
 * As {@link editDistance}, with a swap of two neighbours counted once (optimal string alignment: nothing is edited twice).
 *
 * @example swapDistance([...'ab'], [...'ba']) // 1
 */
export function swapDistance(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  let [before, above, row] = Array.from({ length: 3 }, () => new Int32Array(b.length + 1))
  for (let j = 0; j <= b.length; j++) above[j] = j
  for (let i = 1; i <= a.length; i++) {
    row[0] = i
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1)
    }
    ;[before, above, row] = [above, row, before]
  }
  return above[b.length]
}

/**
 * Length of the longest common subsequence.
 *
 * @example commonLength([...'abcde'], [...'xaxcxe']) // 3
 */
export function commonLength(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  const row = new Int32Array(b.length + 1)
  for (let i = 0; i < a.length; i++) {
    let diagonal = 0
    for (let j = 1; j <= b.length; j++) {
      const above = row[j]
      row[j] = a[i] === b[j - 1] ? diagonal + 1 : Math.max(above, row[j - 1])
      diagonal = above
    }
  }
  return row[b.length]
}

/**
 * A shortest way from a reference to a hypothesis, by kinds of edits. Of several it is the one that rapidfuzz (and jiwer, which
 * asks it) takes: what both begin and end with is matched, then from the end a deletion is preferred, then a step that leaves
 * both, unless an insertion alone is cheaper. Time and bytes are those of a table of both lengths.
 *
 * @example editsBetween(['a', 'b'], ['a', 'c', 'd']) // 1 match, 1 substitution, 1 insertion
 */
export function editsBetween(reference: ArrayLike<unknown>, hypothesis: ArrayLike<unknown>): Edits {
  let start = 0
  const shorter = Math.min(reference.length, hypothesis.length)
  while (start < shorter && reference[start] === hypothesis[start]) start++
  let tail = 0
  while (tail < shorter - start && reference[reference.length - 1 - tail] === hypothesis[hypothesis.length - 1 - tail])
    tail++
  const [rows, columns] = [reference.length - start - tail, hypothesis.length - start - tail]
  const slopes = slopesOf(reference, hypothesis, start, rows, columns)
  const edits: Edits = { matches: start + tail, substitutions: 0, deletions: 0, insertions: 0 }
  let [i, j] = [rows, columns]
  while (i > 0 && j > 0) {
    if (slopes[i * (columns + 1) + j] > 0) {
      edits.deletions++
      i--
      continue
    }
    j--
    if (j > 0 && slopes[i * (columns + 1) + j] < 0) edits.insertions++
    else {
      i--
      if (reference[start + i] === hypothesis[start + j]) edits.matches++
      else edits.substitutions++
    }
  }
  edits.deletions += i
  edits.insertions += j
  return edits
}

/** How much farther item i of the reference makes it than item i - 1, at each place: 1, 0 or -1. [rows + 1, columns + 1] */
function slopesOf(
  a: ArrayLike<unknown>,
  b: ArrayLike<unknown>,
  start: number,
  rows: number,
  columns: number,
): Int8Array {
  const width = columns + 1
  const slopes = new Int8Array((rows + 1) * width)
  const row = Int32Array.from({ length: width }, (_, j) => j)
  for (let i = 1; i <= rows; i++) {
    let diagonal = row[0]
    row[0] = i
    slopes[i * width] = 1
    for (let j = 1; j < width; j++) {
      const above = row[j]
      const same = a[start + i - 1] === b[start + j - 1]
      row[j] = Math.min(above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1))
      slopes[i * width + j] = row[j] - above
      diagonal = above
    }
  }
  return slopes
}
