import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { readSafetensors } from '../../models/index.js'
import { dot, normalized, type Vector } from './vectors.js'

export const POOLINGS = ['mean', 'cls', 'max', 'last'] as const
/** How the states of a text's tokens become one vector. */
export type Pooling = (typeof POOLINGS)[number]

/** A linear layer after pooling, as LaBSE has one. */
export interface DenseLayer {
  /** [out][in] */
  rows: readonly Float32Array[]
  bias: Float32Array | undefined
  tanh: boolean
}

/** What a sentence-transformers folder says of how its vectors are made. */
export interface SentenceConfig {
  /** Several are concatenated. */
  poolings: readonly Pooling[]
  dense: readonly DenseLayer[]
  normalize: boolean
  /** Most tokens of a text, special ones included. */
  maxTokens: number | undefined
  lowerCase: boolean
}

const modules = z.array(z.object({ path: z.string(), type: z.string() }))
const flag = z.boolean().optional()
const poolingConfig = z.looseObject({
  pooling_mode: z.union([z.string(), z.array(z.string())]).optional(),
  pooling_mode_cls_token: flag,
  pooling_mode_mean_tokens: flag,
  pooling_mode_max_tokens: flag,
  pooling_mode_mean_sqrt_len_tokens: flag,
  pooling_mode_weightedmean_tokens: flag,
  pooling_mode_lasttoken: flag,
})
const denseConfig = z.looseObject({
  in_features: z.int().positive(),
  out_features: z.int().positive(),
  bias: z.boolean().default(true),
  activation_function: z.string().default('torch.nn.modules.activation.Tanh'),
})
const transformerConfig = z.looseObject({
  max_seq_length: z.int().positive().nullish(),
  do_lower_case: z.boolean().nullish(),
})

/**
 * Reads `modules.json` and what it names of a sentence-transformers folder: pooling (mean, first token, max, last token), dense
 * layers, normalisation, the longest text. Null where there is no such file: a bare encoder.
 *
 * @throws MyriadError 'checkpoint' naming the file and what is not understood
 */
export function readSentenceConfig(folder: string): SentenceConfig | null {
  if (!existsSync(join(folder, 'modules.json'))) return null
  const config: SentenceConfig & { dense: DenseLayer[] } = {
    poolings: ['mean'],
    dense: [],
    normalize: false,
    maxTokens: undefined,
    lowerCase: false,
  }
  for (const { path, type } of parse(modules, folder, 'modules.json')) {
    // Older files name the module's file too, newer ones the package's part: the last word is the class.
    switch (type.split('.').at(-1)) {
      case 'Transformer': {
        const file = 'sentence_bert_config.json'
        const own = existsSync(join(folder, path, file)) ? parse(transformerConfig, join(folder, path), file) : {}
        config.maxTokens = own.max_seq_length ?? tokenizerLimit(join(folder, path))
        config.lowerCase = own.do_lower_case ?? false
        break
      }
      case 'Pooling':
        config.poolings = poolingsOf(parse(poolingConfig, join(folder, path), 'config.json'), join(folder, path))
        break
      case 'Dense':
        config.dense.push(readDense(join(folder, path)))
        break
      case 'Normalize':
        config.normalize = true
        break
      default:
        throw new MyriadError('checkpoint', `${join(folder, 'modules.json')}: a module "${type}" is not supported`)
    }
  }
  return config
}

/** Where the module has no limit of its own it is the tokenizer's; what has none writes an enormous number. */
function tokenizerLimit(folder: string): number | undefined {
  const file = 'tokenizer_config.json'
  if (!existsSync(join(folder, file))) return undefined
  const { model_max_length: limit } = parse(z.looseObject({ model_max_length: z.number().nullish() }), folder, file)
  return limit !== null && limit !== undefined && limit >= 1 && limit < 1e6 ? Math.floor(limit) : undefined
}

const modes: Readonly<Record<string, Pooling>> = { mean: 'mean', cls: 'cls', max: 'max', lasttoken: 'last' }

