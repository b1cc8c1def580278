import { closeSync, openSync, readSync } from 'node:fs'
import { MyriadError, messageOf } from '../core/index.js'
import { readGgufHeader, type GgufHeader, type GgufTensor } from '../core/gguf.js'
import { parseDecoderConfig, type DecoderConfig } from './config.js'
import { blockFormats } from './gguf-blocks.js'
import { ggufConfigJson } from './gguf-config.js'
import { ggufPlace, restoreLayout } from './gguf-names.js'
import { requireFinite } from './finite.js'
import { parameterShapes, type Weights } from './parameters.js'

// Read and widened at a time: small beside a model, large beside the cost of a system call.
const chunkBytes = 1 << 20

/** Reads the configuration of the model in a GGUF file. */
export async function readGgufConfig(file: string): Promise<DecoderConfig> {
  return configOf(await readGgufHeader(file))
}

/**
 * Reads the model in a GGUF file, quantized tensors widened to float32, names and layouts Hugging Face's.
 *
 * @throws MyriadError 'checkpoint' naming the file, and the tensor that is missing, of another shape or format, cut short
 * or not finite
 */
export async function readGguf(file: string): Promise<{ config: DecoderConfig; weights: Weights }> {
  const header = await readGgufHeader(file)
  const config = configOf(header)
  const architecture = String(header.metadata['general.architecture'])
  const weights: Weights = {}
  for (const [name, shape] of Object.entries(parameterShapes(config))) {
    const place = ggufPlace(architecture, name)
    const tensor = place && header.tensors.get(place.name)
    if (!place || !tensor)
      throw new MyriadError('checkpoint', `${file} lacks tensor "${place?.name ?? name}" [${shape}]`)
    const stored = place.layout === 'transposed' ? [...shape].reverse() : shape
    if (tensor.shape.join() !== stored.join())
      throw new MyriadError(
        'checkpoint',
        `${file}: tensor "${tensor.name}" has shape [${tensor.shape}], the model's dimensions ask for [${stored}]`,
      )
    const data = readGgufTensor(file, tensor)
    requireFinite(data, file, tensor.name)
    weights[name] = restoreLayout(data, place.layout, shape, config)
  }
  return { config, weights }
}

/** Reads one tensor, widened to float32, in the order of the file. */
export function readGgufTensor(file: string, tensor: GgufTensor): Float32Array {
  const format = blockFormats[tensor.type]
  if (format === undefined) {
    const known = Object.values(blockFormats).map(({ name }) => name)
    throw new MyriadError(
      'checkpoint',
      `${file}: tensor "${tensor.name}" is stored in ggml's format ${tensor.type}, which is not read; read are ${known.join(', ')}`,
    )
  }
  const count = tensor.shape.reduce((a, b) => a * b, 1)
  const rowLength = tensor.shape.at(-1) ?? 1
  if (rowLength % format.values !== 0)
    throw new MyriadError(
      'checkpoint',
      `${file} is damaged: tensor "${tensor.name}" [${tensor.shape}] cannot be cut into blocks of ${format.values}`,
    )
  const total = (count / format.values) * format.bytes
  const result = new Float32Array(count)
  const chunk = new Uint8Array(Math.min(total, Math.floor(chunkBytes / format.bytes) * format.bytes))
  try {
    const descriptor = openSync(file, 'r')
    try {
      for (let done = 0; done < total;) {
        const part = chunk.subarray(0, Math.min(chunk.length, total - done))
        fill(descriptor, part, tensor.position + done)
        format.read(part, result, (done / format.bytes) * format.values)
        done += part.length
      }
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new MyriadError('checkpoint', `${file} is damaged: tensor "${tensor.name}": ${messageOf(error)}`, {
      cause: error,
    })
  }
  return result
}

function configOf(header: GgufHeader): DecoderConfig {
  const divisors = header.tensors.get('rope_freqs.weight')
  const json = ggufConfigJson(header, divisors && readGgufTensor(header.file, divisors))
  return parseDecoderConfig(json, header.file)
}

/** Reads exactly as many bytes as `target` has. */
function fill(descriptor: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length;) {
    const read = readSync(descriptor, target, done, target.length - done, position + done)
    if (read === 0) throw new Error(`the file ends at byte ${position + done}: it was cut short; fetch it again`)
    done += read
  }
}
