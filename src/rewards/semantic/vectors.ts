import { MyriadError } from '../../core/index.js'

/** A text or a token as numbers: [dimension]. */
export type Vector = Float32Array

/** sum a_i b_i. @throws MyriadError 'usage' when lengths differ */
export function dot(a: Vector, b: Vector): number {
  if (a.length !== b.length)
    throw new MyriadError('usage', `embeddings of ${a.length} and ${b.length} numbers cannot be compared: two models?`)
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i]
  return sum
}

/** The vector with length 1; one of length 0 as it is. */
export function normalized(vector: Vector): Vector {
  const length = Math.sqrt(dot(vector, vector))
  return length === 0 ? vector.slice() : vector.map((x) => x / length)
}

/**
 * Cosine of the angle between two vectors, in [-1, 1]; 0 where one of them is 0.
 *
 * @throws MyriadError 'usage' when lengths differ, 'numeric' when a vector is not finite
 * @example cosine(Float32Array.of(1, 0), Float32Array.of(1, 1)) // 0.707
 */
export function cosine(a: Vector, b: Vector): number {
  const product = dot(a, b)
  const lengths = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b))
  if (!Number.isFinite(product) || !Number.isFinite(lengths))
    throw new MyriadError('numeric', 'an embedding holds a value that is not finite')
  return lengths === 0 ? 0 : Math.min(1, Math.max(-1, product / lengths))
}
