import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { findGguf } from '../core/gguf.js'
import { MyriadError } from '../core/index.js'
import { decoderConfigToJson, readDecoderConfig, type DecoderConfig } from './config.js'
import { readGguf, readGgufConfig } from './gguf.js'
import { parameterShapes, type Weights } from './parameters.js'
import { readSafetensors, writeSafetensors } from './safetensors.js'

/** Files of a tokenizer that travel with a model. */
export const tokenizerFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'special_tokens_map.json',
  'generation_config.json',
] as const

/**
 * The GGUF file that a path means as a model: a .gguf file, or the only one in a folder that has no safetensors;
 * undefined when the path is a folder to be read as Hugging Face writes it.
 */
export function ggufOfModel(path: string): string | undefined {
  const files = ['model.safetensors', 'model.safetensors.index.json']
  return files.some((file) => existsSync(join(path, file))) ? undefined : findGguf(path)
}

/** The configuration of a model folder or GGUF file. */
export async function readCheckpointConfig(path: string): Promise<DecoderConfig> {
  const gguf = ggufOfModel(path)
  return gguf === undefined ? readDecoderConfig(path) : readGgufConfig(gguf)
}

/**
 * Reads a model: a folder with `config.json` and `model.safetensors`, or a GGUF file (or a folder that holds just one).
 *
 * @throws MyriadError 'checkpoint' naming the file, and the tensor that is missing, unknown, of the wrong shape or not finite
 */
export async function readCheckpoint(path: string): Promise<{ config: DecoderConfig; weights: Weights }> {
  const gguf = ggufOfModel(path)
  return gguf === undefined ? readFolder(path) : readGguf(gguf)
}

function readFolder(folder: string): { config: DecoderConfig; weights: Weights } {
  const config = readDecoderConfig(folder)
  const file = join(folder, 'model.safetensors')
  const { tensors } = readSafetensors(file)
  const shapes = parameterShapes(config)
  const weights: Weights = {}
  for (const [name, shape] of Object.entries(shapes)) {
    const tensor = tensors[name]
    if (!tensor) throw new MyriadError('checkpoint', `${file} lacks tensor "${name}" [${shape}]`)
    if (tensor.shape.join() !== shape.join())
      throw new MyriadError(
        'checkpoint',
        `${file}: tensor "${name}" has shape [${tensor.shape}], config.json asks for [${shape}]`,
      )
    const bad = tensor.data.findIndex((value) => !Number.isFinite(value))
    if (bad >= 0) throw new MyriadError('checkpoint', `${file}: tensor "${name}" holds ${tensor.data[bad]} at ${bad}`)
    weights[name] = tensor.data
  }
  const tied = config.tieEmbeddings ? ['lm_head.weight'] : []
  const unknown = Object.keys(tensors).filter((name) => !(name in shapes) && !tied.includes(name))
  if (unknown.length > 0)
    throw new MyriadError('checkpoint', `${file} holds tensors that config.json does not ask for: ${unknown.join(', ')}`)
  return { config, weights }
}

export interface WriteCheckpointOptions {
  dtype?: 'F32' | 'F16'
  /** A model folder whose tokenizer files are copied along. */
  tokenizerFrom?: string
  /** Further safetensors files: optimizer state and the like. */
  extra?: Record<string, Record<string, { shape: number[]; data: Float32Array }>>
  /** Further JSON files. */
  json?: Record<string, unknown>
  /** Further text files by name: a tokenizer's, a model card. */
  files?: Record<string, string>
}

/** Writes a model folder beside its place and moves it there whole: a reader sees the old one or the new one, never half of each. */
export function writeCheckpoint(
  folder: string,
  config: DecoderConfig,
  weights: Weights,
  options: WriteCheckpointOptions = {},
): void {
  const partial = `${folder}.partial`
  try {
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial, { recursive: true })
    const shapes = parameterShapes(config)
    const tensors = Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, { shape, data: weights[name] }]),
    )
    writeSafetensors(join(partial, 'model.safetensors'), tensors, { dtype: options.dtype })
    writeFileSync(join(partial, 'config.json'), `${JSON.stringify(decoderConfigToJson(config), null, 2)}\n`)
    for (const [file, content] of Object.entries(options.extra ?? {})) writeSafetensors(join(partial, file), content)
    for (const [file, content] of Object.entries(options.json ?? {}))
      writeFileSync(join(partial, file), `${JSON.stringify(content, null, 2)}\n`)
    for (const [file, text] of Object.entries(options.files ?? {})) writeFileSync(join(partial, file), text)
    if (options.tokenizerFrom !== undefined)
      for (const file of tokenizerFiles) {
        const source = join(options.tokenizerFrom, file)
        if (existsSync(source)) copyFileSync(source, join(partial, file))
      }
    const old = `${folder}.old`
    rmSync(old, { recursive: true, force: true })
    if (existsSync(folder)) renameSync(folder, old)
    renameSync(partial, folder)
    rmSync(old, { recursive: true, force: true })
  } catch (error) {
    if (error instanceof MyriadError) throw error
    throw new MyriadError('io', `cannot write ${folder}: free some space or choose another folder`, { cause: error })
  }
}

/** Reads a JSON file of a checkpoint. */
export function readCheckpointJson(folder: string, file: string): unknown {
  const path = join(folder, file)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${path}`, { cause: error })
  }
}
