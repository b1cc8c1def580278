import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom, MyriadError } from '../core/index.js'
import { chunkedLogprobs } from './chunked.js'
import { grad } from './grad.js'
import { createGraph } from './graph.js'
import * as ops from './ops/index.js'
import { compile, type Program } from './program.js'
import type { Tensor, Value } from './types.js'

const width = 5
const vocabulary = 11

/** A clipped objective with a weight: kinked, and zero for some tokens. */
const loss = (logprobs: Tensor, { weights, old }: Record<'weights' | 'old', Tensor>): Tensor => {
  const ratio = ops.exp(ops.sub(logprobs, old))
  return ops.neg(ops.mul(weights, ops.minimum(ratio, ops.clip(ratio, { min: 0.8, max: 1.2 }))))
}

const softCap = (scores: Tensor): Tensor => ops.mul(ops.tanh(ops.mul(scores, 1 / 2)), 2)

async function programs(chunks: number, transform?: (scores: Tensor) => Tensor): Promise<[Program, Program]> {
  const graph = createGraph()
  const hidden = graph.input('hidden', ['n', width])
  const table = graph.parameter('table', [vocabulary, width])
  const targets = graph.input('targets', ['n'], 'int32')
  const tokens = { weights: graph.input('weights', ['n']), old: graph.input('old', ['n']) }
  const scores = (transform ?? ((x) => x))(ops.matmul(hidden, table, { transposeB: true }))
  const logprobs = ops.selectedLogprobs(scores, targets)
  const losses = loss(logprobs, tokens)
  const [hiddenGradient, tableGradient] = grad(ops.sum(losses), [hidden, table])
  const all = ops.logSoftmax(scores)
  const entropy = ops.neg(ops.sum(ops.mul(ops.exp(all), all), { axes: [1] }))
  const whole = { logprobs, losses, hiddenGradient, tableGradient, entropy }
  const pieces = chunkedLogprobs({ hidden, table, targets, chunks, tokens, loss, transform, entropy: true })
  return Promise.all([
    compile(graph, { outputs: whole, inline: true }),
    compile(graph, { outputs: { ...pieces } as Record<string, Tensor>, inline: true }),
  ])
}

function feeds(n: number): Record<string, Value> {
  const random = createRandom(n)
  const floats = (...shape: number[]): Value => ({
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal()),
    shape,
  })
  const ids = Int32Array.from({ length: n }, () => random.integer(0, vocabulary - 1))
  return {
    hidden: floats(n, width),
    table: floats(vocabulary, width),
    targets: { data: ids, shape: [n] },
    weights: floats(n),
    old: { data: Float32Array.from({ length: n }, () => -2.5 + random.normal()), shape: [n] },
  }
}

describe('chunkedLogprobs', () => {
  for (const [name, transform] of [
    ['plain', undefined],
    ['with a soft cap', softCap],
  ] as const) {
    it(`${name}: equals the whole computation and its derivatives, for lengths that do not divide and fewer rows than chunks`, async () => {
      for (const chunks of [1, 3]) {
        const [whole, pieces] = await programs(chunks, transform)
        for (const n of [1, 2, 3, 7, 12]) {
          const fed = feeds(n)
          const expected = await whole.run(fed)
          const actual = await pieces.run(fed)
          for (const key of Object.keys(expected)) {
            assert.deepEqual(actual[key].shape, expected[key].shape, key)
            for (const [i, value] of (expected[key].data as Float32Array).entries()) {
              const error = Math.abs(Number(actual[key].data[i]) - value)
              assert.ok(error < 2e-5 * (1 + Math.abs(value)), `${key}[${i}], ${n} rows in ${chunks}: off by ${error}`)
            }
          }
        }
        await whole.close()
        await pieces.close()
      }
    })
  }

  it('stays finite where a target is all but impossible, and never says more than certain', async () => {
    const graph = createGraph()
    const head = chunkedLogprobs({
      hidden: graph.input('hidden', ['n', 1]),
      table: graph.input('table', [3, 1]),
      targets: graph.input('targets', ['n'], 'int64'),
      chunks: 2,
      loss: (logprobs) => ops.neg(logprobs),
    })
    const { logprobs, hiddenGradient, tableGradient } = head
    const outputs = { logprobs, hiddenGradient: hiddenGradient!, tableGradient: tableGradient! }
    const program = await compile(graph, { outputs, inline: true })
    const result = await program.run({
      hidden: { data: Float32Array.of(1, 1), shape: [2, 1] },
      table: { data: Float32Array.of(300, 0, -300), shape: [3, 1] },
      targets: { data: BigInt64Array.of(2n, 0n), shape: [2] },
    })
    await program.close()
    assert.deepEqual([...result.logprobs.data], [-600, 0])
    assert.deepEqual(Array.from(result.hiddenGradient.data as Float32Array).map(Math.abs), [600, 0])
    assert.deepEqual(
      Array.from(result.tableGradient.data as Float32Array, (x) => x + 0),
      [1, 0, -1],
    )
  })

  it('never has the scores of all rows: no tensor of the program is [n, vocabulary]', () => {
    const graph = createGraph()
    const hidden = graph.input('hidden', ['n', width])
    const head = chunkedLogprobs({
      hidden,
      table: graph.parameter('table', [vocabulary, width]),
      targets: graph.input('targets', ['n'], 'int32'),
      chunks: 4,
      loss: (logprobs) => ops.neg(logprobs),
    })
    const wide = new Set<string>()
    const seen = new Set<Tensor>()
    const pending = Object.values(head).filter((tensor): tensor is Tensor => tensor !== undefined)
    for (let tensor = pending.pop(); tensor; tensor = pending.pop()) {
      if (seen.has(tensor)) continue
      seen.add(tensor)
      if (tensor.shape[1] === vocabulary) wide.add(String(tensor.shape[0]))
      pending.push(...tensor.node.inputs)
    }
    assert.deepEqual([...wide].sort(), ['part_0_of_4_of_n', 'part_1_of_4_of_n', 'part_2_of_4_of_n', 'part_3_of_4_of_n'])
  })

  it('says what does not fit', () => {
    const graph = createGraph()
    const hidden = graph.input('hidden', ['n', width])
    const table = graph.parameter('table', [vocabulary, width])
    const targets = graph.input('targets', ['n'], 'int32')
    const fails = (options: object, part: string): void =>
      assert.throws(
        () => chunkedLogprobs({ hidden, table, targets, chunks: 2, ...options }),
        (error) => error instanceof MyriadError && error.code === 'shape' && error.message.includes(part),
      )
    fails({ chunks: 0 }, 'chunks is 0')
    fails({ targets: graph.input('other', ['m'], 'int32') }, 'targets is int32 [m]')
    fails({ table: hidden, hidden: table.graph.input('wide', ['n', 7]) }, 'must be [n, d] and [vocabulary, d]')
  })
})
