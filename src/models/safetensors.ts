import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { narrowBrain, narrowHalf, widenBrain, widenHalf } from './half.js'

/** A named array as stored: shape and float32 values (other float types are widened on reading). */
export interface NamedTensor {
  shape: number[]
  data: Float32Array
}

/** The types that values may be stored in: single precision, half precision, bfloat16. */
export type StoredType = 'F32' | 'F16' | 'BF16'

/** Where a tensor lies in a safetensors file. */
export interface StoredTensor {
  dtype: string
  shape: number[]
  /** Of its first byte in the file. */
  position: number
  bytes: number
}

/** The header of a safetensors file: what it holds, nothing of it read yet. */
export interface SafetensorsHeader {
  file: string
  tensors: Readonly<Record<string, StoredTensor>>
  metadata: Readonly<Record<string, string>>
}

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.number().int().nonnegative()),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]),
})

const storedTypes: Record<StoredType, number> = { F32: 4, F16: 2, BF16: 2 }
/** Types that are stored but not read: their sizes are checked like any other's. */
const otherTypes: Record<string, number> = {
  F64: 8,
  I64: 8,
  U64: 8,
  I32: 4,
  U32: 4,
  I16: 2,
  U16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
}
/** How messages about damaged files end; what reads a file that can be done without says otherwise. */
export const damageAdvice = '; fetch or write it again'
// Read and widened, or narrowed and written, at a time.
const chunkValues = 1 << 19
// No header of a real model comes near (the reference implementation has the same limit).
const longestHeader = 100e6

/**
 * Reads the header of a safetensors file (https://github.com/huggingface/safetensors: 8 bytes header length, JSON header,
 * data) and checks that it and the file's size agree.
 *
 * @throws MyriadError 'checkpoint' that names the file, and the tensor where one is at fault
 */
export function readSafetensorsHeader(file: string): SafetensorsHeader {
  return withFile(file, (descriptor) => {
    const size = fstatSync(descriptor).size
    if (size < 8) throw damaged(file, `it has ${size} bytes, a header needs at least 8`)
    const start = Buffer.alloc(8)
    fill(descriptor, start, 0)
    const length = Number(start.readBigUInt64LE(0))
    if (length > size - 8 || length > longestHeader)
      throw damaged(file, `its header claims ${length} bytes, the file has ${size}`)
    const json = Buffer.alloc(length)
    fill(descriptor, json, 8)
    return parseHeader(file, json, 8 + length, size)
  })
}

function parseHeader(file: string, json: Buffer, dataStart: number, size: number): SafetensorsHeader {
  let header: Record<string, unknown>
  try {
    header = z.record(z.string(), z.unknown()).parse(JSON.parse(json.toString('utf8')))
  } catch (error) {
    throw damaged(file, 'its header is not JSON', error)
  }
  const tensors: Record<string, StoredTensor> = {}
  let metadata: Record<string, string> = {}
  let dataEnd = dataStart
  for (const [name, value] of Object.entries(header)) {
    if (name === '__metadata__') {
      metadata = z.record(z.string(), z.string()).catch({}).parse(value)
      continue
    }
    const entry = entrySchema.safeParse(value)
    if (!entry.success) throw damaged(file, `tensor "${name}" has no valid dtype, shape and data_offsets`)
    const { dtype, shape } = entry.data
    const [begin, end] = entry.data.data_offsets
    const width = storedTypes[dtype as StoredType] ?? otherTypes[dtype]
    const needed = width && shape.reduce((a, b) => a * b, width)
    if (needed !== undefined && end - begin !== needed)
      throw damaged(file, `tensor "${name}" [${shape}] needs ${needed} bytes, its offsets span ${end - begin}`)
    if (dataStart + end > size)
      throw damaged(file, `tensor "${name}" ends at byte ${end} of ${size - dataStart}: the file was cut short`)
    dataEnd = Math.max(dataEnd, dataStart + end)
    tensors[name] = { dtype, shape, position: dataStart + begin, bytes: end - begin }
  }
  if (dataEnd < size) throw damaged(file, `${size - dataEnd} bytes follow its last tensor`)
  return { file, tensors, metadata }
}

