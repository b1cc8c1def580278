import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { InferenceSession } from 'onnxruntime-node'
import { createRandom, MyriadError } from '../core/index.js'
import { grad } from './grad.js'
import { createGraph, type Graph, type Node } from './graph.js'
import * as ops from './ops/index.js'
import { compile } from './program.js'
import { recompute } from './recompute.js'
import type { Tensor, Value } from './types.js'

const random = createRandom(5)
const floats = (...shape: number[]): Value => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal()),
  shape,
})

type Wrap = (fn: (x: Tensor) => Tensor, x: Tensor) => Tensor
const plain: Wrap = (fn, x) => fn(x)
const again: Wrap = (fn, x) => recompute(fn, [x])
/** A block of blocks, each of them recomputed within the recomputed whole. */
const nested: Wrap = (fn, x) => recompute((y) => recompute(fn, [ops.mul(y, 2)]), [ops.mul(x, 0.5)])

/** Two blocks that share a weight and read a mask which is itself computed; gradients at everything. */
function network(wrap: Wrap): { graph: Graph; outputs: Record<string, Tensor> } {
  const graph = createGraph()
  const w = graph.parameter('w', [4, 4])
  const scale = graph.parameter('scale', [4])
  const x = graph.input('x', ['n', 4])
  const gate = ops.sigmoid(ops.matmul(x, w))
  const block = (h: Tensor): Tensor => ops.add(h, ops.mul(ops.tanh(ops.matmul(ops.rmsNorm(h, scale), w)), gate))
  const y = wrap(block, wrap(block, x))
  const [dx, dw, dscale, dgate] = grad(ops.sum(ops.square(y)), [x, w, scale, gate])
  return { graph, outputs: { y, dx, dw, dscale, dgate } }
}

async function run({ graph, outputs }: ReturnType<typeof network>): Promise<Record<string, Value>> {
  const program = await compile(graph, { outputs, inline: true })
  const source = createRandom(9)
  const value = (shape: number[]): Value => ({
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => source.normal()),
    shape,
  })
  const result = await program.run({ w: value([4, 4]), scale: value([4]), x: value([3, 4]) })
  await program.close()
  return result
}

function nodesOf(outputs: readonly Tensor[]): Node[] {
  const nodes = new Set<Node>()
  const pending = outputs.map(({ node }) => node)
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (nodes.has(node)) continue
    nodes.add(node)
    pending.push(...node.inputs.map((input) => input.node))
  }
  return [...nodes]
}

describe('recompute', () => {
  for (const [name, wrap] of Object.entries({ once: again, nested })) {
    it(`${name}: has the values and derivatives of the plain function, captured tensors included`, async () => {
      const expected = await run(network(plain))
      const actual = await run(network(wrap))
      for (const key of Object.keys(expected)) {
        assert.deepEqual(actual[key].shape, expected[key].shape)
        for (const [i, value] of (expected[key].data as Float32Array).entries()) {
          assert.ok(Math.abs(Number(actual[key].data[i]) - value) <= 1e-5 * Math.max(1, Math.abs(value)), `${key} ${i}`)
        }
      }
    })
  }

  it('computes the block once more in the backward pass, after the cotangent, and shares no node with the first time', () => {
    const tanhs = (wrap: Wrap): Node[] =>
      nodesOf(Object.values(network(wrap).outputs)).filter(({ operation }) => operation.name === 'tanh')
    assert.equal(tanhs(plain).length, 2)
    const twice = tanhs(again)
    assert.equal(twice.length, 4)
    const late = twice.filter((node) => nodesOf(node.inputs).some(({ operation }) => operation.name === 'after'))
    assert.equal(late.length, 2)
  })

  it('answers as many results as the function, and passes over those nothing depends on', async () => {
    const graph = createGraph()
    const x = graph.input('x', ['n'])
    const [a, b, same] = recompute((h) => [ops.exp(h), ops.square(h), h], [x])
    const [dx] = grad(ops.sum(ops.add(b, same)), [x])
    const program = await compile(graph, { outputs: { a, dx }, inline: true })
    const result = await program.run({ x: { data: Float32Array.of(0, 3), shape: [2] } })
    await program.close()
    assert.deepEqual([...result.dx.data], [1, 7])
    assert.equal(result.a.data[0], 1)
  })

  it('refuses to keep nothing', () => {
    assert.throws(
      () => recompute(() => ops.zeros(createGraph(), [1]), []),
      (error) => error instanceof MyriadError && error.code === 'usage',
    )
  })
})

describe('after', () => {
  it('is the tensor bit for bit, whatever the dependency holds, nothing and NaN included', async () => {
    const graph = createGraph()
    const x = graph.input('x', ['n', 2])
    const dependency = graph.input('dependency', ['m'])
    const late = ops.after(x, ops.log(dependency))
    const index = ops.after(ops.argmax(x, { axis: 1 }), ops.log(dependency))
    assert.notEqual(late, x)
    assert.notEqual(ops.after(x, dependency), late)
    const program = await compile(graph, { outputs: { late, index }, inline: true })
    const value = floats(3, 2)
    for (const held of [[-1, 2], [], [0, Infinity, NaN]]) {
      const result = await program.run({
        x: value,
        dependency: { data: Float32Array.from(held), shape: [held.length] },
      })
      assert.deepEqual(result.late, value)
      assert.equal(result.index.shape[0], 3)
    }
    await program.close()
  })

  it('survives the optimizer of ONNX Runtime', async () => {
    const graph = createGraph()
    const x = ops.exp(graph.input('x', [2]))
    const late = ops.after(x, ops.log(graph.input('dependency', [1])))
    const program = await compile(graph, { outputs: { late }, inline: true })
    const folder = mkdtempSync(join(tmpdir(), 'myriad-after-'))
    try {
      const optimizedModelFilePath = join(folder, 'optimized.onnx')
      const session = await InferenceSession.create(program.onnx, { optimizedModelFilePath })
      await session.release()
      const kept = readFileSync(optimizedModelFilePath, 'latin1')
      for (const type of ['Exp', 'Log', 'Slice', 'Reshape']) assert.ok(kept.includes(type), `${type} is gone`)
    } finally {
      rmSync(folder, { recursive: true })
      await program.close()
    }
  })
})
