import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { readCheckpointJson } from './checkpoint.js'
import { encoderConfigToJson, encoderFamily, readEncoderConfig, type EncoderConfig } from './encoder-config.js'
import { encoderParameterShapes } from './encoder-parameters.js'
import { indexFile, readWeights, weightsFile, writeWeights } from './model-folder.js'
import type { Weights } from './parameters.js'
import { readSafetensorsHeader } from './safetensors.js'

/**
 * Reads an encoder from a folder as transformers writes it: the bare model, or one with a head, of which only that of a sequence
 * classifier is read and the others are left. Whether there is a pooler is seen from the weights.
 *
 * @throws MyriadError 'checkpoint' naming the file, and the field or tensor that is wrong
 */
export function readEncoder(folder: string): { config: EncoderConfig; weights: Weights } {
  const stated = readEncoderConfig(folder)
  const stored = storedNames(folder)
  const prefix = prefixOf(stated, stored)
  const config = { ...stated, pooler: stored.includes(`${prefix}pooler.dense.weight`) }
  const shapes = encoderParameterShapes(config)
  // What TensorFlow called them is still found in the first files of BERT.
  const old = stored.some((name) => name.endsWith('LayerNorm.gamma'))
  const place = (name: string): string => {
    const renamed = old
      ? name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta')
      : name
    return isHead(name) ? renamed : `${prefix}${renamed}`
  }
  const wanted = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [place(name), shape]))
  const heads = prefix === '' ? [] : stored.filter((name) => !name.startsWith(prefix))
  const read = readWeights(folder, wanted, heads)
  return { config, weights: Object.fromEntries(Object.keys(shapes).map((name) => [name, read[place(name)]])) }
}

/** Writes an encoder as transformers reads it: `config.json` and `model.safetensors`. */
export function writeEncoder(folder: string, config: EncoderConfig, weights: Weights): void {
  // Transformers' bare models have no prefix; those with a head have.
  const prefix = config.labels === undefined && config.pooler ? '' : `${encoderFamily(config).prefix}.`
  const entries = Object.entries(encoderParameterShapes(config))
  try {
    mkdirSync(folder, { recursive: true })
    const tensors = entries.map(([name, shape]) => [
      isHead(name) ? name : `${prefix}${name}`,
      { shape, data: weights[name] },
    ])
    writeWeights(folder, Object.fromEntries(tensors))
    writeFileSync(join(folder, 'config.json'), `${JSON.stringify(encoderConfigToJson(config), null, 2)}\n`)
  } catch (error) {
    if (error instanceof MyriadError) throw error
    throw new MyriadError('io', `cannot write ${folder}: ${messageOf(error)}`, { cause: error })
  }
}

function isHead(name: string): boolean {
  return name.startsWith('classifier.')
}

function prefixOf(config: EncoderConfig, stored: readonly string[]): string {
  const prefix = `${encoderFamily(config).prefix}.`
  return stored.some((name) => name.startsWith(prefix)) ? prefix : ''
}

const index = z.looseObject({ weight_map: z.record(z.string(), z.string()) })

function storedNames(folder: string): string[] {
  if (existsSync(join(folder, weightsFile)) || !existsSync(join(folder, indexFile)))
    return Object.keys(readSafetensorsHeader(join(folder, weightsFile)).tensors)
  const parsed = index.safeParse(readCheckpointJson(folder, indexFile))
  return parsed.success ? Object.keys(parsed.data.weight_map) : []
}
