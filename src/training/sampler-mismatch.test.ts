import assert from 'node:assert/strict'
import { test } from 'node:test'
import { correctMismatch, measureMismatch } from './sampler-mismatch.js'

const trained = [0, 0, Math.log(0.5), Math.log(0.9), Math.log(0.1)]
const sampler = [0, 0, Math.log(0.25), Math.log(0.1), Math.log(0.2)]
const sequence = {
  tokens: [1, 2, 3, 4, 5],
  mask: Uint8Array.of(0, 0, 1, 1, 1),
  logprobs: Float32Array.from(sampler),
  advantages: Float32Array.of(7, 7, 1, 1, -2),
  weights: new Float32Array(5).fill(1),
}
const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`)

test('advantages are weighted by how much likelier the trained policy finds a token, up to a cap; the ratio starts at 1', () => {
  const mismatch = measureMismatch([sequence], [Float32Array.from(trained)], { cap: 3, sampled: [true] })
  const [{ advantages, logprobs }] = correctMismatch(mismatch.sequences, mismatch.weights)
  // 0.5 / 0.25 = 2; 0.9 / 0.1 = 9, cut to 3; 0.1 / 0.2 = 0.5. What was not sampled is left alone.
  ;[7, 7, 2, 3, -1].forEach((expected, i) => near(advantages[i], expected))
  near(logprobs[3], Math.log(0.9))
  near(mismatch.metrics.samplerWeight, (2 + 3 + 0.5) / 3)
  near(mismatch.metrics.samplerKl, (Math.log(0.25 / 0.5) + Math.log(0.1 / 0.9) + Math.log(0.2 / 0.1)) / 3)
})

test('what was not sampled, such as a demonstration, is left alone and not counted', () => {
  const logprobs = [Float32Array.from(trained), Float32Array.from(trained)]
  const mismatch = measureMismatch([sequence, sequence], logprobs, { cap: 3, sampled: [true, false] })
  const [, shown] = correctMismatch(mismatch.sequences, mismatch.weights)
  assert.deepEqual(shown, sequence)
  near(mismatch.metrics.samplerWeight, (2 + 3 + 0.5) / 3)
})
