import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom, MyriadError } from '../core/index.js'
import { createGraph } from './graph.js'
import * as ops from './ops/index.js'
import { compile } from './program.js'
import { quantizeBlocks, quantizeColumns } from './quantize.js'

const random = createRandom(3)
const floats = (size: number): Float32Array => Float32Array.from({ length: size }, () => random.normal())

/** x wᵀ in float64. */
function product(x: Float32Array, w: ArrayLike<number>, rows: number, width: number, out: number): number[] {
  return Array.from({ length: rows * out }, (_, at) => {
    let sum = 0
    for (let i = 0; i < width; i++) sum += x[Math.floor(at / out) * width + i] * w[(at % out) * width + i]
    return sum
  })
}

function relativeError(actual: ArrayLike<number>, expected: readonly number[]): number {
  const total = (values: readonly number[]): number => Math.sqrt(values.reduce((sum, v) => sum + v * v, 0))
  return total(expected.map((value, i) => actual[i] - value)) / total(expected)
}

describe('weights of few bits', () => {
  const rows = 5
  // A last block that is not whole, and an odd number of columns.
  for (const [out, width] of [
    [7, 64],
    [6, 75],
  ] as const) {
    for (const [bits, limit] of [
      [8, 0.01],
      [4, 0.12],
    ] as const) {
      for (const bake of [true, false]) {
        it(`${bits} bits in blocks, ${out} by ${width}, ${bake ? 'constant' : 'bound'}: the product of the rounded weights, near that of the true ones`, async () => {
          const blockSize = 32
          const weight = floats(out * width)
          const x = floats(rows * width)
          const { packed, scales } = quantizeBlocks(weight, [out, width], { bits, blockSize })
          const graph = createGraph()
          const y = ops.matmulNBits(
            graph.input('x', ['n', width]),
            graph.input('packed', packed.shape, 'uint8'),
            graph.input('scales', scales.shape),
            { in: width, out, bits, blockSize, accuracyLevel: 0 },
          )
          const stored = { packed, scales }
          const program = await compile(graph, { outputs: { y }, inline: true, constants: bake ? stored : {} })
          assert.deepEqual(
            program.inputs.map(({ name }) => name),
            bake ? ['x'] : ['x', 'packed', 'scales'],
          )
          if (!bake) program.bind(stored)
          const result = (await program.run({ x: { data: x, shape: [rows, width] } })).y.data as Float32Array
          await program.close()

          const blocks = Math.ceil(width / blockSize)
          const rounded = Float64Array.from(weight, (_, at) => {
            const [row, column] = [Math.floor(at / width), at % width]
            const block = row * blocks + Math.floor(column / blockSize)
            const place = column % blockSize
            const byte = Number(packed.data[(block * blockSize * bits) / 8 + Math.floor((place * bits) / 8)])
            const level = bits === 8 ? byte - 128 : (place % 2 ? byte >> 4 : byte & 15) - 8
            return level * Number(scales.data[block])
          })
          assert.ok(relativeError(result, product(x, rounded, rows, width, out)) < 1e-5)
          assert.ok(relativeError(result, product(x, weight, rows, width, out)) < limit)
        })
      }
    }

    it(`8 bits a column, ${out} by ${width}: near the product`, async () => {
      const weight = floats(out * width)
      const x = floats(rows * width)
      const { packed, scales, zeros } = quantizeColumns(weight, [out, width])
      const graph = createGraph()
      const y = ops.matmulInt8(
        graph.input('x', ['n', width]),
        graph.input('packed', packed.shape, 'uint8'),
        graph.input('scales', scales.shape),
        graph.input('zeros', zeros.shape, 'uint8'),
      )
      const program = await compile(graph, { outputs: { y }, inline: true })
      const result = await program.run({ x: { data: x, shape: [rows, width] }, packed, scales, zeros })
      await program.close()
      assert.ok(relativeError(result.y.data as Float32Array, product(x, weight, rows, width, out)) < 0.02)
    })
  }

  it('rounds to the nearest level, and zero to zero', () => {
    const eight = quantizeBlocks(Float32Array.of(-1, 0.5, 0, 0.997), [1, 4], { bits: 8, blockSize: 16 })
    assert.deepEqual(Array.from(eight.packed.data.slice(0, 5), Number), [0, 192, 128, 255, 128])
    const four = quantizeBlocks(Float32Array.of(1, -0.5, 0), [1, 3], { bits: 4, blockSize: 16 })
    assert.deepEqual(Array.from(four.packed.data.slice(0, 3), Number), [0xc0, 0x88, 0x88])
    assert.equal(four.scales.data[0], -0.125)
    const none = quantizeColumns(new Float32Array(4), [2, 2])
    assert.deepEqual([...none.packed.data], [128, 128, 128, 128])
  })

  it('says what does not fit', () => {
    assert.throws(
      () => quantizeBlocks(new Float32Array(5), [2, 3], { bits: 8, blockSize: 32 }),
      (error) => error instanceof MyriadError && error.message.includes('5 elements do not fill [2, 3]'),
    )
    assert.throws(
      () => quantizeBlocks(new Float32Array(6), [2, 3], { bits: 8, blockSize: 33 }),
      (error) => error instanceof MyriadError && error.code === 'usage',
    )
  })
})
