import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { MyriadError, type ErrorCode } from '../core/index.js'
import { createGraph } from './graph.js'
import { grad } from './grad.js'
import * as ops from './ops/index.js'
import { compile } from './program.js'
import { devices } from './session.js'
import type { Value } from './types.js'

const floats = (shape: number[], value: (i: number) => number = (i) => i): Value => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => value(i)),
  shape,
})

const fails =
  (code: ErrorCode, ...parts: string[]) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof MyriadError, String(error))
    assert.equal(error.code, code)
    for (const part of parts) assert.ok(error.message.includes(part), `'${error.message}' does not say '${part}'`)
    return true
  }

describe('graph', () => {
  it('makes equal operations one node and drops what changes nothing', () => {
    const graph = createGraph()
    const x = graph.input('x', ['batch', 'time', 4])
    const w = graph.parameter('w', [4, 4])
    assert.equal(ops.matmul(x, w), ops.matmul(x, w))
    assert.equal(ops.add(x, 0), x)
    assert.equal(ops.mul(x, 1), x)
    assert.equal(ops.reshape(ops.reshape(x, [-1, 4]), ['batch', 'time', 4]), x)
    assert.equal(ops.transpose(ops.transpose(x, [2, 0, 1]), [1, 2, 0]), x)
    assert.notEqual(ops.matmul(w, ops.transpose(w)).node.inputs[1].op, 'transpose')
    assert.deepEqual([...graph.parameters.keys()], ['w'])
  })

  it('makes the gradient of a weight one flat product', () => {
    const graph = createGraph()
    const x = graph.input('x', ['batch', 'time', 4])
    const w = graph.parameter('w', [4, 5])
    const [dw] = grad(ops.sum(ops.square(ops.matmul(x, w))), [w])
    assert.equal(dw.op, 'matmul')
    assert.deepEqual(
      dw.node.inputs.map(({ shape }) => shape),
      [
        ['batch*time', 4],
        ['batch*time', 5],
      ],
    )
  })

  it('sums over the width of a head, not over the keys, in the derivative of attention', () => {
    for (const groups of [1, 2]) {
      const graph = createGraph()
      const scores = graph.input('scores', ['batch', 2, groups, 'time', 'keys'])
      const value = graph.input('value', ['batch', 2, 1, 'keys', 4])
      const [dScores] = grad(ops.sum(ops.square(ops.matmul(ops.softmax(scores), value))), [scores])
      const pending = [dScores]
      const summed: string[] = []
      for (let tensor = pending.pop(); tensor; tensor = pending.pop()) {
        if (tensor.op === 'sum') summed.push(String(tensor.node.inputs[0].shape.at(-1)))
        pending.push(...tensor.node.inputs)
      }
      assert.deepEqual(new Set(summed), new Set(['4']))
    }
  })

  it('tells the operation, the argument and the shapes', () => {
    const graph = createGraph()
    const a = graph.input('a', ['batch', 3])
    const b = graph.input('b', [4, 'time'])
    const ids = graph.input('ids', ['batch'], 'int64')
    assert.throws(
      () => ops.matmul(a, b),
      fails('shape', 'matmul', 'a is float32 [batch, 3]', 'b is float32 [4, time]', '3 and 4'),
    )
    assert.throws(() => ops.add(a, b), fails('shape', 'add', '[batch, 3]', '[4, time]'))
    assert.throws(() => ops.add(a, ids), fails('shape', 'add', 'int64 [batch]'))
    assert.throws(() => ops.reshape(a, [5, -1]), fails('shape', 'reshape', '[batch, 3]', '[5, -1]'))
    assert.throws(() => ops.concat([a, b]), fails('shape', 'concat', '[batch, 3]', '[4, time]'))
    assert.throws(() => ops.gather(a, a), fails('shape', 'gather', 'indices', 'float32 [batch, 3]', 'int64'))
    assert.throws(() => ops.sum(a, { axes: [2] }), fails('shape', 'sum', 'axis 2', '2 axes'))
    assert.throws(() => ops.slice(a, { axis: 1, end: 9 }), fails('shape', 'slice', '[0, 9)', '[batch, 3]'))
    assert.throws(
      () => ops.rmsNorm(a, graph.parameter('w', [4])),
      fails('shape', 'rmsNorm', 'weight is float32 [4]', '[3]'),
    )
    assert.throws(() => ops.conv2d(a, b), fails('shape', 'conv2d', 'x is float32 [batch, 3]', '4 axes'))
    assert.throws(
      () => ops.selectedLogprobs(a, graph.input('t', [7], 'int64')),
      fails('shape', 'selectedLogprobs', '[7]'),
    )
    assert.throws(() => ops.topK(a, { k: 4 }), fails('shape', 'topK', 'k is 4', '[batch, 3]'))
    assert.throws(() => graph.input('a', [1]), fails('usage', "'a'", 'twice'))
    assert.throws(() => ops.add(a, createGraph().input('x', [])), fails('usage', 'another graph'))
    assert.throws(() => grad(a, [a]), fails('shape', 'grad', '[batch, 3]', 'scalar'))
    assert.throws(() => grad(a, [a], { seed: b }), fails('shape', 'seed is [4, time]', '[batch, 3]'))
  })

  it('gives zero where nothing depends', async () => {
    const graph = createGraph()
    const x = graph.input('x', ['n'])
    const unused = graph.input('unused', ['n', 2])
    const [du, dx] = grad(ops.sum(ops.mul(x, ops.stopGradient(x))), [unused, x])
    const program = await compile(graph, { outputs: { du, dx }, inline: true })
    const result = await program.run({ x: floats([2], () => 3) })
    assert.deepEqual([...result.du.data], [0, 0, 0, 0])
    assert.deepEqual([...result.dx.data], [3, 3])
    await program.close()
  })
})

