/**
 * The decoders that are known, one file a family: how its `config.json` is read and written, and the names of its modules. The
 * computation itself is in decoder.ts and reads both. To add one: write its file beside these, list it here, and give it a
 * fixture in tools/fixtures/decoder.py.
 */
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Family } from './family.js'
import { gemma2, gemma3 } from './gemma.js'
import { gpt2 } from './gpt2.js'
import { gptNeox } from './gpt-neox.js'
import { llama } from './llama.js'
import { mistral } from './mistral.js'
import { phi3 } from './phi3.js'
import { qwen2, qwen3 } from './qwen.js'

export type { Family, Names } from './family.js'

const families: readonly Family[] = [llama, mistral, qwen2, qwen3, gemma2, gemma3, phi3, gpt2, gptNeox]

/** Hugging Face's `model_type` of every family. */
export const supportedModelTypes: readonly string[] = families.map((family) => family.modelType)

/** The family of a `model_type`. @throws MyriadError 'checkpoint' naming those that are supported */
export function familyByType(modelType: string, where: string): Family {
  const family = families.find((candidate) => candidate.modelType === modelType)
  if (family) return family
  throw new MyriadError(
    'checkpoint',
    `${where}: model type "${modelType}" is not supported; supported are ${supportedModelTypes.join(', ')}`,
  )
}

/** The family of a configuration. */
export function familyOf(config: DecoderConfig): Family {
  return familyByType(config.modelType, 'configuration')
}
