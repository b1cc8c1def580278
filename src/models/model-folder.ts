import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { requireFinite } from './finite.js'
import type { Weights } from './parameters.js'
import {
  readSafetensorsHeader,
  readStoredTensor,
  writeSafetensors,
  type NamedTensor,
  type SafetensorsHeader,
  type StoredType,
} from './safetensors.js'

export const weightsFile = 'model.safetensors'
export const indexFile = 'model.safetensors.index.json'

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) })

/** Tables that older files carry and that are computed here: rotary frequencies, causal masks, positions 0, 1, 2... */
const computed = /(^|\.)(rotary_emb\.inv_freq|(attn|attention)\.(bias|masked_bias)|embeddings\.position_ids)$/

/** Does the folder hold weights in safetensors, in one file or several? */
export function hasSafetensors(folder: string): boolean {
  return existsSync(join(folder, weightsFile)) || existsSync(join(folder, indexFile))
}

/**
 * Reads named weights from a model folder's `model.safetensors`, or from the files that `model.safetensors.index.json`
 * names, one tensor at a time.
 *
 * @param shapes name and shape of every weight that is wanted. Files of a bare base model, whose names lack the first part
 *   (`model.`, `transformer.`), are read too.
 * @param spare names that may be there besides: of a tied output projection
 * @throws MyriadError 'checkpoint' naming the file, and the tensor that is missing, unknown, of the wrong shape or not finite
 */
export function readWeights(
  folder: string,
  shapes: Readonly<Record<string, readonly number[]>>,
  spare: readonly string[] = [],
): Weights {
  const stored = storedTensors(folder)
  const nameOf = naming(Object.keys(shapes), stored)
  const weights: Weights = {}
  const used = new Set<string>()
  for (const [name, shape] of Object.entries(shapes)) {
    const place = nameOf(name)
    const header = stored.get(place)
    if (header === undefined)
      throw new MyriadError('checkpoint', `${whereOf(folder)} lacks tensor "${name}" [${shape}]`)
    used.add(place)
    const found = header.tensors[place].shape
    if (found.join() !== shape.join())
      throw new MyriadError(
        'checkpoint',
        `${header.file}: tensor "${place}" has shape [${found}], config.json asks for [${shape}]`,
      )
    weights[name] = readStoredTensor(header, place)
    requireFinite(weights[name], header.file, place)
  }
  const allowed = new Set(spare.map(nameOf))
  const unknown = [...stored.keys()].filter((name) => !used.has(name) && !allowed.has(name) && !computed.test(name))
  if (unknown.length > 0)
    throw new MyriadError(
      'checkpoint',
      `${whereOf(folder)} holds tensors that config.json does not ask for: ${some(unknown)}`,
    )
  return weights
}

/**
 * Writes weights into a folder: one file, or where they take more than `shardBytes` several and their index, named as
 * transformers names them. A tensor is never divided.
 */
export function writeWeights(
  folder: string,
  tensors: Readonly<Record<string, NamedTensor>>,
  options: { dtype?: StoredType; shardBytes?: number } = {},
): void {
  const { dtype = 'F32', shardBytes = 5e9 } = options
  const width = dtype === 'F32' ? 4 : 2
  const shards: Record<string, NamedTensor>[] = [{}]
  let room = shardBytes
  let total = 0
  for (const [name, tensor] of Object.entries(tensors)) {
    const bytes = tensor.data.length * width
    if (bytes > room && room < shardBytes) {
      shards.push({})
      room = shardBytes
    }
    shards[shards.length - 1][name] = tensor
    room -= bytes
    total += bytes
  }
  if (shards.length === 1) return writeSafetensors(join(folder, weightsFile), tensors, { dtype })
  const map: Record<string, string> = {}
  const five = (n: number): string => String(n).padStart(5, '0')
  shards.forEach((shard, i) => {
    const file = `model-${five(i + 1)}-of-${five(shards.length)}.safetensors`
    writeSafetensors(join(folder, file), shard, { dtype })
    for (const name of Object.keys(shard)) map[name] = file
  })
  const index = { metadata: { total_size: total }, weight_map: map }
  writeFileSync(join(folder, indexFile), `${JSON.stringify(index, null, 2)}\n`)
}

/** Every tensor of the folder's files, by name, with the header of the file it is in. */
function storedTensors(folder: string): Map<string, SafetensorsHeader> {
  if (existsSync(join(folder, weightsFile))) {
    const header = readSafetensorsHeader(join(folder, weightsFile))
    return new Map(Object.keys(header.tensors).map((name) => [name, header]))
  }
  const index = join(folder, indexFile)
  if (!existsSync(index)) {
    const pickled =
      existsSync(join(folder, 'pytorch_model.bin')) || existsSync(`${join(folder, 'pytorch_model.bin')}.index.json`)
    throw new MyriadError(
      'checkpoint',
      pickled
        ? `${folder} holds its weights only as pytorch_model.bin, which is a program and is not run; save it as safetensors with transformers' save_pretrained`
        : `${folder} has no ${weightsFile}, no ${indexFile} and no .gguf file`,
    )
  }
  const map = readIndex(index)
  const absent = [...new Set(Object.values(map))].filter((file) => !existsSync(join(folder, file)))
  if (absent.length > 0)
    throw new MyriadError('checkpoint', `${index} names files that are not there: ${some(absent)}; fetch them`)
  const headers = new Map<string, SafetensorsHeader>()
  const stored = new Map<string, SafetensorsHeader>()
  for (const file of new Set(Object.values(map))) {
    const header = readSafetensorsHeader(join(folder, file))
    headers.set(file, header)
    for (const name of Object.keys(header.tensors)) stored.set(name, header)
  }
  for (const [name, file] of Object.entries(map))
    if (headers.get(file)?.tensors[name] === undefined)
      throw new MyriadError('checkpoint', `${index} says that tensor "${name}" is in ${file}, but it is not`)
  return stored
}

function readIndex(file: string): Record<string, string> {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `${file} is damaged: ${messageOf(error)}; fetch it again`, { cause: error })
  }
  const parsed = indexSchema.safeParse(json)
  // A name with a folder in it could lead anywhere on the machine.
  if (!parsed.success || Object.values(parsed.data.weight_map).some((name) => /[/\\]/.test(name)))
    throw new MyriadError('checkpoint', `${file} has no valid "weight_map" (tensor to file beside it)`)
  return parsed.data.weight_map
}

/** How the files name the wanted weights: as they are, or without their first part where no name in the files has it. */
function naming(wanted: readonly string[], stored: ReadonlyMap<string, unknown>): (name: string) => string {
  const first = wanted[0].slice(0, wanted[0].indexOf('.') + 1)
  const bare = first !== '' && ![...stored.keys()].some((name) => name.startsWith(first))
  return (name) => (bare && name.startsWith(first) ? name.slice(first.length) : name)
}

function whereOf(folder: string): string {
  return join(folder, existsSync(join(folder, weightsFile)) ? weightsFile : indexFile)
}

function some(names: readonly string[]): string {
  return names.length <= 8 ? names.join(', ') : `${names.slice(0, 8).join(', ')} and ${names.length - 8} more`
}
