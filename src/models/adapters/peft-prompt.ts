/** PEFT's adapter_config.json of soft prompts and prefixes. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import { readSafetensorsHeader } from '../safetensors.js'
import { innerWeight } from './projection.js'
import { prefixSchema, promptSchema, type PrefixConfig, type PromptConfig } from './prompt.js'

const schema = z.looseObject({
  peft_type: z.enum(['PROMPT_TUNING', 'PREFIX_TUNING']),
  base_model_name_or_path: z.string().nullish(),
  num_virtual_tokens: z.int().min(1),
  num_transformer_submodules: z.int().nullish(),
  modules_to_save: z.array(z.string()).nullish(),
})

/** The values of `peft_type` that {@link readPromptFields} reads. */
export const promptTypes: readonly string[] = ['PROMPT_TUNING', 'PREFIX_TUNING']

/**
 * @param file named in errors
 * @throws MyriadError 'checkpoint' naming the field that is wrong or is not supported
 */
export function readPromptFields(file: string, json: unknown): { adapter: PromptConfig | PrefixConfig; base?: string } {
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
    throw new MyriadError('checkpoint', `${file} is not an adapter's configuration: ${problems.join('; ')}`)
  }
  const fields = parsed.data
  const refuse = (field: string, value: unknown): never => {
    throw new MyriadError('checkpoint', `${file}: "${field}" is ${JSON.stringify(value)}, which is not supported`)
  }
  if (fields.modules_to_save?.length) refuse('modules_to_save', fields.modules_to_save)
  if ((fields.num_transformer_submodules ?? 1) !== 1)
    refuse('num_transformer_submodules', fields.num_transformer_submodules)
  const tokens = fields.num_virtual_tokens
  const adapter =
    fields.peft_type === 'PROMPT_TUNING'
      ? promptSchema.parse({ kind: 'prompt', tokens })
      : // PEFT keeps no network ("prefix_projection"), only the prefix that it made.
        prefixSchema.parse({ kind: 'prefix', tokens, projection: keptProjection(dirname(file)) })
  return { adapter, base: fields.base_model_name_or_path ?? undefined }
}

/** The network that makes a prefix, beside the prefix: with it training goes on as it was. PEFT does not read it. */
export const projectionFile = 'prefix_projection.safetensors'

/** Its hidden size, if there is one. */
function keptProjection(folder: string): number | undefined {
  const file = join(folder, projectionFile)
  return existsSync(file) ? readSafetensorsHeader(file).tensors[innerWeight]?.shape[0] : undefined
}

/** What PEFT reads of either. `num_attention_heads` and `token_dim` of a prefix are those of keys and values. */
export function promptFields(config: DecoderConfig, adapter: PromptConfig | PrefixConfig): Record<string, unknown> {
  const shared = {
    num_virtual_tokens: adapter.tokens,
    num_layers: config.layers,
    num_transformer_submodules: 1,
    modules_to_save: null,
  }
  if (adapter.kind === 'prompt')
    return {
      peft_type: 'PROMPT_TUNING',
      ...shared,
      num_attention_heads: config.heads,
      token_dim: config.hiddenSize,
      // How it began no longer matters: PEFT would read a tokenizer for "TEXT".
      prompt_tuning_init: 'RANDOM',
    }
  const width = config.keyValueHeads * config.headDimension
  return {
    peft_type: 'PREFIX_TUNING',
    ...shared,
    num_attention_heads: config.keyValueHeads,
    token_dim: width,
    encoder_hidden_size: width,
    prefix_projection: false,
  }
}
