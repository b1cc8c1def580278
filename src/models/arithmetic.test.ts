import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, MyriadError } from '../core/index.js'
import { applyTaskVectors, interpolate, taskVector, type Weights } from './index.js'

const of = (x: number[], y: number[]): Weights => ({ x: Float32Array.from(x), y: Float32Array.from(y) })
const base = of([1, 2, -4], [0.5])
const tuned = of([3, 2, 4], [-1.5])

function drawn(seed: number): Weights {
  const random = createRandom(seed)
  const values = (count: number): Float32Array => Float32Array.from({ length: count }, () => random.normal())
  return { x: values(200), y: values(7) }
}

function furthest(a: Weights, b: Weights): number {
  return Math.max(...Object.keys(a).flatMap((name) => [...a[name]].map((value, i) => Math.abs(value - b[name][i]))))
}

test('hand-computed: a quarter of the way, beyond the end, what training changed, and that applied', () => {
  assert.deepEqual(interpolate(base, tuned, 0.25), of([1.5, 2, -2], [0]))
  assert.deepEqual(interpolate(base, tuned, 2), of([5, 2, 12], [-3.5]))
  assert.deepEqual(taskVector(tuned, base), of([2, 0, 8], [-2]))
  const terms = [
    { vector: of([2, 0, 8], [-2]), weight: 0.5 },
    { vector: of([1, 1, 1], [4]), weight: -2 },
  ]
  assert.deepEqual(applyTaskVectors(base, terms), of([0, 0, -2], [-8.5]))
})

test('an interpolation ends exactly at its ends, is symmetric, and leaves what it reads alone', () => {
  const [a, b] = [drawn(1), drawn(2)]
  assert.deepEqual(interpolate(a, b, 0), a)
  assert.deepEqual(interpolate(a, b, 1), b)
  assert.deepEqual(interpolate(a, b, 0.5), interpolate(b, a, 0.5))
  assert.deepEqual(interpolate(a, a, 0.5), a)
  assert.deepEqual([a, b], [drawn(1), drawn(2)])
  assert.notEqual(interpolate(a, b, 0).x, a.x, 'a copy')
})

test('a task vector takes the base to the tuned model, and its negative back', () => {
  const [a, b] = [drawn(3), drawn(4)]
  const vector = taskVector(b, a)
  assert.ok(furthest(applyTaskVectors(a, [{ vector, weight: 1 }]), b) < 1e-6)
  assert.ok(furthest(applyTaskVectors(b, [{ vector, weight: -1 }]), a) < 1e-6)
  assert.ok(furthest(applyTaskVectors(a, [{ vector, weight: 0.3 }]), interpolate(a, b, 0.3)) < 1e-6)
  assert.deepEqual(applyTaskVectors(a, []), a)
  const other = taskVector(drawn(5), a)
  const both = [
    { vector, weight: 0.7 },
    { vector: other, weight: -0.2 },
  ]
  assert.ok(furthest(applyTaskVectors(a, both), applyTaskVectors(a, both.toReversed())) < 1e-7)
})

test('what does not fit together is refused by name', () => {
  const refused = (run: () => unknown, told: RegExp): void =>
    assert.throws(run, (error) => error instanceof MyriadError && error.code === 'usage' && told.test(error.message))
  const { x } = base
  refused(() => interpolate(base, { x }, 0.5), /the second lacks "y", which the first model has/)
  refused(() => interpolate({ x }, base, 0.5), /the first model lacks "y", which the second has/)
  refused(() => taskVector(base, of([1], [2])), /"x" has 3 values in the tuned model, 1 in the base/)
  const fits = { vector: taskVector(tuned, base), weight: 1 }
  refused(() => applyTaskVectors(base, [fits, { vector: { x }, weight: 1 }]), /task vector 2 lacks "y"/)
  refused(() => applyTaskVectors(base, [{ ...fits, weight: NaN }]), /weight of task vector 1 is NaN/)
  refused(() => interpolate(base, tuned, Infinity), /t is Infinity/)
})
