/** Products by weights in 8 or 4 bits, for inference: they have no derivative. See ../quantize.ts for the packing. */
import { MyriadError } from '../../core/index.js'
import { describe, operation, requireType, shapeError } from '../operation.js'
import type { Tensor } from '../types.js'

export interface MatmulNBitsOptions {
  /** Columns of the weight. */
  in: number
  /** Rows of the weight: the width of the product. */
  out: number
  bits: 8 | 4
  /** Weights that share a scale: 16, 32, 64, 128 or 256. */
  blockSize: number
  /**
   * 4 unless given: x too is rounded to 8 bits, each block of each row with a scale of its own, which is several times faster.
   * 0: x stays float32, and weights are unpacked first.
   */
  accuracyLevel?: 0 | 4
}

type NBitsAttributes = { in: number; out: number; bits: number; blockSize: number; accuracyLevel: number }

export const matmulNBitsOperation = operation<NBitsAttributes>({
  name: 'matmulNBits',
  infer: ([x, packed, scales], attributes) => {
    const { in: width, out, bits, blockSize } = attributes
    if ((bits !== 8 && bits !== 4) || ![16, 32, 64, 128, 256].includes(blockSize)) {
      throw new MyriadError('usage', `matmulNBits: bits must be 8 or 4, and blockSize 16, 32, 64, 128 or 256`)
    }
    requireType('matmulNBits', 'x', x, 'float32')
    requireType('matmulNBits', 'packed', packed, 'uint8')
    requireType('matmulNBits', 'scales', scales, 'float32')
    const blocks = Math.ceil(width / blockSize)
    const expected = [out, blocks, (blockSize * bits) / 8].join()
    if (x.shape.at(-1) !== width || packed.shape.join() !== expected || scales.shape.join() !== String(out * blocks)) {
      throw shapeError(
        'matmulNBits',
        `${describe('x', x)}, ${describe('packed', packed)}, ${describe('scales', scales)}, but must be [..., ${width}], [${expected}], [${out * blocks}]`,
      )
    }
    return [{ shape: [...x.shape.slice(0, -1), out], dtype: 'float32' }]
  },
  lower: (context, { names, attributes }) =>
    context.emit(
      'MatMulNBits',
      names,
      {
        K: { int: attributes.in },
        N: { int: attributes.out },
        bits: { int: attributes.bits },
        block_size: { int: attributes.blockSize },
        accuracy_level: { int: attributes.accuracyLevel },
      },
      { domain: 'com.microsoft' },
    ),
})

/**
 * x weightᵀ with the weight in blocks of 8 or 4 bits: x [..., in] gives [..., out]. `packed` and `scales` are made by
 * `quantizeBlocks`; compile them as `constants`, for without that each run unpacks them anew.
 */
export function matmulNBits(x: Tensor, packed: Tensor, scales: Tensor, options: MatmulNBitsOptions): Tensor {
  return x.graph.apply(matmulNBitsOperation, [x, packed, scales], { accuracyLevel: 4, ...options })[0]
}

export const matmulInt8Operation = operation<Record<never, never>>({
  name: 'matmulInt8',
  infer: ([x, packed, scales, zeros]) => {
    requireType('matmulInt8', 'x', x, 'float32')
    requireType('matmulInt8', 'packed', packed, 'uint8')
    requireType('matmulInt8', 'scales', scales, 'float32')
    requireType('matmulInt8', 'zeros', zeros, 'uint8')
    const [width, out] = packed.shape
    const vectors = [scales, zeros].every(({ shape }) => shape.length === 1 && shape[0] === out)
    if (packed.shape.length !== 2 || x.shape.at(-1) !== width || !vectors) {
      throw shapeError(
        'matmulInt8',
        `${describe('x', x)}, ${describe('packed', packed)}, ${describe('scales', scales)}, ${describe('zeros', zeros)}, but must be [..., in], [in, out], [out], [out]`,
      )
    }
    return [{ shape: [...x.shape.slice(0, -1), out], dtype: 'float32' }]
  },
  lower: (context, { names }) => context.emit('DynamicQuantizeMatMul', names, {}, { domain: 'com.microsoft' }),
})

/**
 * x weightᵀ in 8-bit integers: x [..., in] gives [..., out]. Each column of the product has a scale; all of x has one, found as
 * the program runs, so that a single large element coarsens the rest. `packed`, `scales` and `zeros` are made by
 * `quantizeColumns`. The fastest product of a few rows, as constants most of all, but also where they are bound.
 */
export function matmulInt8(x: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor): Tensor {
  return x.graph.apply(matmulInt8Operation, [x, packed, scales, zeros], {})[0]
}
