import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { add, blockLength, compileLoop, div, mul, sqrt, sub } from './simd.js'

describe('compileLoop', () => {
  it('computes a formula element by element, as float32 arithmetic does', () => {
    const loop = compileLoop(3, 2, ({ load, scalar, keep, store }) => {
      const product = keep(mul(load(0), scalar(0)))
      store(1, sub(div(product, sqrt(load(1))), scalar(1)))
      store(2, add(product, product))
    })
    const a = Float32Array.from({ length: blockLength }, (_, i) => Math.sin(i))
    const b = Float32Array.from({ length: blockLength }, (_, i) => 1 + (i % 17))
    loop.blocks[0].set(a)
    loop.blocks[1].set(b)
    loop.run(blockLength, 0.3, 2)
    const { fround } = Math
    for (let i = 0; i < blockLength; i++) {
      const product = fround(a[i] * fround(0.3))
      assert.equal(loop.blocks[1][i], fround(fround(product / fround(Math.sqrt(b[i]))) - 2))
      assert.equal(loop.blocks[2][i], fround(2 * product))
    }
  })

  it('runs over four elements at least as many as asked, and none for none', () => {
    const loop = compileLoop(1, 1, ({ load, scalar, store }) => store(0, add(load(0), scalar(0))))
    loop.run(0, 1)
    assert.deepEqual([...loop.blocks[0].subarray(0, 8)], [0, 0, 0, 0, 0, 0, 0, 0])
    loop.run(5, 1)
    assert.deepEqual([...loop.blocks[0].subarray(0, 9)], [1, 1, 1, 1, 1, 1, 1, 1, 0])
  })
})
