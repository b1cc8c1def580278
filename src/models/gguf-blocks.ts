import { halfToFloat, widenBrain, widenHalf } from './half.js'

/**
 * The storage formats of GGUF tensors: a row of values is cut into blocks, and a block holds small integers with the scale
 * (and least value) that they share. Formats and their bit layouts are those of ggml
 * (https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h); in the K formats 256 values form a block whose
 * sub-blocks have scales of their own.
 */
export interface BlockFormat {
  name: string
  /** Values in one block. */
  values: number
  /** Bytes of one block. */
  bytes: number
  /** Widens whole blocks to float32 into `target` from `at` on. `source` begins at a multiple of 4 bytes in its buffer. */
  read(source: Uint8Array, target: Float32Array, at: number): void
}

/** By ggml's number of the type. */
export const blockFormats: Readonly<Record<number, BlockFormat>> = {
  0: {
    name: 'F32',
    values: 1,
    bytes: 4,
    read: (source, target, at) => target.set(new Float32Array(source.buffer, source.byteOffset, source.length / 4), at),
  },
  1: {
    name: 'F16',
    values: 1,
    bytes: 2,
    read: (source, target, at) =>
      widenHalf(new Uint16Array(source.buffer, source.byteOffset, source.length / 2), target, at),
  },
  30: {
    name: 'BF16',
    values: 1,
    bytes: 2,
    read: (source, target, at) =>
      widenBrain(new Uint16Array(source.buffer, source.byteOffset, source.length / 2), target, at),
  },
  // scale, 32 nibbles around 8: the low ones are the first 16 values
  2: format('Q4_0', 32, 18, (b, o, y, at) => {
    const d = half(b, o)
    for (let i = 0; i < 16; i++) {
      const q = b[o + 2 + i]
      y[at + i] = d * ((q & 15) - 8)
      y[at + 16 + i] = d * ((q >> 4) - 8)
    }
  }),
  // scale, least value, nibbles
  3: format('Q4_1', 32, 20, (b, o, y, at) => {
    const d = half(b, o)
    const m = half(b, o + 2)
    for (let i = 0; i < 16; i++) {
      const q = b[o + 4 + i]
      y[at + i] = d * (q & 15) + m
      y[at + 16 + i] = d * (q >> 4) + m
    }
  }),
  // as Q4_0 around 16, with the fifth bits of all 32 values in between
  6: format('Q5_0', 32, 22, (b, o, y, at) => {
    const d = half(b, o)
    for (let i = 0; i < 16; i++) {
      const q = b[o + 6 + i]
      y[at + i] = d * (((q & 15) | (bit(b, o + 2, i) << 4)) - 16)
      y[at + 16 + i] = d * (((q >> 4) | (bit(b, o + 2, 16 + i) << 4)) - 16)
    }
  }),
  7: format('Q5_1', 32, 24, (b, o, y, at) => {
    const d = half(b, o)
    const m = half(b, o + 2)
    for (let i = 0; i < 16; i++) {
      const q = b[o + 8 + i]
      y[at + i] = d * ((q & 15) | (bit(b, o + 4, i) << 4)) + m
      y[at + 16 + i] = d * ((q >> 4) | (bit(b, o + 4, 16 + i) << 4)) + m
    }
  }),
  8: format('Q8_0', 32, 34, (b, o, y, at) => {
    const d = half(b, o)
    for (let i = 0; i < 32; i++) y[at + i] = d * signed(b[o + 2 + i])
  }),
  // 16 bytes of scale and least value (4 bits each) for 16 values, 64 bytes of quarters, then the scales of those
  10: format('Q2_K', 256, 84, (b, o, y, at) => {
    const d = half(b, o + 80)
    const dMin = half(b, o + 82)
    for (let i = 0; i < 256; i++) {
      const scale = b[o + (i >> 4)]
      y[at + i] = d * (scale & 15) * quarter(b, o + 16, i) - dMin * (scale >> 4)
    }
  }),
  // third bits (set: 0, clear: -4), quarters, 16 scales of 6 bits around 32, their scale
  11: format('Q3_K', 256, 110, (b, o, y, at) => {
    const d = half(b, o + 108)
    for (let group = 0; group < 16; group++) {
      const low = group < 8 ? b[o + 96 + group] & 15 : b[o + 88 + group] >> 4
      const high = (b[o + 104 + (group & 3)] >> (2 * (group >> 2))) & 3
      const scale = d * ((low | (high << 4)) - 32)
      for (let i = group * 16; i < group * 16 + 16; i++) {
        const third = (b[o + (i & 31)] >> (i >> 5)) & 1
        y[at + i] = scale * (quarter(b, o + 32, i) - (third ? 0 : 4))
      }
    }
  }),
  // scale and scale of the least values, 8 of each in 6 bits, nibbles
  12: format('Q4_K', 256, 144, (b, o, y, at) => {
    const d = half(b, o)
    const dMin = half(b, o + 2)
    for (let group = 0; group < 8; group++) {
      const scale = d * scaleOf(b, o + 4, group)
      const least = dMin * leastOf(b, o + 4, group)
      const from = o + 16 + (group >> 1) * 32
      const shift = (group & 1) * 4
      for (let i = 0; i < 32; i++) y[at + group * 32 + i] = scale * ((b[from + i] >> shift) & 15) - least
    }
  }),
  // as Q4_K with fifth bits, one byte for the values that are 32 apart
  13: format('Q5_K', 256, 176, (b, o, y, at) => {
    const d = half(b, o)
    const dMin = half(b, o + 2)
    for (let group = 0; group < 8; group++) {
      const scale = d * scaleOf(b, o + 4, group)
      const least = dMin * leastOf(b, o + 4, group)
      const from = o + 48 + (group >> 1) * 32
      const shift = (group & 1) * 4
      for (let i = 0; i < 32; i++) {
        const q = ((b[from + i] >> shift) & 15) | (((b[o + 16 + i] >> group) & 1) << 4)
        y[at + group * 32 + i] = scale * q - least
      }
    }
  }),
  // low nibbles, upper quarters, 16 scales of 8 bits, their scale
  14: format('Q6_K', 256, 210, (b, o, y, at) => {
    const d = half(b, o + 208)
    for (let i = 0; i < 256; i++) {
      const low = (b[o + (i >> 7) * 64 + (i & 63)] >> (((i >> 6) & 1) * 4)) & 15
      const q = (low | (quarter(b, o + 128, i) << 4)) - 32
      y[at + i] = d * signed(b[o + 192 + (i >> 4)]) * q
    }
  }),
}