for (const inline of [true, false]) {
  describe(inline ? 'an inline program' : 'a program in a worker thread', () => {
    it('runs at several lengths, asks only for what the outputs need, and may name a gradient as its parameter', async () => {
      const graph = createGraph()
      const x = graph.input('x', ['batch', 'time'])
      const w = graph.parameter('w', [])
      graph.input('other', ['batch'])
      const loss = ops.mean(ops.mul(x, w))
      const program = await compile(graph, { outputs: { loss, w: grad(loss, [w])[0] }, inline })
      assert.deepEqual(
        program.inputs.map(({ name }) => name),
        ['x', 'w'],
      )
      assert.ok(program.onnx.length > 100)
      program.bind({ w: floats([], () => 2), elsewhere: floats([1]) })
      for (const [batch, time] of [
        [1, 3],
        [4, 2],
      ]) {
        const mean = (batch * time - 1) / 2
        const result = await program.run({ x: floats([batch, time]) })
        assert.deepEqual([...result.loss.data], [2 * mean])
        assert.deepEqual([...result.w.data], [mean])
      }
      await program.close()
    })

    it('refuses wrong feeds, saying which', async () => {
      const graph = createGraph()
      const x = graph.input('x', ['batch', 3])
      const y = graph.input('y', ['batch'])
      const program = await compile(graph, { outputs: { z: ops.add(ops.sum(x, { axes: [1] }), y) }, inline })
      await assert.rejects(program.run({ x: floats([1, 3]) }), fails('usage', 'y float32 [batch]'))
      await assert.rejects(
        program.run({ x: floats([1, 4]), y: floats([1]) }),
        fails('shape', "'x'", '[1, 4]', '[batch, 3]'),
      )
      await assert.rejects(
        program.run({ x: floats([2, 3]), y: floats([1]) }),
        fails('shape', "'batch'", '2', "'y'", '1'),
      )
      await assert.rejects(
        program.run({ x: { data: new Float32Array(2), shape: [1, 3] }, y: floats([1]) }),
        fails('shape', '2 elements'),
      )
      await assert.rejects(
        program.run({ x: { data: new Int32Array(3), shape: [1, 3] }, y: floats([1]) }),
        fails('shape', 'int32'),
      )
      await assert.rejects(program.run({ q: floats([1]) }), fails('usage', "'q'", 'x, y'))
      // and goes on afterwards
      const { z } = await program.run({ x: floats([1, 3]), y: floats([1], () => 1) })
      assert.deepEqual([...z.data], [4])
      await program.close()
    })

    it('reads views of larger buffers', async () => {
      const graph = createGraph()
      const program = await compile(graph, { outputs: { y: ops.mul(graph.input('x', ['n']), 2) }, inline })
      const { y } = await program.run({ x: { data: Float32Array.of(1, 2, 3, 4, 5).subarray(2, 4), shape: [2] } })
      assert.deepEqual([...y.data], [6, 8])
      await program.close()
    })

    it('answers overlapping runs in order', async () => {
      const graph = createGraph()
      const program = await compile(graph, { outputs: { y: ops.mul(graph.input('x', []), 2) }, inline })
      const results = await Promise.all([1, 2, 3].map((x) => program.run({ x: floats([], () => x) })))
      assert.deepEqual(
        results.map(({ y }) => y.data[0]),
        [2, 4, 6],
      )
      await program.close()
    })

    it('tells when a dimension cannot be known', async () => {
      const graph = createGraph()
      const x = graph.input('x', ['a*b'])
      const y = ops.reshape(x, ['a', 'b'])
      await assert.rejects(compile(graph, { outputs: { y }, inline }), fails('shape', "'a'"))
    })
  })
}

describe('binding', () => {
  it('reads an array in place when inline: an optimizer step is seen by the next run', async () => {
    const graph = createGraph()
    const program = await compile(graph, { outputs: { y: ops.mul(graph.parameter('w', [2]), 1.5) }, inline: true })
    const w = floats([2])
    program.bind({ w })
    w.data[0] = 4
    assert.deepEqual([...(await program.run()).y.data], [6, 1.5])
    await program.close()
  })

  it('copies for a worker thread, and tells a wrong value at the next run', async () => {
    const graph = createGraph()
    const program = await compile(graph, { outputs: { y: ops.mul(graph.parameter('w', [2]), 2) } })
    const w = floats([2])
    program.bind({ w })
    w.data[0] = 4
    assert.deepEqual([...(await program.run()).y.data], [0, 2])
    program.bind({ w: floats([3]) })
    await assert.rejects(program.run(), fails('shape', "'w'", '[3]', '[2]'))
    await program.close()
  })
})

