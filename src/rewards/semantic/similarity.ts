import { MyriadError } from '../../core/index.js'
import { isVisible, type Embedder } from './embedder.js'
import { cosine, dot, normalized, type Vector } from './vectors.js'

/** A reply and what it is likened to. */
export interface Likened {
  reply: string
  /** At least one. */
  references: readonly string[]
}

/**
 * Cosine of each reply with the nearest of its references, in [-1, 1]; 0 for a reply with nothing to read in it. With a
 * multilingual model references may be in any language.
 *
 * @throws MyriadError 'usage' when there is no reference
 * @example await nearestReference(embedder, [{ reply: 'Mji mkuu ni Nairobi', references: ['The capital is Nairobi'] }])
 */
export async function nearestReference(embedder: Embedder, items: readonly Likened[]): Promise<number[]> {
  if (items.some(({ references }) => references.length === 0))
    throw new MyriadError('usage', 'similarity: there is no reference to compare with')
  const seen = items.filter(({ reply }) => isVisible(reply))
  const vectors = await embedder.embed(seen.flatMap(({ reply, references }) => [reply, ...references]))
  let next = 0
  return items.map(({ reply, references }) => {
    if (!isVisible(reply)) return 0
    const own = vectors[next++]
    const cosines = references.map(() => cosine(own, vectors[next++]))
    return Math.max(...cosines)
  })
}

/**
 * A cosine on a scale where `floor`, what unrelated texts have in a model, is 0 and 1 is 1; within [0, 1]. Embedders of many
 * languages put texts that have nothing to do with each other at 0.5 to 0.8.
 *
 * @example aboveFloor(0.9, 0.8) // 0.5
 */
export function aboveFloor(value: number, floor: number): number {
  return Math.min(1, Math.max(0, (value - floor) / (1 - floor)))
}

/** Mean of the k largest values; of all where there are fewer; 0 of none. */
export function meanOfLargest(values: ArrayLike<number>, k: number): number {
  // Ascending, at most k: few values get past the first.
  const largest: number[] = []
  for (let i = 0; i < values.length; i++) {
    if (largest.length === k && values[i] <= largest[0]) continue
    let at = largest.length
    while (at > 0 && largest[at - 1] > values[i]) at--
    largest.splice(at, 0, values[i])
    if (largest.length > k) largest.shift()
  }
  return largest.length === 0 ? 0 : largest.reduce((sum, value) => sum + value, 0) / largest.length
}

/** Mean cosine of a vector with its k nearest of others; fewer where there are fewer; 0 of none. */
export function meanOfNearest(vector: Vector, others: readonly Vector[], k: number): number {
  return meanOfLargest(
    others.map((other) => cosine(vector, other)),
    k,
  )
}

/**
 * {@link meanOfNearest} of every one of many texts among the others: their radii, which tell hubs. It takes the square of their
 * number.
 */
export function radiiOf(vectors: readonly Vector[], k: number): number[] {
  const units = vectors.map(normalized)
  const cosines = new Float64Array(Math.max(0, units.length - 1))
  return units.map((unit, i) => {
    for (let j = 0; j < units.length; j++) if (j !== i) cosines[j < i ? j : j - 1] = dot(unit, units[j])
    return meanOfLargest(cosines, k)
  })
}

/**
 * Cross-domain similarity local scaling: a vector that is near to everything (a hub) is near to nothing in particular.
 *
 *     csls(x, y) = 2 cos(x, y) - mean cos of x with its k nearest - mean cos of y with its k nearest
 *
 * Source: Conneau et al. 2018, arXiv 1710.04087, equation 3. Neighbours of x are sought among `ofX`, the texts that y is one of;
 * those of y among `ofY`, the texts that x is one of.
 *
 * @returns in [-4, 4]; unrelated texts are about 0 or below
 */
export function csls(
  x: Vector,
  y: Vector,
  background: { ofX: readonly Vector[]; ofY: readonly Vector[]; k?: number },
): number {
  const { ofX, ofY, k = 10 } = background
  return 2 * cosine(x, y) - meanOfNearest(x, ofX, k) - meanOfNearest(y, ofY, k)
}

/**
 * Place of y among the candidates for x by CSLS, from 1, the best. A candidate that does as well as y stands before it.
 *
 * @param radii of each candidate {@link meanOfNearest}; the radius of x is the same for all and does not matter
 */
export function cslsRank(
  x: Vector,
  y: { vector: Vector; radius: number },
  candidates: readonly Vector[],
  radii: readonly number[],
): number {
  const own = 2 * cosine(x, y.vector) - y.radius
  return 1 + candidates.filter((candidate, i) => 2 * cosine(x, candidate) - radii[i] >= own).length
}