type ReadBlock = (source: Uint8Array, offset: number, target: Float32Array, at: number) => void

function format(name: string, values: number, bytes: number, readBlock: ReadBlock): BlockFormat {
  return {
    name,
    values,
    bytes,
    read(source, target, at) {
      for (let offset = 0; offset + bytes <= source.length; offset += bytes, at += values)
        readBlock(source, offset, target, at)
    },
  }
}

function half(bytes: Uint8Array, offset: number): number {
  return halfToFloat(bytes[offset] | (bytes[offset + 1] << 8))
}

function bit(bytes: Uint8Array, offset: number, index: number): number {
  return (bytes[offset + (index >> 3)] >> (index & 7)) & 1
}

function signed(byte: number): number {
  return (byte << 24) >> 24
}

/** The two bits of value `i` of 256: each half of them in 32 bytes, of which one byte holds values that are 32 apart. */
function quarter(bytes: Uint8Array, offset: number, i: number): number {
  return (bytes[offset + (i >> 7) * 32 + (i & 31)] >> (2 * ((i >> 5) & 3))) & 3
}

/** Eight scales and eight least values of 6 bits in 12 bytes; the later four are split over two bytes. */
function scaleOf(b: Uint8Array, o: number, group: number): number {
  return group < 4 ? b[o + group] & 63 : (b[o + 4 + group] & 15) | ((b[o + group - 4] >> 6) << 4)
}

function leastOf(b: Uint8Array, o: number, group: number): number {
  return group < 4 ? b[o + 4 + group] & 63 : (b[o + 4 + group] >> 4) | ((b[o + group] >> 6) << 4)
}