/**
 * Reads one tensor as float32, a piece at a time: never are the file's bytes and the values both whole in memory.
 *
 * @throws MyriadError 'checkpoint' for a type that is not read, or a file that changed since its header was read
 */
export function readStoredTensor(header: SafetensorsHeader, name: string): Float32Array {
  const { dtype, shape, position, bytes } = header.tensors[name]
  if (!(dtype in storedTypes))
    throw new MyriadError(
      'checkpoint',
      `${header.file}: tensor "${name}" has type ${dtype}; read are F32, F16 and BF16`,
    )
  const result = new Float32Array(shape.reduce((a, b) => a * b, 1))
  withFile(header.file, (descriptor) => {
    if (dtype === 'F32') return fill(descriptor, new Uint8Array(result.buffer, 0, bytes), position)
    const halves = new Uint16Array(Math.min(result.length, chunkValues))
    const widen = dtype === 'BF16' ? widenBrain : widenHalf
    for (let done = 0; done < result.length; done += chunkValues) {
      const part = halves.subarray(0, Math.min(chunkValues, result.length - done))
      fill(descriptor, new Uint8Array(part.buffer, 0, part.byteLength), position + done * 2)
      widen(part, result, done)
    }
  })
  return result
}

/**
 * Reads a whole safetensors file.
 *
 * @returns every tensor as float32, and the header's metadata
 * @throws MyriadError 'checkpoint' that names the file, and the tensor where one is at fault
 */
export function readSafetensors(file: string): {
  tensors: Record<string, NamedTensor>
  metadata: Readonly<Record<string, string>>
} {
  const header = readSafetensorsHeader(file)
  const tensors: Record<string, NamedTensor> = {}
  for (const [name, { shape }] of Object.entries(header.tensors))
    tensors[name] = { shape, data: readStoredTensor(header, name) }
  return { tensors, metadata: header.metadata }
}

/**
 * Writes a safetensors file and flushes it to disk. Values are float32 unless `dtype` says otherwise (rounded to nearest,
 * ties to even). The header says `{"format": "pt"}`, as transformers asks, and ends on a multiple of 8 bytes.
 *
 * @throws MyriadError 'io' when the disk is full or the folder cannot be written
 */
export function writeSafetensors(
  file: string,
  tensors: Readonly<Record<string, NamedTensor>>,
  options: { dtype?: StoredType; metadata?: Record<string, string> } = {},
): void {
  const dtype = options.dtype ?? 'F32'
  const width = storedTypes[dtype]
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
      for (const { data } of Object.values(tensors)) writeValues(descriptor, data, dtype)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw writeFailure(file, error)
  }
}

/** The error for a file or folder that could not be written. */
export function writeFailure(path: string, error: unknown): MyriadError {
  if (error instanceof MyriadError) return error
  const full = (error as NodeJS.ErrnoException).code === 'ENOSPC'
  const advice = full ? 'the disk is full: free some space' : `${messageOf(error)}; free some space`
  return new MyriadError('io', `cannot write ${path}: ${advice} or choose another folder`, { cause: error })
}

function writeValues(descriptor: number, data: Float32Array, dtype: StoredType): void {
  if (dtype === 'F32') return writeAll(descriptor, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  const halves = new Uint16Array(Math.min(data.length, chunkValues))
  const narrow = dtype === 'BF16' ? narrowBrain : narrowHalf
  for (let done = 0; done < data.length; done += chunkValues) {
    const part = data.subarray(done, done + chunkValues)
    narrow(part, halves)
    writeAll(descriptor, new Uint8Array(halves.buffer, 0, part.length * 2))
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written)
}

function withFile<T>(file: string, use: (descriptor: number) => T): T {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
  try {
    return use(descriptor)
  } catch (error) {
    if (error instanceof MyriadError) throw error
    throw damaged(file, messageOf(error), error)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads exactly as many bytes as `target` has. */
function fill(descriptor: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length;) {
    const read = readSync(descriptor, target, done, target.length - done, position + done)
    if (read === 0) throw new Error(`it ends at byte ${position + done}: it was cut short`)
    done += read
  }
}

function damaged(file: string, why: string, cause?: unknown): MyriadError {
  return new MyriadError('checkpoint', `${file} is damaged: ${why}${damageAdvice}`, { cause })
}
