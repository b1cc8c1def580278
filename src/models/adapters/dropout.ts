import { abs, add, cast, less, mul, range, reshape, sin, sub, where, zeros, type Tensor } from '../../engine/index.js'

/**
 * Leaves out a share of x [tokens, width] and scales the rest by 1 / (1 - share) (Srivastava et al. 2014). Which elements is a
 * function of their place, the fed seed [1] and the layer: the same feeds give the same result, and nothing random is fed or
 * kept. Noise is the fraction of a large multiple of a sine, twice over.
 */
export function dropout(x: Tensor, share: number, seed: Tensor, layer: number): Tensor {
  if (share === 0) return x
  const [tokens, width] = x.shape
  const fraction = (value: Tensor): Tensor => sub(abs(value), cast(cast(abs(value), 'int64'), 'float32'))
  const hash = (value: Tensor): Tensor => fraction(mul(sin(value), 43758.547))
  const row = reshape(cast(range(x.graph, tokens), 'float32'), [tokens, 1])
  const column = reshape(cast(range(x.graph, width), 'float32'), [1, width])
  // Seeds, layers and places are hashed apart, then together: neighbours in one must not be neighbours in the other.
  const start = hash(add(mul(fraction(mul(seed, 0.61803)), 97.13), layer * 1.37 + 0.5))
  const rows = hash(add(mul(row, 12.9898), mul(start, 91.7)))
  const columns = hash(add(mul(column, 78.233), mul(start, 53.3)))
  const noise = hash(add(mul(rows, 127.1), mul(columns, 311.7)))
  return where(less(noise, share), zeros(x.graph, x.shape), mul(x, 1 / (1 - share)))
}
