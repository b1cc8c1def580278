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
  const { alternatives: _, ...pieces } = chunkedLogprobs({
    hidden,
    table,
    targets,
    chunks,
    tokens,
    loss,
    transform,
    entropy: true,
  })
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

  for (const [name, transform] of [
    ['plain', undefined],
    ['with a soft cap', softCap],
  ] as const) {
    it(`${name}: slopes at entropies and at alternatives flow on, one id named twice and the target among them`, async () => {
      const graph = createGraph()
      const hidden = graph.input('hidden', ['n', width])
      const table = graph.parameter('table', [vocabulary, width])
      const targets = graph.input('targets', ['n'], 'int32')
      const ids = graph.input('ids', ['n', 'k'], 'int32')
      const tokens = { weights: graph.input('weights', ['n']), old: graph.input('old', ['n']) }
      const entropySlopes = graph.input('entropySlopes', ['n'])
      const alternativeSlopes = graph.input('alternativeSlopes', ['n', 'k'])
      const all = ops.logSoftmax((transform ?? ((x) => x))(ops.matmul(hidden, table, { transposeB: true })))
      const entropy = ops.neg(ops.sum(ops.mul(ops.exp(all), all), { axes: [1] }))
      const alternatives = ops.takeAlongAxis(all, ids, { axis: 1 })
      const chosen = ops.reshape(ops.takeAlongAxis(all, ops.reshape(targets, ['n', 1]), { axis: 1 }), ['n'])
      const total = [
        loss(chosen, tokens),
        ops.mul(entropySlopes, entropy),
        ops.sum(ops.mul(alternativeSlopes, alternatives), { axes: [1] }),
      ].reduce((a, b) => ops.add(a, b))
      const [hiddenGradient, tableGradient] = grad(ops.sum(total), [hidden, table])
      const whole = await compile(graph, {
        outputs: { hiddenGradient, tableGradient, entropy, alternatives },
        inline: true,
      })
      const pieces = chunkedLogprobs({
        hidden,
        table,
        targets,
        chunks: 3,
        tokens,
        loss,
        transform,
        entropy: true,
        alternatives: { ids },
        entropySlopes,
        alternativeSlopes,
      })
      const chunked = await compile(graph, {
        outputs: {
          hiddenGradient: pieces.hiddenGradient!,
          tableGradient: pieces.tableGradient!,
          entropy: pieces.entropy!,
          alternatives: pieces.alternatives!.logprobs,
        },
        inline: true,
      })
      for (const n of [1, 3, 7]) {
        const random = createRandom(n)
        const fed = feeds(n)
        const named = Int32Array.from({ length: n * 4 }, () => random.integer(0, vocabulary - 1))
        for (let row = 0; row < n; row++) {
          named[row * 4 + 1] = named[row * 4]
          named[row * 4 + 2] = Number(fed.targets.data[row])
        }
        fed.ids = { data: named, shape: [n, 4] }
        fed.entropySlopes = { data: Float32Array.from({ length: n }, () => random.normal()), shape: [n] }
        fed.alternativeSlopes = { data: Float32Array.from({ length: n * 4 }, () => random.normal()), shape: [n, 4] }
        const expected = await whole.run(fed)
        const actual = await chunked.run(fed)
        for (const key of Object.keys(expected))
          for (const [i, value] of (expected[key].data as Float32Array).entries()) {
            const error = Math.abs(Number(actual[key].data[i]) - value)
            assert.ok(error < 5e-5 * (1 + Math.abs(value)), `${key}[${i}], ${n} rows: off by ${error}`)
          }
      }
      await whole.close()
      await chunked.close()
    })
  }

  it('finds the most probable ids of every row, in order, and of equal ones the first', async () => {
    const graph = createGraph()
    const { alternatives } = chunkedLogprobs({
      hidden: graph.input('hidden', ['n', 1]),
      table: graph.input('table', [4, 1]),
      targets: graph.input('targets', ['n'], 'int32'),
      chunks: 2,
      alternatives: { count: 3 },
    })
    const program = await compile(graph, { outputs: { ...alternatives! }, inline: true })
    const { ids, logprobs } = await program.run({
      hidden: { data: Float32Array.of(1, -1, 0), shape: [3, 1] },
      table: { data: Float32Array.of(0, 2, 1, 2), shape: [4, 1] },
      targets: { data: Int32Array.of(0, 0, 0), shape: [3] },
    })
    await program.close()
    assert.deepEqual([...ids.data].map(Number), [1, 3, 2, 0, 2, 1, 0, 1, 2])
    const at = (x: number, score: number): number =>
      x * score - Math.log([0, 2, 1, 2].reduce((sum, other) => sum + Math.exp(x * other), 0))
    const expected = [at(1, 2), at(1, 2), at(1, 1), at(-1, 0), at(-1, 1), at(-1, 2), ...Array(3).fill(-Math.log(4))]
    expected.forEach((value, i) => assert.ok(Math.abs(Number(logprobs.data[i]) - value) < 1e-6))
  })

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
      entropySlopes: graph.input('entropySlopes', ['n']),
      alternatives: { ids: graph.input('ids', ['n', 'k'], 'int32') },
      alternativeSlopes: graph.input('alternativeSlopes', ['n', 'k']),
    })
    const wide = new Set<string>()
    const seen = new Set<Tensor>()
    const { alternatives, ...rest } = head
    const pending = [...Object.values(rest), alternatives?.logprobs].filter((tensor) => tensor !== undefined)
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
    const ids = graph.input('ids', ['n', 'k'], 'int32')
    const loss = (logprobs: Tensor): Tensor => ops.neg(logprobs)
    fails({ alternatives: { ids: graph.input('long', ['n', 'k'], 'int64') } }, 'must be [n, k] of the type of targets')
    fails({ loss, alternatives: { count: 2 }, alternativeSlopes: graph.input('a', ['n', 'k']) }, 'shaped as given ids')
    fails({ loss, alternatives: { ids }, alternativeSlopes: graph.input('b', ['n', 2]) }, 'shaped as given ids')
    fails({ entropySlopes: graph.input('e', ['n']) }, 'there is none')
    fails({ table: hidden, hidden: table.graph.input('wide', ['n', 7]) }, 'must be [n, d] and [vocabulary, d]')
  })
})
