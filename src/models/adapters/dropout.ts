import { createRandom, deriveSeed } from '../../core/index.js'
import {
  add,
  cast,
  constant,
  div,
  greaterEqual,
  mul,
  range,
  reshape,
  where,
  type Dimension,
  type Graph,
  type Tensor,
} from '../../engine/index.js'

/**
 * x [tokens, width] with a share of its elements at 0 (Srivastava et al. 2014); the caller divides by 1 - share. Which ones is
 * a function of their place, the fed seed and the layer: the same feeds give the same result, nothing random is kept, and a
 * layer that is computed again leaves out the same.
 *
 * The noise of an element is the low 32 bits of a product of two odd numbers, one of its row (token, seed and layer, hashed)
 * and one of its column (drawn once): as multipliers of a linear congruential generator (Knuth, vol. 2, 3.3.4) hardly any two
 * rows or columns have to do with each other, at one product an element.
 *
 * @param seed a whole number from -2^24 to 2^24 as float32 [1]
 * @param layer a number of its own for each use
 */
export function leaveOut(x: Tensor, share: number, seed: Tensor, layer: number): Tensor {
  const [tokens, width] = x.shape
  const rows = rowNumbers(x.graph, tokens, seed, layer)
  const noise = cast(mul(rows, columnNumbers(x.graph, width as number)), 'int32')
  // Uniform over all int32: the lowest of them are left out.
  return where(greaterEqual(noise, Math.round((share - 0.5) * 2 ** 32)), x, 0)
}

/**
 * Odd numbers of 33 bits, by token: a counter times a key, squared and its middle bits taken, over again (Widynski 2020,
 * https://arxiv.org/abs/2004.06278, in 32 bits). int64 [tokens, 1]
 */
function rowNumbers(graph: Graph, tokens: Dimension, seed: Tensor, layer: number): Tensor {
  const key = add(mul(cast(seed, 'int64'), 0x85ebca6b), deriveSeed('dropout', layer))
  const counter = lowBits(add(mul(cast(range(graph, tokens), 'int64'), 0x9e3779b1), key))
  let hash = counter
  for (const added of [counter, key, counter, key]) hash = lowBits(div(add(mul(hash, hash), added), 2 ** 16))
  return reshape(add(mul(hash, 2), 1), [tokens, 1])
}

/** The low 32 bits of whole numbers, signed. */
function lowBits(x: Tensor): Tensor {
  return cast(cast(x, 'int32'), 'int64')
}

/** Odd numbers of 30 bits. int64 [1, width] */
function columnNumbers(graph: Graph, width: number): Tensor {
  const random = createRandom(deriveSeed('dropout', 'columns'))
  const numbers = BigInt64Array.from({ length: width }, () => BigInt(2 * random.integer(0, 2 ** 29 - 1) + 1))
  return constant(graph, numbers, [1, width])
}
