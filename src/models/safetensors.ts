import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { narrowHalf, widenBrain, widenHalf } from './half.js'

/** A named array as stored: shape and float32 values (other float types are widened on reading). */
export interface NamedTensor {
  shape: number[]
  data: Float32Array
}

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.number().int().nonnegative()),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]),
})

const bytesPerElement: Record<string, number> = { F32: 4, F16: 2, BF16: 2 }

/**
 * Reads a safetensors file (https://github.com/huggingface/safetensors: 8 bytes header length, JSON header, data).
 *
 * @returns every tensor as float32, and the header's metadata
 * @throws MyriadError 'checkpoint' that names the file, and the tensor where one is at fault
 */
export function readSafetensors(file: string): {
  tensors: Record<string, NamedTensor>
  metadata: Record<string, string>
} {
  const damaged = (why: string, cause?: unknown): MyriadError =>
    new MyriadError('checkpoint', `${file} is damaged: ${why}; fetch or write it again`, { cause })
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}`, { cause: error })
  }
  if (bytes.length < 8) throw damaged(`it has ${bytes.length} bytes, a header needs at least 8`)
  const headerLength = Number(bytes.readBigUInt64LE(0))
  if (headerLength > bytes.length - 8)
    throw damaged(`its header claims ${headerLength} bytes, the file has ${bytes.length}`)
  let header: Record<string, unknown>
  try {
    header = z.record(z.string(), z.unknown()).parse(JSON.parse(bytes.toString('utf8', 8, 8 + headerLength)))
  } catch (error) {
    throw damaged('its header is not JSON', error)
  }
  const data = bytes.subarray(8 + headerLength)
  const tensors: Record<string, NamedTensor> = {}
  let metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(header)) {
    if (name === '__metadata__') {
      metadata = z.record(z.string(), z.string()).catch({}).parse(value)
      continue
    }
    const entry = entrySchema.safeParse(value)
    if (!entry.success) throw damaged(`tensor "${name}" has no valid dtype, shape and data_offsets`)
    const { dtype, shape } = entry.data
    const [begin, end] = entry.data.data_offsets
    const width = bytesPerElement[dtype]
    if (width === undefined)
      throw new MyriadError('checkpoint', `${file}: tensor "${name}" has type ${dtype}; read are F32, F16 and BF16`)
    const count = shape.reduce((a, b) => a * b, 1)
    if (end - begin !== count * width)
      throw damaged(`tensor "${name}" [${shape}] needs ${count * width} bytes, its offsets span ${end - begin}`)
    if (end > data.length)
      throw damaged(`tensor "${name}" ends at byte ${end} of ${data.length}: the file was cut short`)
    tensors[name] = { shape, data: widen(data.subarray(begin, end), dtype, count) }
  }
  return { tensors, metadata }
}

/**
 * Writes a safetensors file and flushes it to disk. Values are float32 unless `dtype` is 'F16'.
 *
 * @throws MyriadError 'io' when the disk is full or the folder cannot be written
 */
export function writeSafetensors(
  file: string,
  tensors: Record<string, NamedTensor>,
  options: { dtype?: 'F32' | 'F16'; metadata?: Record<string, string> } = {},
): void {
  const dtype = options.dtype ?? 'F32'
  const width = bytesPerElement[dtype]
  const header: Record<string, unknown> = { __metadata__: { format: 'pt', ...options.metadata } }
  let offset = 0
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.length * width] }
    offset += data.length * width
  }
  const json = Buffer.from(JSON.stringify(header))
  const padding = (8 - (json.length % 8)) % 8
  const prefix = Buffer.alloc(8 + json.length + padding, 0x20)
  prefix.writeBigUInt64LE(BigInt(json.length + padding), 0)
  json.copy(prefix, 8)
  try {
    const descriptor = openSync(file, 'w')
    try {
      writeAll(descriptor, prefix)
      for (const { data } of Object.values(tensors)) {
        const source = dtype === 'F16' ? narrow(data) : data
        writeAll(descriptor, new Uint8Array(source.buffer, source.byteOffset, source.byteLength))
      }
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new MyriadError('io', `cannot write ${file}: free some space or choose another folder`, { cause: error })
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written)
}

function widen(bytes: Uint8Array, dtype: string, count: number): Float32Array {
  const copy = new Uint8Array(bytes) // not slice: a Buffer slices without copying, and its offset may be odd
  if (dtype === 'F32') return new Float32Array(copy.buffer, 0, count)
  const result = new Float32Array(count)
  const halves = new Uint16Array(copy.buffer, 0, count)
  if (dtype === 'BF16') widenBrain(halves, result)
  else widenHalf(halves, result)
  return result
}

function narrow(values: Float32Array): Uint16Array {
  const result = new Uint16Array(values.length)
  narrowHalf(values, result)
  return result
}