describe('devices', () => {
  for (const device of devices.filter((name) => name !== 'cpu')) {
    it(`${device} runs, or fails with a clear message`, async () => {
      const graph = createGraph()
      const outputs = { y: ops.exp(graph.input('x', [2])) }
      try {
        const program = await compile(graph, { outputs, device, inline: true })
        const { y } = await program.run({ x: floats([2]) })
        assert.ok(Math.abs(Number(y.data[1]) - Math.E) < 1e-4)
        await program.close()
      } catch (error) {
        fails('device', `'${device}'`)(error)
      }
    })
  }

  it('unknown names are refused', async () => {
    const graph = createGraph()
    const options = { outputs: { y: ops.exp(graph.input('x', [2])) }, device: 'gpu' as 'cpu' }
    await assert.rejects(compile(graph, options), fails('device', "'gpu'", 'cpu, cuda, webgpu'))
  })
})

/** The longest time between two ticks of a 2 ms timer, from `start` to `stop`. */
function longestGap(): { start(): void; stop(): number } {
  let longest = 0
  let last = 0
  let timer: NodeJS.Timeout | undefined
  const tick = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  return {
    start: () => {
      longest = 0
      last = performance.now()
      timer = setInterval(tick, 2)
    },
    stop: () => {
      tick()
      clearInterval(timer)
      return longest
    },
  }
}

describe('the main thread', () => {
  it('stays free for others while a big program runs in its worker', async () => {
    const graph = createGraph()
    let x = graph.input('x', [512, 512])
    for (let i = 0; i < 80; i++) x = ops.tanh(ops.matmul(x, ops.add(x, i)))
    const program = await compile(graph, { outputs: { y: ops.sum(x) } })
    const feed = { x: floats([512, 512], (i) => (i % 7) / 1000) }
    // A thread that has nothing to do with the program tells how long a busy machine holds up any thread.
    const source = `const { parentPort } = require('node:worker_threads'); const gap = (${longestGap.toString()})();
      parentPort.on('message', (stop) => stop ? parentPort.postMessage(gap.stop()) : (gap.start(), parentPort.postMessage(0)))`
    const witness = new Worker(source, { eval: true })
    const ask = async (stop: boolean): Promise<number> => {
      const answer = once(witness, 'message')
      witness.postMessage(stop)
      return (await answer)[0] as number
    }
    const gap = longestGap()
    let least = Infinity
    for (let attempt = 0; attempt < 10 && least >= 50; attempt++) {
      await ask(false)
      const start = performance.now()
      gap.start()
      await program.run(feed)
      const longest = gap.stop()
      const elapsed = performance.now() - start
      assert.ok(elapsed > 60, `the program took ${elapsed.toFixed(0)} ms: too short to tell`)
      least = Math.min(least, longest - (await ask(true)))
    }
    await witness.terminate()
    await program.close()
    assert.ok(
      least < 50,
      `in every run the main thread was held up ${least.toFixed(0)} ms longer than another, or more`,
    )
  })
})

describe('constants', () => {
  it('are part of the program, large ones too, and no inputs of it', async () => {
    const graph = createGraph()
    const x = graph.input('x', ['n', 160])
    const w = graph.parameter('w', [160, 160])
    const b = graph.parameter('b', [160])
    const y = ops.add(ops.matmul(x, w, { transposeB: true }), b)
    const fed = { x: floats([2, 160], (i) => (i % 7) - 3) }
    const weights = { w: floats([160, 160], (i) => (i % 11) - 5), b: floats([160]) }
    const plain = await compile(graph, { outputs: { y }, inline: true })
    const expected = (await plain.run({ ...fed, ...weights })).y
    for (const inline of [true, false]) {
      const program = await compile(graph, { outputs: { y }, inline, constants: { ...weights, other: floats([1]) } })
      assert.deepEqual(
        program.inputs.map(({ name }) => name),
        ['x'],
      )
      assert.deepEqual((await program.run(fed)).y, expected)
      await program.close()
    }
    await plain.close()
    const wrong = compile(graph, { outputs: { y }, inline: true, constants: { b: floats([3]) } })
    await assert.rejects(wrong, fails('shape', "constant 'b'", 'float32 [3]', 'float32 [160]'))
  })
})

describe('few rows', () => {
  it('gives the same products the other way round', async () => {
    const graph = createGraph()
    const x = graph.input('x', ['n', 3])
    const y = ops.matmul(
      ops.matmul(x, graph.parameter('w', [5, 3]), { transposeB: true, alpha: 2 }),
      graph.parameter('v', [5, 2]),
    )
    const feeds = { x: floats([2, 3]), w: floats([5, 3]), v: floats([5, 2]) }
    const results = []
    for (const fewRows of [false, true]) {
      const program = await compile(graph, { outputs: { y }, inline: true, fewRows })
      results.push((await program.run(feeds)).y)
      await program.close()
    }
    assert.deepEqual(results[0], results[1])
  })
})
