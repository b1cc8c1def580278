import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom, deriveSeed } from '../core/index.js'
import { between, checkGradient, type GradientCase } from './testing/check-gradient.js'
import { createGraph } from './graph.js'
import { grad } from './grad.js'
import * as ops from './ops/index.js'
import { adamW } from './optimizers.js'
import { compile } from './program.js'
import type { Tensor, Value } from './types.js'

const width = 8
const small = between(-0.5, 0.5)
const square = { shape: [width, width], values: small } as const

function heads(x: Tensor, count: number): Tensor {
  const [batch, time] = x.shape
  return ops.transpose(ops.reshape(x, [batch, time, count, width / 2]), [0, 2, 1, 3])
}

/** Grouped-query attention: two query heads share one key/value head. */
function attention(t: Record<string, Tensor>, mask: Tensor, rotated: boolean): Tensor {
  const [batch, time] = t.x.shape
  const project = (weight: Tensor, count: number): Tensor => heads(ops.matmul(t.x, weight, { transposeB: true }), count)
  const turn = (x: Tensor): Tensor => (rotated ? ops.rotary(x, t.cos, t.sin) : x)
  const q = ops.reshape(turn(project(t.q, 2)), [batch, 1, 2, time, width / 2])
  const k = ops.reshape(turn(project(t.k, 1)), [batch, 1, 1, time, width / 2])
  const v = ops.reshape(project(t.v, 1), [batch, 1, 1, time, width / 2])
  const scores = ops.add(ops.matmul(q, k, { transposeB: true, alpha: 0.5 }), mask)
  const mixed = ops.reshape(ops.matmul(ops.softmax(scores), v), [batch, 2, time, width / 2])
  return ops.matmul(ops.reshape(ops.transpose(mixed, [0, 2, 1, 3]), [batch, time, width]), t.o)
}

const attentionInputs = {
  x: { shape: ['batch', 'time', width] },
  q: square,
  k: { shape: [width / 2, width], values: small },
  v: { shape: [width / 2, width], values: small },
  o: square,
} as const

function feedForward(x: Tensor, gate: Tensor, up: Tensor, down: Tensor): Tensor {
  return ops.matmul(ops.mul(ops.silu(ops.matmul(x, gate)), ops.matmul(x, up)), down)
}

const blocks: Record<string, GradientCase> = {
  'a decoder block: RMSNorm, causal grouped-query attention with rotary positions, SwiGLU': {
    lengths: { batch: 2, time: 4 },
    inputs: {
      ...attentionInputs,
      cos: { shape: [1, 'time', width / 4] },
      sin: { shape: [1, 'time', width / 4] },
      norm: { shape: [width], values: between(0.5, 1.5) },
      gate: { shape: [width, 6], values: small },
      up: { shape: [width, 6], values: small },
      down: { shape: [6, width], values: small },
    },
    build: (t, graph) => {
      const mixed = attention({ ...t, x: ops.rmsNorm(t.x, t.norm) }, ops.causalMask(graph, 'time'), true)
      const x = ops.add(t.x, mixed)
      return ops.add(x, feedForward(ops.rmsNorm(x, t.norm), t.gate, t.up, t.down))
    },
  },
  'attention to a cache and to the new tokens as two score blocks': {
    lengths: { batch: 2, time: 2, cache: 3 },
    inputs: {
      q: { shape: ['batch', 2, 'time', 4] },
      k: { shape: ['batch', 2, 'time', 4] },
      pastK: { shape: ['batch', 2, 'cache', 4] },
      pastV: { shape: ['batch', 2, 'cache', 4] },
      v: { shape: ['batch', 2, 'time', 4] },
    },
    build: (t, graph) => {
      const now = ops.add(ops.matmul(t.q, t.k, { transposeB: true }), ops.causalMask(graph, 'time'))
      const weights = ops.softmax(ops.concat([ops.matmul(t.q, t.pastK, { transposeB: true }), now]))
      const past = ops.slice(weights, { axis: -1, end: 'cache' })
      return ops.add(ops.matmul(past, t.pastV), ops.matmul(ops.slice(weights, { axis: -1, start: 'cache' }), t.v))
    },
  },
  'a bidirectional encoder block: LayerNorm, padded attention, GELU': {
    lengths: { batch: 2, time: 3 },
    inputs: {
      ...attentionInputs,
      valid: { shape: ['batch', 'time'], dtype: 'bool', values: () => [1, 1, 1, 1, 1, 0] },
      weight: { shape: [width], values: between(0.5, 1.5) },
      bias: { shape: [width] },
      up: { shape: [width, 6], values: small },
      down: { shape: [6, width], values: small },
    },
    build: (t) => {
      const mask = ops.unsqueeze(ops.paddingMask(t.valid), { axes: [1] })
      const x = ops.layerNorm(ops.add(t.x, attention(t, mask, false)), t.weight, t.bias)
      return ops.layerNorm(ops.add(x, ops.matmul(ops.gelu(ops.matmul(x, t.up)), t.down)), t.weight, t.bias)
    },
  },
  'a multilayer perceptron with dropout': {
    inputs: {
      x: { shape: ['batch', 5] },
      w1: { shape: [5, 7] },
      b1: { shape: [7] },
      w2: { shape: [7, 2] },
      keep: {
        shape: ['batch', 7],
        dtype: 'bool',
        values: (random, size) => Array.from({ length: size }, () => random.integer(0, 1)),
      },
    },
    build: (t) => {
      const hidden = ops.tanh(ops.add(ops.matmul(t.x, t.w1), t.b1))
      return ops.matmul(ops.dropout(hidden, ops.cast(t.keep, 'float32'), { rate: 0.5 }), t.w2)
    },
  },
  'a small convolutional net': {
    lengths: { batch: 2 },
    inputs: {
      x: { shape: ['batch', 1, 8, 8] },
      w1: { shape: [3, 1, 3, 3] },
      b1: { shape: [3] },
      w2: { shape: [4, 3, 3, 3], values: small },
      head: { shape: [4, 5] },
    },
    build: (t) => {
      const first = ops.tanh(ops.add(ops.conv2d(t.x, t.w1, { padding: 1 }), ops.reshape(t.b1, [3, 1, 1])))
      const second = ops.gelu(ops.conv2d(ops.avgPool2d(first, { window: 2 }), t.w2, { padding: 1 }))
      return ops.logSoftmax(ops.matmul(ops.globalAvgPool2d(second), t.head))
    },
  },
  'a value head: clipped squared error of the last hidden states': {
    lengths: { tokens: 5 },
    inputs: {
      hidden: { shape: ['tokens', width] },
      norm: { shape: [width], values: between(0.5, 1.5) },
      w: { shape: [width, 1] },
      b: { shape: [1] },
      returns: { shape: ['tokens'] },
    },
    build: (t) => {
      const values = ops.reshape(ops.add(ops.matmul(ops.rmsNorm(t.hidden, t.norm), t.w), t.b), ['tokens'])
      const clipped = ops.clip(values, { min: -1, max: 1 })
      return ops.mean(ops.maximum(ops.square(ops.sub(values, t.returns)), ops.square(ops.sub(clipped, t.returns))))
    },
  },
}

