import type { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { DecoderConfig } from '../decoder-config.js'

/** Modules of one kind of decoder as Hugging Face names them; those of a layer without its prefix. */
export interface Names {
  /** Embedding table of tokens; of positions, where they are learned. */
  tokens: string
  positions?: string
  /** Prefix of the layers: their number follows. */
  layers: string
  /** Before attention. */
  attentionNorm: string
  /**
   * Queries, keys and values are three projections; or one whose outputs are all queries, then all keys, then all values
   * (`stacked`); or one with the query, key and value of each head side by side (`interleaved`).
   */
  queryKeyValue:
    { kind: 'separate'; query: string; key: string; value: string } | { kind: 'stacked' | 'interleaved'; fused: string }
  /** Over each head of queries and keys, before the rotation. */
  queryNorm?: string
  keyNorm?: string
  attentionOutput: string
  /** After attention, before it is added. */
  attentionOutputNorm?: string
  feedForwardNorm: string
  /** down(act(gate(x)) up(x)), as two projections or one of both; or down(act(up(x))). */
  feedForward:
    | { kind: 'gated'; gate: string; up: string; down: string }
    | { kind: 'stacked'; gateUp: string; down: string }
    | { kind: 'plain'; up: string; down: string }
  feedForwardOutputNorm?: string
  finalNorm: string
  /** The output projection, also its name as a module where it shares the tokens' table. */
  head: string
  /** Linear weights are stored [in, out], as GPT-2's Conv1D does, not [out, in]. */
  transposed?: boolean
}

/** A family of decoders: how its `config.json` is read and written, and what its weights are called. */
export interface Family {
  /** `model_type` in config.json. */
  modelType: string
  /** The class in `architectures`. */
  architecture: string
  names: Names
  /** Fields of config.json that `parse` reads. */
  fields: readonly string[]
  /** @throws MyriadError 'checkpoint' naming the field that is wrong or not supported */
  parse: (json: unknown, where: string) => DecoderConfig
  /** The fields of config.json beyond `architectures`, `model_type` and `torch_dtype`. */
  toJson: (config: DecoderConfig) => Record<string, unknown>
}

/** A family from the schema of its `config.json` and what is made of the parsed fields. */
export function defineFamily<Shape extends z.core.$ZodLooseShape>(family: {
  modelType: string
  architecture: string
  names: Names
  schema: z.ZodObject<Shape, z.core.$loose>
  config: (file: z.output<z.ZodObject<Shape, z.core.$loose>>, where: string) => Omit<DecoderConfig, 'modelType'>
  toJson: (config: DecoderConfig) => Record<string, unknown>
}): Family {
  const { modelType, architecture, names, schema, toJson } = family
  return {
    modelType,
    architecture,
    names,
    fields: Object.keys(schema.shape),
    toJson,
    parse: (json, where) => {
      const parsed = schema.safeParse(json)
      if (!parsed.success) {
        const problems = parsed.error.issues.map((issue) => `"${issue.path.join('.')}": ${issue.message}`)
        throw new MyriadError('checkpoint', `${where} is not a configuration of "${modelType}": ${problems.join('; ')}`)
      }
      return { modelType, ...family.config(parsed.data, where) }
    },
  }
}
