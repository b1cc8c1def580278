import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import type { Activation, Norm } from './decoder-config.js'
import { activationOf, activationToJson, dividedHead, size } from './families/fields.js'
import { refuseForeignFields } from './families/foreign-fields.js'

/** What there is to know of an encoder besides its weights. Made by {@link parseEncoderConfig}. */
export interface EncoderConfig {
  modelType: 'bert' | 'roberta' | 'xlm-roberta'
  vocabularySize: number
  hiddenSize: number
  intermediateSize: number
  layers: number
  heads: number
  headDimension: number
  /** Rows of the table of positions. */
  positions: number
  /** Rows of the table of token types (segments). */
  tokenTypes: number
  norm: Norm
  activation: Activation
  /** Rows of padding in the tables: RoBERTa counts positions from the one after it. */
  paddingId: number
  /** Longest sequence in tokens. */
  contextLength: number
  /** A dense layer with tanh over the first token. */
  pooler: boolean
  /** Classes of a sequence classifier; absent where there is none. */
  labels?: number
}

interface EncoderFamily {
  /** Of the classes in `architectures`. */
  className: string
  /** Before the names of weights in files of a model with a head. */
  prefix: string
  /** Positions are counted from the padding id on; a classifier reads the first token itself, not the pooler. */
  roberta: boolean
}

const families: Record<EncoderConfig['modelType'], EncoderFamily> = {
  bert: { className: 'Bert', prefix: 'bert', roberta: false },
  roberta: { className: 'Roberta', prefix: 'roberta', roberta: true },
  'xlm-roberta': { className: 'XLMRoberta', prefix: 'roberta', roberta: true },
}

/** Hugging Face's `model_type` of every encoder that is known; MiniLM and most sentence embedders are one of these. */
export const supportedEncoderTypes = Object.keys(families) as EncoderConfig['modelType'][]

export function encoderFamily(config: EncoderConfig): EncoderFamily {
  return families[config.modelType]
}

const schema = z.looseObject({
  architectures: z.array(z.string()).nullish(),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  max_position_embeddings: size,
  type_vocab_size: size.default(2),
  layer_norm_eps: z.number().positive().default(1e-12),
  hidden_act: z.string().default('gelu'),
  pad_token_id: z.number().int().nonnegative().nullish(),
  is_decoder: z.literal(false).default(false),
  num_labels: size.optional(),
  id2label: z.record(z.string(), z.unknown()).nullish(),
})

/**
 * Reads Hugging Face's `config.json` of a BERT or RoBERTa. The rates of dropout are ignored: transformers applies them in its
 * training mode only, and we do not.
 *
 * @throws MyriadError 'checkpoint' naming the field, or the architecture and those that are supported
 */
export function parseEncoderConfig(json: unknown, where = 'config.json'): EncoderConfig {
  const type = z.looseObject({ model_type: z.string() }).safeParse(json)
  if (!type.success)
    throw new MyriadError('checkpoint', `${where} is not a model's configuration: it has no "model_type"`)
  const modelType = supportedEncoderTypes.find((known) => known === type.data.model_type)
  if (modelType === undefined)
    throw new MyriadError(
      'checkpoint',
      `${where}: "${type.data.model_type}" is not an encoder that is supported; supported are ${supportedEncoderTypes.join(', ')}`,
    )
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
    throw new MyriadError('checkpoint', `${where} is not a configuration of "${modelType}": ${problems.join('; ')}`)
  }
  refuseForeignFields(type.data, Object.keys(schema.shape), where)
  const file = parsed.data
  const { roberta } = families[modelType]
  const paddingId = file.pad_token_id ?? (roberta ? 1 : 0)
  const architecture = file.architectures?.[0] ?? 'Model'
  const classifier = architecture.endsWith('ForSequenceClassification')
  return {
    modelType,
    vocabularySize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    layers: file.num_hidden_layers,
    heads: file.num_attention_heads,
    headDimension: dividedHead(file.hidden_size, file.num_attention_heads, where),
    positions: file.max_position_embeddings,
    tokenTypes: file.type_vocab_size,
    norm: { kind: 'layer', epsilon: file.layer_norm_eps, offset: 0 },
    activation: activationOf('hidden_act', file.hidden_act, where),
    paddingId,
    contextLength: file.max_position_embeddings - (roberta ? paddingId + 1 : 0),
    pooler: architecture.endsWith('Model') || (classifier && !roberta),
    // Transformers has two classes unless the file says otherwise.
    ...(classifier && { labels: file.id2label ? Object.keys(file.id2label).length : (file.num_labels ?? 2) }),
  }
}

/** The `config.json` of a configuration, as transformers reads it. Inverse of {@link parseEncoderConfig}. */
export function encoderConfigToJson(config: EncoderConfig): Record<string, unknown> {
  const { className } = families[config.modelType]
  const kind = config.labels === undefined ? (config.pooler ? 'Model' : 'ForMaskedLM') : 'ForSequenceClassification'
  const classes = Array.from({ length: config.labels ?? 0 }, (_, i) => [`LABEL_${i}`, i] as const)
  return {
    architectures: [`${className}${kind}`],
    model_type: config.modelType,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    max_position_embeddings: config.positions,
    type_vocab_size: config.tokenTypes,
    layer_norm_eps: config.norm.epsilon,
    hidden_act: activationToJson(config.activation),
    pad_token_id: config.paddingId,
    ...(config.labels !== undefined && {
      id2label: Object.fromEntries(classes.map(([label, i]) => [i, label])),
      label2id: Object.fromEntries(classes),
    }),
    torch_dtype: 'float32',
  }
}

/** Reads `config.json` of an encoder's folder. */
export function readEncoderConfig(folder: string): EncoderConfig {
  const file = join(folder, 'config.json')
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${file}: is ${folder} a model folder?`, { cause: error })
  }
  return parseEncoderConfig(json, file)
}
