import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forwardCases } from './testing/forward-cases.js'
import { createGraph } from './graph.js'
import {
  causalMask,
  embedding,
  dropout,
  globalAvgPool2d,
  paddingMask,
  segmentMask,
  squeeze,
  unsqueeze,
  constant,
  add,
  operations,
} from './ops/index.js'
import { compile } from './program.js'
import type { Graph } from './graph.js'
import type { Tensor } from './types.js'

async function evaluate(build: (graph: Graph) => Tensor): Promise<{ shape: readonly number[]; values: number[] }> {
  const graph = createGraph()
  const y = build(graph)
  assert.ok(y.shape.every((length) => typeof length === 'number'))
  const program = await compile(graph, { outputs: { y }, inline: true })
  const { data, shape } = (await program.run()).y
  await program.close()
  assert.deepEqual(shape, y.shape, 'the shape rule agrees with what was computed')
  return { shape, values: Array.from(data, Number) }
}

function close(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) => {
    assert.ok(
      Math.abs(value - expected[i]) <= 1e-5 * Math.max(1, Math.abs(expected[i])),
      `${actual.join()} is not ${expected.join()}`,
    )
  })
}

describe('operations compute what they say', () => {
  for (const [name, cases] of Object.entries(forwardCases)) {
    it(name, async () => {
      for (const { build, shape, values } of cases) {
        const actual = await evaluate(build)
        assert.deepEqual(actual.shape, shape)
        close(actual.values, values)
      }
    })
  }

  it('every one of the table', () => {
    const missing = [...operations().keys()].filter((name) => !(name in forwardCases))
    assert.deepEqual(missing, [], 'operations without a case in testing/forward-cases.ts')
  })
})

describe('compositions', () => {
  it('masks forbid with -1e9 and allow with 0', async () => {
    const causal = await evaluate((g) => causalMask(g, 3))
    assert.deepEqual(causal.values, [0, -1e9, -1e9, 0, 0, -1e9, 0, 0, 0])
    const padding = await evaluate((g) => paddingMask(constant(g, [1, 0], [1, 2], 'bool')))
    assert.deepEqual(padding, { shape: [1, 1, 1, 2], values: [0, -1e9] })
    const segments = (g: Graph): Tensor => constant(g, [0, 0, 1], [1, 3], 'int64')
    const packed = await evaluate((g) => segmentMask(segments(g)))
    assert.deepEqual(packed, { shape: [1, 1, 3, 3], values: [0, -1e9, -1e9, 0, 0, -1e9, -1e9, -1e9, 0] })
    const both = await evaluate((g) => segmentMask(segments(g), { causal: false }))
    assert.deepEqual(both.values, [0, 0, -1e9, 0, 0, -1e9, -1e9, -1e9, 0])
  })

  it('embedding, dropout, squeeze, unsqueeze, globalAvgPool2d', async () => {
    const table = await evaluate((g) =>
      embedding(constant(g, [1, 2, 3, 4], [2, 2]), constant(g, [1, 0, 1], [3, 1], 'int64')),
    )
    assert.deepEqual(table, { shape: [3, 1, 2], values: [3, 4, 1, 2, 3, 4] })
    const dropped = await evaluate((g) => dropout(constant(g, [1, 2]), constant(g, [0, 1]), { rate: 0.5 }))
    assert.deepEqual(dropped.values, [0, 4])
    const axes = await evaluate((g) =>
      add(squeeze(unsqueeze(constant(g, [1, 2]), { axes: [0, -1] }), { axes: [0] }), 0),
    )
    assert.deepEqual(axes, { shape: [2, 1], values: [1, 2] })
    const pooled = await evaluate((g) => globalAvgPool2d(constant(g, [1, 2, 3, 6], [1, 1, 2, 2])))
    assert.deepEqual(pooled, { shape: [1, 1], values: [3] })
  })
})
