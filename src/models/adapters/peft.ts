import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'
import { readSafetensors, writeFailure, writeSafetensors, type NamedTensor } from '../safetensors.js'
import { adapterShapes } from './adapter.js'
import { loraSchema, type AdapterConfig, type LoraConfig } from './config.js'
import { promptFields, promptTypes, readPromptFields } from './peft-prompt.js'

const prefix = 'base_model.model.'
const configFile = 'adapter_config.json'
const weightsFile = 'adapter_model.safetensors'

/** PEFT's adapter_config.json. What would change the computation and is not known here must be at its default. */
const peftSchema = z.looseObject({
  peft_type: z.string(),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().min(1),
  lora_alpha: z.number(),
  target_modules: z.union([z.string(), z.array(z.string())]),
  exclude_modules: z.union([z.string(), z.array(z.string())]).nullish(),
  lora_dropout: z.number().default(0),
  use_rslora: z.boolean().default(false),
  use_dora: z.boolean().default(false),
  rank_pattern: z.record(z.string(), z.int()).nullish(),
  alpha_pattern: z.record(z.string(), z.number()).nullish(),
})

/** Fields that change what an adapter computes, with the values under which they do not. */
const mustBe: Readonly<Record<string, readonly unknown[]>> = {
  bias: ['none', null, undefined],
  modules_to_save: [null, undefined],
  layers_to_transform: [null, undefined],
  layer_replication: [null, undefined],
  lora_bias: [false, null, undefined],
  use_qalora: [false, null, undefined],
  trainable_token_indices: [null, undefined],
  alora_invocation_tokens: [null, undefined],
  target_parameters: [null, undefined],
  megatron_config: [null, undefined],
}

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
  const parsed = peftSchema.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
    throw new MyriadError('checkpoint', `${file} is not an adapter's configuration: ${problems.join('; ')}`)
  }
  const fields = parsed.data
  for (const [field, allowed] of Object.entries(mustBe)) {
    const value = fields[field]
    const empty = Array.isArray(value) && value.length === 0
    if (!empty && !allowed.includes(value))
      throw new MyriadError('checkpoint', `${file}: "${field}" is ${JSON.stringify(value)}, which is not supported`)
  }
  if (fields.exclude_modules?.length)
    throw new MyriadError('checkpoint', `${file}: "exclude_modules" is not supported; name the targets instead`)
  return {
    adapter: loraSchema.parse({
      kind: 'lora',
      rank: fields.r,
      alpha: fields.lora_alpha,
      targets: fields.target_modules,
      dropout: fields.lora_dropout,
      rankStabilized: fields.use_rslora,
      dora: fields.use_dora,
      rankPattern: fields.rank_pattern ?? {},
      alphaPattern: fields.alpha_pattern ?? {},
    }),
    base: fields.base_model_name_or_path ?? undefined,
  }
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
  const file = join(folder, weightsFile)
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
    const bad = tensor.data.findIndex((value) => !Number.isFinite(value))
    if (bad >= 0)
      throw new MyriadError('checkpoint', `${file}: tensor "${stored}${name}" holds ${tensor.data[bad]} at ${bad}`)
    weights[name] = tensor.data
  }
  const unknown = Object.keys(tensors).filter((name) => !(name.slice(stored.length) in shapes))
  if (unknown.length > 0)
    throw new MyriadError('checkpoint', `${file} holds tensors that ${configFile} does not ask for: ${unknown.join(', ')}`)
  return { adapter, base, weights }
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
}

/** Writes an adapter as PEFT loads it, beside its place first and then moved there whole. */
export function writeAdapter(folder: string, options: WriteAdapterOptions): void {
  const { config, adapter, weights, base } = options
  const partial = `${folder}.partial`
  try {
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial, { recursive: true })
    const tensors = Object.fromEntries(
      Object.entries(adapterShapes(config, adapter)).map(([name, shape]) => [
        storedPrefix(adapter) + name,
        { shape, data: weights[name] },
      ]),
    )
    writeSafetensors(join(partial, weightsFile), tensors)
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
    const old = `${folder}.old`
    rmSync(old, { recursive: true, force: true })
    renameIfPresent(folder, old)
    renameSync(partial, folder)
    rmSync(old, { recursive: true, force: true })
  } catch (error) {
    if (error instanceof MyriadError) throw error
    throw writeFailure(folder, error)
  }
}

function loraFields(config: DecoderConfig, adapter: LoraConfig): Record<string, unknown> {
  return {
    peft_type: 'LORA',
    r: adapter.rank,
    lora_alpha: adapter.alpha,
    target_modules: adapter.targets,
    lora_dropout: adapter.dropout,
    use_rslora: adapter.rankStabilized,
    use_dora: adapter.dora,
    rank_pattern: adapter.rankPattern,
    alpha_pattern: adapter.alphaPattern,
    bias: 'none',
    fan_in_fan_out: config.modelType === 'gpt2',
  }
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
