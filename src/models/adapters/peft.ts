import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import { requireFinite } from '../finite.js'
import { linearModules, type Weights } from '../parameters.js'
import { readSafetensors, writeFailure, writeSafetensors, type NamedTensor } from '../safetensors.js'
import { adapterShapes } from './adapter.js'
import type { AdapterConfig } from './config.js'
import { loraFields, readLoraFields } from './peft-lora.js'
import { projectionFile, promptFields, promptTypes, readPromptFields } from './peft-prompt.js'
import { projectPrefix } from './projection.js'
import { promptWeight, type PrefixConfig } from './prompt.js'

const prefix = 'base_model.model.'
const configFile = 'adapter_config.json'
const weightsFile = 'adapter_model.safetensors'

/**
 * What a folder's adapter_config.json says.
 *
 * @throws MyriadError 'checkpoint' naming the field that is wrong or is not supported
 */
export function readAdapterConfig(folder: string): { adapter: AdapterConfig; base?: string } {
  const file = join(folder, configFile)
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}: is ${folder} the folder of an adapter?`, { cause: error })
  }
  const kind = (json as { peft_type?: unknown } | null)?.peft_type
  if (typeof kind === 'string' && promptTypes.includes(kind)) return readPromptFields(file, json)
  if (typeof kind === 'string' && kind !== 'LORA')
    throw new MyriadError(
      'checkpoint',
      `${file}: adapters of type "${kind}" are not supported; supported are LORA, ${promptTypes.join(', ')}`,
    )
  return readLoraFields(file, json)
}

/**
 * Reads an adapter in PEFT's format for a model of this shape.
 *
 * @throws MyriadError 'checkpoint' naming the file and the tensor that is missing, unknown, of the wrong shape or not finite
 */
export function readAdapter(
  folder: string,
  config: DecoderConfig,
): { adapter: AdapterConfig; base?: string; weights: Weights } {
  const { adapter, base } = readAdapterConfig(folder)
  const weights = readTensors(join(folder, weightsFile), config, plainOf(adapter))
  if (!isProjected(adapter)) return { adapter, base, weights }
  const file = join(folder, projectionFile)
  const network = readTensors(file, config, adapter)
  requireMade(weights[promptWeight], projectPrefix(config, adapter.tokens, adapter.projection, network), file)
  return { adapter, base, weights: network }
}

/** Exactly the tensors of an adapter, by its own names. */
function readTensors(file: string, config: DecoderConfig, adapter: AdapterConfig): Weights {
  const { tensors } = readSafetensors(file)
  const shapes = adapterShapes(config, adapter)
  const weights: Weights = {}
  const stored = storedPrefix(adapter)
  for (const [name, shape] of Object.entries(shapes)) {
    const tensor = tensors[stored + name]
    if (!tensor) throw new MyriadError('checkpoint', `${file} lacks tensor "${stored}${name}" [${shape}]`)
    if (tensor.shape.join() !== shape.join())
      throw new MyriadError(
        'checkpoint',
        `${file}: tensor "${stored}${name}" has shape [${tensor.shape}], the model and the configuration ask for [${shape}]`,
      )
    requireFinite(tensor.data, file, stored + name)
    weights[name] = tensor.data
  }
  const unknown = Object.entries(tensors).filter(
    ([
      name,
      {
        shape: [rows],
      },
    ]) => !(name.startsWith(stored) && name.slice(stored.length) in shapes) && !isSavedHead(config, name, rows),
  )
  if (unknown.length > 0) {
    const names = unknown.slice(0, 3).map(([name, { shape }]) => `"${name}" [${shape}]`)
    const others = unknown.length > 3 ? ` and ${unknown.length - 3} others` : ''
    throw new MyriadError(
      'checkpoint',
      `${file} holds ${unknown.length} tensors that ${configFile} does not ask for: ${names.join(', ')}${others}`,
    )
  }
  return weights
}

type ProjectedPrefix = PrefixConfig & { projection: number }

function isProjected(adapter: AdapterConfig): adapter is ProjectedPrefix {
  return adapter.kind === 'prefix' && adapter.projection !== undefined
}

/** An adapter as PEFT stores it: of a projected prefix only the prefix. */
function plainOf(adapter: AdapterConfig): AdapterConfig {
  return isProjected(adapter) ? { kind: 'prefix', tokens: adapter.tokens } : adapter
}

/** A prefix that was trained on without its network has left it behind. */
function requireMade(prefix: Float32Array, made: Float32Array, file: string): void {
  const off = prefix.findIndex((value, i) => Math.abs(value - made[i]) > 1e-4 * (1 + Math.abs(value)))
  if (off >= 0)
    throw new MyriadError(
      'checkpoint',
      `${file} makes another prefix than ${weightsFile} holds; remove it to go on from the prefix itself`,
    )
}

export interface WriteAdapterOptions {
  config: DecoderConfig
  adapter: AdapterConfig
  weights: Weights
  /** The model it belongs to: a hub id or a folder. */
  base?: string
  /** Further safetensors and JSON files. */
  extra?: Record<string, Record<string, NamedTensor>>
  json?: Record<string, unknown>
  /** Further text files: a chat template. */
  files?: Record<string, string>
}

/** Writes an adapter as PEFT loads it, beside its place first and then moved there whole. */
export function writeAdapter(folder: string, options: WriteAdapterOptions): void {
  const { config, adapter, weights, base } = options
  const partial = `${folder}.partial`
  try {
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial, { recursive: true })
    if (isProjected(adapter)) {
      const made = { [promptWeight]: projectPrefix(config, adapter.tokens, adapter.projection, weights) }
      writeSafetensors(join(partial, weightsFile), tensorsOf(config, plainOf(adapter), made))
      writeSafetensors(join(partial, projectionFile), tensorsOf(config, adapter, weights))
    } else writeSafetensors(join(partial, weightsFile), tensorsOf(config, adapter, weights))
    const peft = {
      task_type: 'CAUSAL_LM',
      base_model_name_or_path: base ?? null,
      inference_mode: true,
      ...(adapter.kind === 'lora' ? loraFields(config, adapter) : promptFields(config, adapter)),
    }
    writeFileSync(join(partial, configFile), `${JSON.stringify(peft, null, 2)}\n`)
    for (const [file, content] of Object.entries(options.extra ?? {})) writeSafetensors(join(partial, file), content)
    for (const [file, content] of Object.entries(options.json ?? {}))
      writeFileSync(join(partial, file), `${JSON.stringify(content, null, 2)}\n`)
    for (const [file, text] of Object.entries(options.files ?? {})) writeFileSync(join(partial, file), text)
    const old = `${folder}.old`
    rmSync(old, { recursive: true, force: true })
    renameIfPresent(folder, old)
    renameSync(partial, folder)
    rmSync(old, { recursive: true, force: true })
  } catch (error) {
    rmSync(partial, { recursive: true, force: true }) // on a full disk its room is wanted
    if (error instanceof MyriadError) throw error
    throw writeFailure(folder, error)
  }
}

function tensorsOf(config: DecoderConfig, adapter: AdapterConfig, weights: Weights): Record<string, NamedTensor> {
  const shapes = Object.entries(adapterShapes(config, adapter))
  return Object.fromEntries(
    shapes.map(([name, shape]) => [storedPrefix(adapter) + name, { shape, data: weights[name] }]),
  )
}

/**
 * An adapter of the output projection is saved by PEFT with the model's own projection, which training has not changed. If it
 * has other rows, the model had its vocabulary resized.
 */
function isSavedHead(config: DecoderConfig, name: string, rows: number): boolean {
  const head = linearModules(config).at(-1)
  return head !== undefined && name === `${prefix}${head.name}.base_layer.weight` && rows === head.out
}

/** PEFT names adapted modules from its own wrapper on; the weight of virtual tokens it names plainly. */
function storedPrefix(adapter: AdapterConfig): string {
  return adapter.kind === 'lora' ? prefix : ''
}

function renameIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
