import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findGguf } from '../core/gguf.js'
import { MyriadError } from '../core/index.js'
import { decoderConfigToJson, readDecoderConfig, type DecoderConfig } from './config.js'
import { readGguf, readGgufConfig } from './gguf.js'
import { hasSafetensors, readWeights, writeWeights } from './model-folder.js'
import { parameterShapes, type Weights } from './parameters.js'
import { writeFailure, writeSafetensors, type NamedTensor, type StoredType } from './safetensors.js'

/**
 * The GGUF file that a path means as a model: a .gguf file, or the only one in a folder that has no safetensors;
 * undefined when the path is a folder to be read as Hugging Face writes it.
 */
export function ggufOfModel(path: string): string | undefined {
  return hasSafetensors(path) ? undefined : findGguf(path)
}

/** The configuration of a model folder or GGUF file. */
export async function readCheckpointConfig(path: string): Promise<DecoderConfig> {
  const gguf = ggufOfModel(path)
  return gguf === undefined ? readDecoderConfig(path) : readGgufConfig(gguf)
}

/**
 * Reads a model: a folder with `config.json` and safetensors (one file, or several and their index), or a GGUF file (or a
 * folder that holds just one). Values are widened to float32, tensor by tensor.
 *
 * @throws MyriadError 'checkpoint' naming the file, and the tensor that is missing, unknown, of the wrong shape or not finite
 */
export async function readCheckpoint(path: string): Promise<{ config: DecoderConfig; weights: Weights }> {
  const gguf = ggufOfModel(path)
  return gguf === undefined ? readFolder(path) : readGguf(gguf)
}

function readFolder(folder: string): { config: DecoderConfig; weights: Weights } {
  const config = readDecoderConfig(folder)
  const spare = config.tieEmbeddings ? ['lm_head.weight', 'embed_out.weight'] : []
  return { config, weights: readWeights(folder, parameterShapes(config), spare) }
}

export interface WriteCheckpointOptions {
  /** F32 unless given. */
  dtype?: StoredType
  /** Weights go to several files of at most this many bytes and an index; 5e9 unless given, as transformers does. */
  shardBytes?: number
  /** Further safetensors files: optimizer state and the like. */
  extra?: Record<string, Record<string, NamedTensor>>
  /** Further JSON files. */
  json?: Record<string, unknown>
  /** Further text files by name: those of a tokenizer (`tokenizerFilesOf`), a model card as README.md. */
  files?: Record<string, string>
}

/**
 * Writes a model folder beside its place and moves it there whole: a reader sees the old one or the new one, never half of
 * each.
 *
 * @throws MyriadError 'io' when the disk is full or the folder cannot be written; what was written so far is taken away
 */
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
    writeWeights(partial, tensors, options)
    writeFileSync(join(partial, 'config.json'), `${JSON.stringify(decoderConfigToJson(config), null, 2)}\n`)
    for (const [file, content] of Object.entries(options.extra ?? {})) writeSafetensors(join(partial, file), content)
    for (const [file, content] of Object.entries(options.json ?? {}))
      writeFileSync(join(partial, file), `${JSON.stringify(content, null, 2)}\n`)
    for (const [file, text] of Object.entries(options.files ?? {})) writeFileSync(join(partial, file), text)
    const old = `${folder}.old`
    rmSync(old, { recursive: true, force: true })
    if (existsSync(folder)) renameSync(folder, old)
    renameSync(partial, folder)
    rmSync(old, { recursive: true, force: true })
  } catch (error) {
    rmSync(partial, { recursive: true, force: true }) // on a full disk its room is wanted
    throw writeFailure(folder, error)
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
