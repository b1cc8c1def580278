import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, deriveSeed } from './index.js'

/** Chi-square of counts in equal bins, in standard deviations from its mean. */
function surprise(values: readonly number[], bins: number): number {
  const counts = new Array<number>(bins).fill(0)
  for (const value of values) counts[Math.floor(value * bins)]++
  const expected = values.length / bins
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  return (chiSquare - (bins - 1)) / Math.sqrt(2 * (bins - 1))
}

test('draws are uniform: along one stream, and the first draws of neighbouring seeds', () => {
  const stream = createRandom(1)
  assert.ok(surprise(Array.from({ length: 50_000 }, stream.uniform), 64) < 5)
  for (let place = 0; place < 4; place++) {
    const draws = Array.from({ length: 50_000 }, (_, seed) => {
      const random = createRandom(seed)
      for (let i = 0; i < place; i++) random.uniform()
      return random.uniform()
    })
    assert.ok(surprise(draws, 64) < 5, `draw ${place}`)
    // Neighbouring seeds are not correlated either.
    assert.ok(
      surprise(
        draws.slice(1).map((value, i) => (value - draws[i] + 1) % 1),
        64,
      ) < 5,
      `differences ${place}`,
    )
  }
})

test('a label names one stream', () => {
  assert.equal(deriveSeed(1, 'a', 2), deriveSeed(1, 'a', 2))
  assert.notEqual(deriveSeed(1, 'a', 2), deriveSeed(1, 'a', '2'))
  const seeds = new Set(Array.from({ length: 10_000 }, (_, i) => deriveSeed('x', i)))
  assert.ok(seeds.size > 9_990)
})

test('integer, pick and shuffle reach everything and nothing else', () => {
  const random = createRandom(3)
  const seen = new Set(Array.from({ length: 1000 }, () => random.integer(-2, 3)))
  assert.deepEqual(
    [...seen].sort((a, b) => a - b),
    [-2, -1, 0, 1, 2, 3],
  )
  assert.deepEqual(random.shuffle([1, 2, 3, 4]).sort(), [1, 2, 3, 4])
  assert.throws(() => random.pick([]), RangeError)
  const orders = new Set(Array.from({ length: 500 }, () => random.shuffle([1, 2, 3]).join()))
  assert.equal(orders.size, 6)
})

test('normal draws have mean 0 and variance 1', () => {
  const random = createRandom(4)
  const draws = Array.from({ length: 20_000 }, random.normal)
  const mean = draws.reduce((a, b) => a + b) / draws.length
  const variance = draws.reduce((a, b) => a + (b - mean) ** 2, 0) / draws.length
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(variance - 1) < 0.05)
})
