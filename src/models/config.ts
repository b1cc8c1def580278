import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import type { DecoderConfig } from './decoder-config.js'
import { familyByType, familyOf } from './families/index.js'
import { refuseForeignFields } from './families/foreign-fields.js'

export type { Activation, DecoderConfig, Norm } from './decoder-config.js'

/**
 * Reads Hugging Face's `config.json` fields into a {@link DecoderConfig}; those of transformers 4 and of 5.
 *
 * @param where the file's name, for messages
 * @throws MyriadError 'checkpoint' naming the field that is wrong or asks for what is not computed here, or the architecture and
 * those that are supported
 */
export function parseDecoderConfig(json: unknown, where = 'config.json'): DecoderConfig {
  const parsed = z.looseObject({ model_type: z.string() }).safeParse(json)
  if (!parsed.success)
    throw new MyriadError('checkpoint', `${where} is not a model's configuration: it has no "model_type"`)
  const family = familyByType(parsed.data.model_type, where)
  refuseForeignFields(parsed.data, family.fields, where)
  return family.parse(parsed.data, where)
}

/** The `config.json` of a configuration, as transformers reads it. Inverse of {@link parseDecoderConfig}. */
export function decoderConfigToJson(config: DecoderConfig): Record<string, unknown> {
  const family = familyOf(config)
  return {
    architectures: [family.architecture],
    model_type: family.modelType,
    ...family.toJson(config),
    torch_dtype: 'float32',
  }
}

/** Reads `config.json` of a model folder. */
export function readDecoderConfig(folder: string): DecoderConfig {
  const file = join(folder, 'config.json')
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}: is ${folder} a model folder?`, { cause: error })
  }
  return parseDecoderConfig(json, file)
}
