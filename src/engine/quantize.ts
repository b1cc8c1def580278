/** Weights in 8 or 4 bits, as the operations of ops/quantized.ts read them. */
import { MyriadError } from '../core/index.js'
import type { Value } from './types.js'

export interface QuantizedBlocks {
  /** uint8 [out, blocks, blockSize * bits / 8]; two 4-bit weights a byte, the first in the low half. */
  packed: Value
  /** float32 [out * blocks]. */
  scales: Value
}

/**
 * Rounds a weight [out, in] in blocks along its rows: each block has a scale, and zero is in the middle (128 or 8). The layout
 * of ONNX Runtime's MatMulNBits.
 *
 * @param blockSize 16 to 256; the last block of a row is filled up with zeros
 * @throws MyriadError `usage` for other sizes
 * @example const { packed, scales } = quantizeBlocks(weights['lm_head.weight'], [49152, 576], { bits: 8, blockSize: 64 })
 */
export function quantizeBlocks(
  weight: Float32Array,
  [out, width]: readonly [number, number],
  { bits, blockSize }: { bits: 8 | 4; blockSize: number },
): QuantizedBlocks {
  checkSize(weight, out, width)
  if ((bits !== 8 && bits !== 4) || ![16, 32, 64, 128, 256].includes(blockSize)) {
    throw new MyriadError('usage', `quantizeBlocks: bits must be 8 or 4, and blockSize 16, 32, 64, 128 or 256`)
  }
  const blocks = Math.ceil(width / blockSize)
  const bytes = (blockSize * bits) / 8
  const scales = new Float32Array(out * blocks)
  const middle = 2 ** (bits - 1)
  const packed = new Uint8Array(out * blocks * bytes).fill(bits === 8 ? 0x80 : 0x88)
  for (let block = 0; block < out * blocks; block++) {
    const column = (block % blocks) * blockSize
    const start = Math.floor(block / blocks) * width + column
    const end = start + Math.min(blockSize, width - column)
    let low = 0
    let high = 0
    for (let i = start; i < end; i++) {
      const value = weight[i]
      if (value < low) low = value
      if (value > high) high = value
    }
    const largest = high > -low ? high : low
    // The largest weight is stored as the least number, which has no positive counterpart: all levels are used.
    const scale = -largest / middle
    scales[block] = scale
    const inverse = scale === 0 ? 0 : 1 / scale
    let at = block * bytes
    if (bits === 8) {
      for (let i = start; i < end; i++) packed[at++] = Math.min(255, (weight[i] * inverse + 128.5) | 0)
    } else {
      for (let i = start; i < end; i += 2) {
        const even = Math.min(15, (weight[i] * inverse + 8.5) | 0)
        const odd = i + 1 < end ? Math.min(15, (weight[i + 1] * inverse + 8.5) | 0) : 8
        packed[at++] = even | (odd << 4)
      }
    }
  }
  return {
    packed: { data: packed, shape: [out, blocks, bytes] },
    scales: { data: scales, shape: [out * blocks] },
  }
}

export interface QuantizedColumns {
  /** uint8 [in, out]: transposed. */
  packed: Value
  /** float32 [out]. */
  scales: Value
  /** uint8 [out]: 128 everywhere. */
  zeros: Value
}

/** Rounds a weight [out, in] to 8 bits, each row with a scale, and transposes it, for `matmulInt8`. */
export function quantizeColumns(weight: Float32Array, [out, width]: readonly [number, number]): QuantizedColumns {
  checkSize(weight, out, width)
  const scales = new Float32Array(out)
  const packed = new Uint8Array(width * out)
  // Blocks of rows, so that the transposed writes fall into lines of memory that are still near.
  const together = 64
  const inverse = new Float64Array(together)
  for (let first = 0; first < out; first += together) {
    const last = Math.min(first + together, out)
    for (let row = first; row < last; row++) {
      let largest = 0
      for (let i = row * width; i < (row + 1) * width; i++) largest = Math.max(largest, Math.abs(weight[i]))
      scales[row] = largest / 127
      inverse[row - first] = largest === 0 ? 0 : 127 / largest
    }
    for (let column = 0; column < width; column++) {
      for (let row = first; row < last; row++) {
        packed[column * out + row] = (weight[row * width + column] * inverse[row - first] + 128.5) | 0
      }
    }
  }
  return {
    packed: { data: packed, shape: [width, out] },
    scales: { data: scales, shape: [out] },
    zeros: { data: new Uint8Array(out).fill(128), shape: [out] },
  }
}

function checkSize(weight: Float32Array, out: number, width: number): void {
  if (weight.length === out * width) return
  throw new MyriadError('shape', `quantize: ${weight.length} elements do not fill [${out}, ${width}]`)
}
