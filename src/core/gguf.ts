import { openSync, readdirSync, readSync, closeSync, statSync, fstatSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError, messageOf } from './errors.js'

/** A tensor of a GGUF file, as its header describes it. */
export interface GgufTensor {
  name: string
  /** Outermost dimension first, as everywhere in this project (the file has them the other way round). */
  shape: number[]
  /** ggml's number of the storage format. */
  type: number
  /** Where its bytes begin in the file. */
  position: number
}

/** The header of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). It holds a model and its tokenizer. */
export interface GgufHeader {
  file: string
  metadata: { readonly [key: string]: unknown }
  tensors: ReadonlyMap<string, GgufTensor>
}

/**
 * The GGUF file that a path means: the file itself, or the only one in a folder; undefined where there is none.
 *
 * @throws MyriadError 'checkpoint' when a folder holds several
 */
export function findGguf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if (stat.isFile()) return path.endsWith('.gguf') ? path : undefined
  const found = readdirSync(path).filter((name) => name.endsWith('.gguf'))
  if (found.length > 1)
    throw new MyriadError(
      'checkpoint',
      `${path} holds ${found.length} GGUF files; name one: ${found.sort().join(', ')}`,
    )
  return found.length === 1 ? join(path, found[0]) : undefined
}

/**
 * Reads the header of a GGUF file.
 *
 * @throws MyriadError 'checkpoint' when the file is missing, is no GGUF, or was cut short within its header
 */
export async function readGgufHeader(file: string): Promise<GgufHeader> {
  const size = requireMagic(file)
  try {
    // Loaded when needed: most runs never see a GGUF file.
    const { gguf } = await import('@huggingface/gguf')
    const { metadata, tensorInfos, tensorDataOffset, littleEndian } = await gguf(file, { allowLocalFile: true })
    if (!littleEndian) throw new Error('it is written for big-endian machines')
    const start = Number(tensorDataOffset)
    if (start > size) throw new Error(`its header is cut short: it ends at byte ${start}, the file has ${size}`)
    const tensors = tensorInfos.map(({ name, shape, dtype, offset }) => ({
      name,
      shape: shape.map(Number).reverse(),
      type: Number(dtype),
      position: start + Number(offset),
    }))
    return { file, metadata: { ...metadata }, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) }
  } catch (error) {
    const why = error instanceof RangeError ? 'its header is cut short' : messageOf(error)
    throw new MyriadError('checkpoint', `${file} is damaged: ${why}; fetch it again`, { cause: error })
  }
}

/** Answers the file's size. */
function requireMagic(file: string): number {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const magic = Buffer.alloc(4)
      readSync(descriptor, magic, 0, 4, 0)
      if (magic.toString('latin1') !== 'GGUF')
        throw new MyriadError('checkpoint', `${file} is no GGUF file: it does not begin with "GGUF"`)
      return fstatSync(descriptor).size
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (error instanceof MyriadError) throw error
    throw new MyriadError('checkpoint', `cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
}