/** The derivative as the function: its own derivative is then the second one. */
const second: Record<string, GradientCase> = Object.fromEntries(
  Object.entries({
    tanh: ops.tanh,
    silu: ops.silu,
    softmax: (x: Tensor) => ops.softmax(x),
    logSumExp: (x: Tensor) => ops.logSumExp(x, { axis: -1 }),
    'a product': (x: Tensor) => ops.matmul(x, ops.square(x), { transposeB: true }),
    'root-mean-square normalization': (x: Tensor) => ops.rmsNorm(x, ops.constant(x.graph, [1, 2, 3])),
    'layer normalization': (x: Tensor) =>
      ops.layerNorm(x, ops.constant(x.graph, [1, 2, 3]), ops.constant(x.graph, [0, 0, 0]), { epsilon: 0.1 }),
  }).map(([name, apply]) => [
    name,
    {
      lengths: { rows: 3 },
      inputs: { x: { shape: ['rows', 3] } },
      build: (t) => grad(ops.sum(ops.square(apply(t.x))), [t.x])[0],
    } satisfies GradientCase,
  ]),
)

for (const [title, cases] of Object.entries({ 'derivatives of blocks': blocks, 'second derivatives': second })) {
  describe(title, () => {
    for (const [name, definition] of Object.entries(cases)) {
      it(name, async () => {
        const { errors } = await checkGradient(name, definition)
        for (const [input, error] of Object.entries(errors)) {
          assert.ok(error < 2e-2, `relative error ${error.toFixed(5)} at ${input}`)
        }
      })
    }
  })
}

describe('learning', () => {
  it('a two-layer net fits sin(3x) to a mean squared error below 1e-3', async () => {
    const graph = createGraph()
    const shapes = { w1: [1, 32], b1: [32], w2: [32, 1], b2: [1] }
    const weights = Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, graph.parameter(name, shape)]),
    )
    const x = graph.input('x', ['batch', 1])
    const hidden = ops.tanh(ops.add(ops.matmul(x, weights.w1), weights.b1))
    const y = ops.add(ops.matmul(hidden, weights.w2), weights.b2)
    const loss = ops.mean(ops.square(ops.sub(y, graph.input('target', ['batch', 1]))))
    const names = Object.keys(shapes)
    const gradients = grad(loss, Object.values(weights))
    const outputs = Object.fromEntries(names.map((name, i) => [name, gradients[i]]))
    const program = await compile(graph, { outputs: { loss, ...outputs }, inline: true })

    const random = createRandom(deriveSeed('two-layer net'))
    const parameters: Record<string, Float32Array> = {}
    for (const [name, shape] of Object.entries(shapes)) {
      const length = shape.reduce((a, b) => a * b, 1)
      parameters[name] = Float32Array.from({ length }, () => random.normal() * (name === 'w1' ? 2 : 0.2))
      program.bind({ [name]: { data: parameters[name], shape } })
    }
    const points = Float32Array.from({ length: 64 }, (_, i) => (i - 31.5) / 32)
    program.bind({
      x: { data: points, shape: [64, 1] },
      target: { data: points.map((value) => Math.sin(3 * value)), shape: [64, 1] },
    })
    const optimizer = adamW()
    const state = optimizer.init(parameters)
    const lossOf = ({ data }: Value): number => Number(data[0])
    const before = lossOf((await program.run()).loss)
    for (let step = 0; step < 600; step++) {
      const { loss: _, ...named } = await program.run()
      const arrays = Object.fromEntries(Object.entries(named).map(([name, { data }]) => [name, data as Float32Array]))
      optimizer.step(parameters, arrays, state, 0.01)
    }
    const after = lossOf((await program.run()).loss)
    await program.close()
    assert.ok(before > 0.1 && after < 1e-3, `${before} became ${after}`)
  })
})
