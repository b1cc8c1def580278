import type { DecoderConfig } from './config.js'

/** How the converter changed an array's layout on the way into a GGUF file. */
export type GgufLayout = 'same' | 'rotated' | 'transposed' | 'plusOne' | 'unzipped'

/** Where a weight is found in a GGUF file. */
export interface GgufPlace {
  name: string
  layout: GgufLayout
}

const llamaLayer: Record<string, string> = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
}

/** Gemma 2 and 3 have a norm on either side of attention and of the feed-forward layer. */
const gemmaLayer: Record<string, string> = {
  ...llamaLayer,
  post_attention_layernorm: 'post_attention_norm',
  pre_feedforward_layernorm: 'ffn_norm',
  post_feedforward_layernorm: 'post_ffw_norm',
}

interface Names {
  /** Up to the layer's number. */
  layers: string
  layer: Record<string, string>
  outside: Record<string, string>
}

const llama: Names = {
  layers: 'model.layers.',
  layer: llamaLayer,
  outside: { 'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output' },
}

const gpt2: Names = {
  layers: 'transformer.h.',
  layer: {
    ln_1: 'attn_norm',
    'attn.c_attn': 'attn_qkv',
    'attn.c_proj': 'attn_output',
    ln_2: 'ffn_norm',
    'mlp.c_fc': 'ffn_up',
    'mlp.c_proj': 'ffn_down',
  },
  outside: {
    'transformer.wte': 'token_embd',
    'transformer.wpe': 'position_embd',
    'transformer.ln_f': 'output_norm',
    lm_head: 'output',
  },
}

const gptNeox: Names = {
  layers: 'gpt_neox.layers.',
  layer: {
    input_layernorm: 'attn_norm',
    'attention.query_key_value': 'attn_qkv',
    'attention.dense': 'attn_output',
    post_attention_layernorm: 'ffn_norm',
    'mlp.dense_h_to_4h': 'ffn_up',
    'mlp.dense_4h_to_h': 'ffn_down',
  },
  outside: {
    'gpt_neox.embed_in': 'token_embd',
    'gpt_neox.final_layer_norm': 'output_norm',
    embed_out: 'output',
  },
}

/** By GGUF's name of the architecture. */
const namesOf: Record<string, Names> = {
  llama,
  qwen2: llama,
  qwen3: llama,
  phi3: llama,
  gemma2: { ...llama, layer: gemmaLayer },
  gemma3: { ...llama, layer: gemmaLayer },
  gpt2,
  gptneox: gptNeox,
}

/** GGUF's names of the architectures that are read. */
export const ggufArchitectures: readonly string[] = Object.keys(namesOf)

/**
 * Where llama.cpp's converter put a weight of Hugging Face's name (`model.layers.3.self_attn.q_proj.weight` is
 * `blk.3.attn_q.weight`), and what it did to its layout; undefined for a name the architecture does not have.
 */
export function ggufPlace(architecture: string, weight: string): GgufPlace | undefined {
  const names = namesOf[architecture]
  const end = weight.lastIndexOf('.')
  const kind = weight.slice(end + 1)
  let module = weight.slice(0, end)
  let base: string | undefined
  if (module.startsWith(names.layers)) {
    const dot = module.indexOf('.', names.layers.length)
    const layer = module.slice(names.layers.length, dot)
    module = module.slice(dot + 1)
    base = names.layer[module] && `blk.${layer}.${names.layer[module]}`
  } else base = names.outside[module]
  return base ? { name: `${base}.${kind}`, layout: layoutOf(architecture, module, kind) } : undefined
}

function layoutOf(architecture: string, module: string, kind: string): GgufLayout {
  if (architecture === 'llama' && /[qk]_proj$/.test(module)) return 'rotated'
  if (architecture.startsWith('gemma') && module.endsWith('norm')) return 'plusOne'
  if (architecture === 'gpt2' && kind === 'weight' && /c_attn|c_proj|c_fc/.test(module)) return 'transposed'
  if (architecture === 'gptneox' && module.endsWith('query_key_value')) return 'unzipped'
  return 'same'
}

/** Undoes a layout. `shape` is the weight's own, Hugging Face's; where `data` has the file's order. */
export function restoreLayout(
  data: Float32Array,
  layout: GgufLayout,
  shape: readonly number[],
  config: Pick<DecoderConfig, 'heads' | 'headDimension'>,
): Float32Array {
  const rows = shape[0]
  const width = data.length / rows
  switch (layout) {
    case 'same':
      return data
    case 'plusOne': // the file holds what is multiplied with, Gemma's weights are one less
      for (let i = 0; i < data.length; i++) data[i] -= 1
      return data
    case 'transposed': {
      const result = new Float32Array(data.length)
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < width; column++) result[row * width + column] = data[column * rows + row]
      return result
    }
    case 'rotated': {
      // ggml turns neighbouring pairs (2i, 2i+1) of a head, Hugging Face's Llama pairs (i, i + half).
      const half = config.headDimension / 2
      return moveRows(data, rows, (row) => {
        const inHead = row % config.headDimension
        return row - inHead + (inHead % half) * 2 + (inHead < half ? 0 : 1)
      })
    }
    case 'unzipped': {
      // Hugging Face keeps [head][q, k, v][dimension], the file [q, k, v][head][dimension].
      const { heads, headDimension } = config
      return moveRows(data, rows, (row) => {
        const head = Math.floor(row / (3 * headDimension))
        const part = Math.floor(row / headDimension) % 3
        return (part * heads + head) * headDimension + (row % headDimension)
      })
    }
  }
}

/** A copy whose row `i` is the source's row `from(i)`. */
function moveRows(data: Float32Array, rows: number, from: (row: number) => number): Float32Array {
  const width = data.length / rows
  const result = new Float32Array(data.length)
  for (let row = 0; row < rows; row++) {
    const source = from(row) * width
    result.set(data.subarray(source, source + width), row * width)
  }
  return result
}
