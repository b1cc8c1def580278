/** PEFT's adapter_config.json of low-rank adapters. */
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'
import { loraSchema, type LoraConfig } from './config.js'

const schema = z.looseObject({
  peft_type: z.literal('LORA'),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  target_modules: z.union([z.string(), z.array(z.string())]),
  lora_dropout: z.number().default(0),
  use_rslora: z.boolean().default(false),
  use_dora: z.boolean().default(false),
  rank_pattern: z.record(z.string(), z.int().min(1)).nullish(),
  alpha_pattern: z.record(z.string(), z.number().positive()).nullish(),
  bias: z.string().nullish(),
  init_lora_weights: z.union([z.boolean(), z.string()]).nullish(),
})

/**
 * Fields that say nothing about what is computed: of training, of how an adapter began, of how PEFT places it, and which way
 * a weight is stored, which the model's own configuration says.
 */
const harmless = new Set([
  'auto_mapping',
  'corda_config',
  'ensure_weight_tying',
  'eva_config',
  'fan_in_fan_out',
  'inference_mode',
  'layers_pattern',
  'loftq_config',
  'megatron_core',
  'peft_version',
  'qalora_group_size',
  'revision',
  'runtime_config',
  'task_type',
])

/** Beginnings that leave the base model's weights as they are; PiSSA, OLoRA, CorDA and LoftQ take a part out of them. */
const plainBeginnings: readonly unknown[] = [undefined, null, true, false, 'gaussian', 'eva', 'orthogonal', 'mica']

/**
 * @param file named in errors
 * @throws MyriadError 'checkpoint' naming the field that is wrong or is not supported
 */
export function readLoraFields(file: string, json: unknown): { adapter: LoraConfig; base?: string } {
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
    throw new MyriadError('checkpoint', `${file} is not an adapter's configuration: ${problems.join('; ')}`)
  }
  const fields = parsed.data
  const refuse = (field: string, advice = ''): never => {
    throw new MyriadError(
      'checkpoint',
      `${file}: "${field}" is ${JSON.stringify(fields[field])}, which is not supported${advice}`,
    )
  }
  for (const [field, value] of Object.entries(fields)) {
    if (field in schema.shape || harmless.has(field) || isEmpty(value)) continue
    refuse(field, field === 'exclude_modules' ? '; name the targets that are left instead' : '')
  }
  if ((fields.bias ?? 'none') !== 'none') refuse('bias')
  if (!plainBeginnings.includes(fields.init_lora_weights))
    refuse(
      'init_lora_weights',
      ': it changes the base; save with path_initial_model_for_weight_conversion, and "init_lora_weights" true',
    )
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

/** Says that a feature is not in use: null, false, or nothing in it. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** What PEFT reads of it. */
export function loraFields(config: DecoderConfig, adapter: LoraConfig): Record<string, unknown> {
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
