/** Fields of config.json that several families share. */
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Activation, DecoderConfig } from '../decoder-config.js'

export const size = z.number().int().positive()

/** What Llama and those that came after it call their sizes. */
export const llamaSizes = {
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  max_position_embeddings: size,
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
}

interface LlamaSizes {
  vocab_size: number
  hidden_size: number
  intermediate_size: number
  num_hidden_layers: number
  num_attention_heads: number
  num_key_value_heads?: number | null
  head_dim?: number | null
  max_position_embeddings: number
  rms_norm_eps: number
  tie_word_embeddings: boolean
}

type Sizes = Pick<
  DecoderConfig,
  | 'vocabularySize'
  | 'hiddenSize'
  | 'intermediateSize'
  | 'layers'
  | 'heads'
  | 'keyValueHeads'
  | 'headDimension'
  | 'contextLength'
  | 'tieEmbeddings'
>

/** Reads {@link llamaSizes}. */
export function sizesOf(file: LlamaSizes, where: string): Sizes {
  const heads = file.num_attention_heads
  const keyValueHeads = file.num_key_value_heads ?? heads
  if (heads % keyValueHeads !== 0)
    throw new MyriadError(
      'checkpoint',
      `${where}: ${heads} attention heads cannot share ${keyValueHeads} key/value heads evenly`,
    )
  return {
    vocabularySize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    layers: file.num_hidden_layers,
    heads,
    keyValueHeads,
    headDimension: file.head_dim ?? dividedHead(file.hidden_size, heads, where),
    contextLength: file.max_position_embeddings,
    tieEmbeddings: file.tie_word_embeddings,
  }
}

/** Width of a head where the heads share the hidden size. */
export function dividedHead(hiddenSize: number, heads: number, where: string): number {
  if (hiddenSize % heads !== 0)
    throw new MyriadError('checkpoint', `${where}: hidden size ${hiddenSize} does not divide into ${heads} heads`)
  return hiddenSize / heads
}

/** Writes {@link llamaSizes}. */
export function sizesToJson(config: DecoderConfig): Record<string, unknown> {
  return {
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headDimension,
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.norm.epsilon,
    tie_word_embeddings: config.tieEmbeddings,
  }
}

/** Hugging Face's names; of several with one meaning, the first is written. */
const activations: Record<Activation, readonly string[]> = {
  silu: ['silu', 'swish'],
  gelu: ['gelu'],
  // The same function: they differ in the order of rounding only.
  geluTanh: ['gelu_pytorch_tanh', 'gelu_new', 'gelu_fast'],
  relu: ['relu'],
}

/** @throws MyriadError 'checkpoint' naming the field and the activations that are supported */
export function activationOf(field: string, name: string, where: string): Activation {
  const found = (Object.keys(activations) as Activation[]).find((kind) => activations[kind].includes(name))
  if (found) return found
  const known = Object.values(activations).flat()
  throw new MyriadError(
    'checkpoint',
    `${where}: "${field}" is "${name}", which is not supported; supported are ${known.join(', ')}`,
  )
}

export function activationToJson(activation: Activation): string {
  return activations[activation][0]
}

/** Layers that see everything. */
export function fullAttention(layers: number): 'full'[] {
  return Array.from({ length: layers }, () => 'full')
}

/** `layer_types` of config.json. */
export const layerTypes = z.array(z.enum(['full_attention', 'sliding_attention'])).nullish()

/**
 * The window and what each layer sees, from `layer_types`, or the family's rule where the file has none.
 *
 * @throws MyriadError 'checkpoint' when layers and window do not fit each other
 */
export function slidingOf(
  options: { layers: number; window: number | null | undefined; types: z.output<typeof layerTypes> },
  slides: (layer: number) => boolean,
  where: string,
): Pick<DecoderConfig, 'attention' | 'slidingWindow'> {
  const { layers, window, types } = options
  if (types && types.length !== layers)
    throw new MyriadError('checkpoint', `${where}: "layer_types" names ${types.length} layers of ${layers}`)
  const attention = Array.from({ length: layers }, (_, i) =>
    (types ? types[i] === 'sliding_attention' : slides(i)) ? ('sliding' as const) : ('full' as const),
  )
  if (!attention.includes('sliding')) return { attention }
  if (!window)
    throw new MyriadError('checkpoint', `${where}: layers slide, but "sliding_window" does not say how far they see`)
  return { attention, slidingWindow: window }
}

export function layerTypesToJson(config: DecoderConfig): string[] {
  return config.attention.map((kind) => `${kind}_attention`)
}
