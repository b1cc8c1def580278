import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom, deriveSeed } from '../core/index.js'
import { accumulate, adamW, clipByGlobalNorm, globalNorm, scale, sgd, type Optimizer } from './optimizers.js'
import { blockLength } from './simd.js'
import { constantSchedule, cosine, linear, warmup } from './schedules.js'

const random = createRandom(deriveSeed('optimizers'))
const normals = (length: number): Float32Array => Float32Array.from({ length }, () => random.normal())

type Reference = (weight: number, gradients: readonly number[], decay: boolean) => number

/** Runs ten steps of an optimizer beside a formula that sees the whole history of one weight at once. */
function compare(optimizer: Optimizer, learningRate: number, reference: Reference): void {
  const parameters = { 'a.weight': normals(9), 'a.bias': normals(3) }
  const start = structuredClone(parameters)
  const state = optimizer.init(parameters)
  const history: Record<string, Float32Array>[] = []
  for (let step = 0; step < 10; step++) {
    const gradients = { 'a.weight': normals(9), 'a.bias': normals(3) }
    history.push(structuredClone(gradients))
    optimizer.step(parameters, gradients, state, learningRate)
    assert.deepEqual(gradients, history.at(-1), 'gradients are only read')
  }
  assert.equal(state.steps, 10)
  for (const name of ['a.weight', 'a.bias'] as const) {
    parameters[name].forEach((value, i) => {
      const gradients = history.map((step) => step[name][i])
      const expected = reference(start[name][i], gradients, name === 'a.weight')
      assert.ok(Math.abs(value - expected) < 1e-6 * Math.max(1, Math.abs(expected)), `${value} is not ${expected}`)
    })
  }
}

describe('optimizers agree with their papers, in float64', () => {
  it('AdamW: moments as explicit weighted sums of all gradients so far (arXiv 1412.6980, section 3; decay by arXiv 1711.05101)', () => {
    const [beta1, beta2, epsilon, weightDecay, rate] = [0.9, 0.95, 1e-8, 0.1, 0.01]
    const average = (values: readonly number[], beta: number): number => {
      const sum = values.reduce((total, value, i) => total + (1 - beta) * beta ** (values.length - 1 - i) * value, 0)
      return sum / (1 - beta ** values.length)
    }
    const optimizer = adamW({ betas: [beta1, beta2], epsilon, weightDecay, noDecay: (name) => name.endsWith('.bias') })
    compare(optimizer, rate, (start, gradients, decay) =>
      gradients.reduce((weight, _, step) => {
        const seen = gradients.slice(0, step + 1)
        const squares = seen.map((g) => g * g)
        const update = average(seen, beta1) / (Math.sqrt(average(squares, beta2)) + epsilon)
        return weight - rate * update - (decay ? rate * weightDecay * weight : 0)
      }, start),
    )
  })

  it('AdamW: parts of an array that are stepped apart, with scaled gradients, are those of the whole', () => {
    const whole = { w: normals(blockLength + 11) }
    const parts = structuredClone(whole)
    const optimizer = adamW({ weightDecay: 0.1 })
    const state = optimizer.init(whole)
    const half = (array: Float32Array, i: number): Float32Array => array.subarray(i * 7000, i === 0 ? 7000 : undefined)
    const states = [0, 1].map((i) => optimizer.init({ w: half(parts.w, i) }))
    for (let step = 0; step < 3; step++) {
      const gradients = { w: normals(blockLength + 11) }
      const scaled = structuredClone(gradients)
      scale(scaled, 0.25)
      optimizer.step(whole, scaled, state, 0.01)
      states.forEach((mine, i) => {
        const options = { gradientScale: 0.25 }
        optimizer.step({ w: half(parts.w, i) }, { w: half(gradients.w, i) }, mine, 0.01, options)
      })
    }
    // Not bit for bit: the scale meets the gradient in another place.
    whole.w.forEach((value, i) => assert.ok(Math.abs(parts.w[i] - value) < 1e-6, `element ${i}`))
  })

  it('SGD, and with momentum: velocity as an explicit sum', () => {
    for (const momentum of [0, 0.9]) {
      compare(sgd({ momentum }), 0.05, (start, gradients) => {
        const velocities = gradients.map((_, step) =>
          gradients.slice(0, step + 1).reduce((sum, g, i) => sum + momentum ** (step - i) * g, 0),
        )
        return start - 0.05 * velocities.reduce((a, b) => a + b, 0)
      })
    }
  })

  it('state is plain data: a run that is saved and restored gives the same numbers', () => {
    const optimizer = adamW({ weightDecay: 0.1 })
    const one = { w: normals(5) }
    const state = optimizer.init(one)
    const gradients = [normals(5), normals(5)]
    optimizer.step(one, { w: gradients[0] }, state, 0.1)
    const two = structuredClone(one)
    const restored = structuredClone(state)
    optimizer.step(one, { w: gradients[1] }, state, 0.1)
    optimizer.step(two, { w: gradients[1] }, restored, 0.1)
    assert.deepEqual(two, one)
  })

  it('parameters without a gradient stay', () => {
    const parameters = { a: normals(2), b: normals(2) }
    const before = parameters.b.slice()
    const optimizer = adamW({ weightDecay: 1 })
    optimizer.step(parameters, { a: normals(2) }, optimizer.init(parameters), 0.1)
    assert.deepEqual(parameters.b, before)
  })
})

describe('gradients', () => {
  it('have one norm, to which they are clipped', () => {
    const gradients = { a: Float32Array.of(3, 0, 0, 0, 0, 4), b: Float32Array.of(12) }
    assert.equal(globalNorm(gradients), 13)
    assert.equal(clipByGlobalNorm(gradients, 20), 13)
    assert.equal(gradients.b[0], 12)
    assert.equal(clipByGlobalNorm(gradients, 1), 13)
    assert.ok(Math.abs(globalNorm(gradients) - 1) < 1e-6)
    assert.ok(Number.isNaN(globalNorm({ a: Float32Array.of(1, NaN) })))
  })

  it('accumulate over micro-batches', () => {
    const total: Record<string, Float32Array> = {}
    accumulate(total, { a: Float32Array.of(1, 2) })
    accumulate(total, { a: Float32Array.of(3, 4) })
    scale(total, 0.5)
    assert.deepEqual([...total.a], [2, 3])
  })
})

describe('schedules', () => {
  it('are constant, straight, half a cosine, and warm up', () => {
    assert.equal(constantSchedule(3)(100), 3)
    assert.deepEqual([0, 5, 10, 20].map(linear(1, 0, 10)), [1, 0.5, 0, 0])
    const half = cosine(2, 10, 1)
    assert.deepEqual([half(0), half(10), half(99)], [2, 1, 1])
    assert.ok(Math.abs(half(5) - 1.5) < 1e-12)
    const warm = warmup(4, linear(1, 0, 10))
    assert.deepEqual([0, 1, 3, 4, 9].map(warm), [0.25, 0.5, 1, 1, 0.5])
  })
})
