import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { drawToken } from './filters.js'

// Probabilities 0.5, 0.3, 0.15, 0.05.
const logits = Float32Array.from([0.5, 0.3, 0.15, 0.05], Math.log)

function frequencies(filters: Parameters<typeof drawToken>[1], draws = 20_000): number[] {
  const random = createRandom(7)
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < draws; i++) counts[drawToken(logits, filters, random).token]++
  return counts.map((count) => count / draws)
}

function near(actual: readonly number[], expected: readonly number[]): void {
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 0.015, `${actual} is not near ${expected}`))
}

test('a plain draw follows the distribution', () => near(frequencies({ temperature: 1 }), [0.5, 0.3, 0.15, 0.05]))

test('temperature 0.5 squares the probabilities', () => {
  const squares = [0.25, 0.09, 0.0225, 0.0025]
  const total = squares.reduce((a, b) => a + b)
  near(
    frequencies({ temperature: 0.5 }),
    squares.map((s) => s / total),
  )
})

test('top-k, top-p, min-p and allowed tokens renormalize what is left', () => {
  near(frequencies({ temperature: 1, topK: 2 }), [0.625, 0.375, 0, 0])
  near(frequencies({ temperature: 1, topP: 0.79 }), [0.625, 0.375, 0, 0])
  near(frequencies({ temperature: 1, topP: 0.81 }), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0])
  near(frequencies({ temperature: 1, minP: 0.4 }), [0.625, 0.375, 0, 0])
  near(frequencies({ temperature: 1, allowedTokens: [2, 3] }), [0, 0, 0.75, 0.25])
})

test('greedy takes the likeliest allowed token and reports its logprob at temperature 1', () => {
  const drawn = drawToken(logits, { temperature: 0, allowedTokens: [1, 3] }, createRandom(1))
  assert.equal(drawn.token, 1)
  assert.ok(Math.abs(drawn.logprob - Math.log(0.3)) < 1e-6)
})

test('the logprob is that of the unfiltered distribution under the temperature', () => {
  const { token, logprob } = drawToken(logits, { temperature: 1, topK: 1 }, createRandom(1))
  assert.equal(token, 0)
  assert.ok(Math.abs(logprob - Math.log(0.5)) < 1e-6)
})