function poolingsOf(file: z.infer<typeof poolingConfig>, folder: string): Pooling[] {
  // The order in which sentence-transformers concatenates them.
  const flags: [boolean | undefined, string][] = [
    [file.pooling_mode_cls_token, 'cls'],
    [file.pooling_mode_max_tokens, 'max'],
    [file.pooling_mode_mean_tokens, 'mean'],
    [file.pooling_mode_mean_sqrt_len_tokens, 'mean_sqrt_len_tokens'],
    [file.pooling_mode_weightedmean_tokens, 'weightedmean'],
    [file.pooling_mode_lasttoken, 'lasttoken'],
  ]
  const set = flags.filter(([on]) => on).map(([, mode]) => mode)
  const named = set.length > 0 ? set : [file.pooling_mode ?? 'mean'].flat()
  return named.map((mode) => {
    if (modes[mode]) return modes[mode]
    const known = Object.keys(modes).join(', ')
    throw new MyriadError('checkpoint', `${folder}/config.json: pooling "${mode}" is not supported; ${known} are`)
  })
}

function readDense(folder: string): DenseLayer {
  const config = parse(denseConfig, folder, 'config.json')
  const activation = config.activation_function.split('.').at(-1)
  if (activation !== 'Tanh' && activation !== 'Identity')
    throw new MyriadError('checkpoint', `${folder}/config.json: activation "${activation}" is not Tanh or Identity`)
  const { tensors } = readSafetensors(join(folder, 'model.safetensors'))
  const { in_features: width, out_features: out } = config
  const weight = tensors['linear.weight']
  const bias = tensors['linear.bias']
  if (weight?.shape.join() !== `${out},${width}` || (config.bias && bias?.shape.join() !== `${out}`))
    throw new MyriadError('checkpoint', `${folder}/model.safetensors: no linear.weight [${out}, ${width}] and bias`)
  return {
    rows: Array.from({ length: out }, (_, i) => weight.data.subarray(i * width, (i + 1) * width)),
    bias: config.bias ? bias.data : undefined,
    tanh: activation === 'Tanh',
  }
}

function parse<T extends z.ZodType>(schema: T, folder: string, file: string): z.output<T> {
  const path = join(folder, file)
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `cannot read ${path}`, { cause: error })
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [{ path: field, message }] = parsed.error.issues
  throw new MyriadError('checkpoint', `${path}: ${field.join('.') || 'the file'}: ${message}`)
}

/**
 * One vector from the states of a text's tokens.
 *
 * @param states [tokens * dimension], special tokens included
 * @returns [dimension], or [poolings * dimension]
 */
export function poolStates(states: Float32Array, dimension: number, poolings: readonly Pooling[]): Vector {
  const count = states.length / dimension
  const result = new Float32Array(poolings.length * dimension)
  poolings.forEach((pooling, k) => {
    const into = result.subarray(k * dimension, (k + 1) * dimension)
    if (pooling === 'cls') into.set(states.subarray(0, dimension))
    else if (pooling === 'last') into.set(states.subarray((count - 1) * dimension))
    else
      for (let j = 0; j < dimension; j++) {
        let value = pooling === 'max' ? -Infinity : 0
        for (let i = j; i < states.length; i += dimension)
          value = pooling === 'max' ? Math.max(value, states[i]) : value + states[i] / count
        into[j] = value
      }
  })
  return result
}

/** What comes after pooling: dense layers, then length 1 where the folder says so. */
export function finishVector(pooled: Vector, { dense, normalize }: SentenceConfig): Vector {
  const vector = dense.reduce<Vector>(
    (x, { rows, bias, tanh }) =>
      Float32Array.from(rows, (row, i) => {
        const y = dot(row, x) + (bias?.[i] ?? 0)
        return tanh ? Math.tanh(y) : y
      }),
    pooled,
  )
  return normalize ? normalized(vector) : vector
}
