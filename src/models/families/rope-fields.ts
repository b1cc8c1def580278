/** The fields of config.json that describe rotary embeddings, in the words of transformers 4 and of transformers 5. */
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Rotary, RotaryScaling } from '../rotary.js'

const positive = z.number().positive()

/** `rope_scaling` (transformers 4) or `rope_parameters` (5). */
export const ropeObject = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: positive.nullish(),
  partial_rotary_factor: positive.max(1).nullish(),
  factor: positive.nullish(),
  original_max_position_embeddings: positive.nullish(),
  low_freq_factor: positive.optional(),
  high_freq_factor: positive.optional(),
  attention_factor: positive.nullish(),
  beta_fast: positive.nullish(),
  beta_slow: positive.nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  truncate: z.boolean().optional(),
  short_factor: z.array(positive).optional(),
  long_factor: z.array(positive).optional(),
})

export type RopeObject = z.output<typeof ropeObject>

/** Where a family keeps them at the top of config.json. */
export const ropeFields = {
  rope_theta: positive.nullish(),
  rope_parameters: ropeObject.nullish(),
  rope_scaling: ropeObject.nullish(),
  partial_rotary_factor: positive.max(1).nullish(),
  original_max_position_embeddings: positive.nullish(),
}

interface RopeFields {
  rope_theta?: number | null
  rope_parameters?: RopeObject | null
  rope_scaling?: RopeObject | null
  partial_rotary_factor?: number | null
  original_max_position_embeddings?: number | null
}

interface RopeContext {
  headDimension: number
  contextLength: number
  where: string
  /** `rope_theta` where the file says nothing; 10000 unless given. */
  theta?: number
  /** `partial_rotary_factor` likewise; 1 unless given. */
  fraction?: number
  /** The family rotates a part of each head if told to; otherwise a part is refused. */
  partial?: boolean
}

/** Reads {@link ropeFields}. */
export function rotaryOf(file: RopeFields, context: RopeContext): Rotary {
  const scaled = file.rope_scaling && Object.keys(file.rope_scaling).length > 0 ? file.rope_scaling : undefined
  const rope = scaled ?? file.rope_parameters ?? {}
  return rotaryFrom(
    {
      ...rope,
      rope_theta: rope.rope_theta ?? file.rope_parameters?.rope_theta ?? file.rope_theta,
      partial_rotary_factor: rope.partial_rotary_factor ?? file.partial_rotary_factor,
      original_max_position_embeddings: file.original_max_position_embeddings ?? rope.original_max_position_embeddings,
    },
    context,
  )
}

/** One rotary embedding from one object that has everything. */
export function rotaryFrom(rope: RopeObject, context: RopeContext): Rotary {
  const { headDimension, where } = context
  const fraction = rope.partial_rotary_factor ?? context.fraction ?? 1
  if (fraction !== 1 && !context.partial)
    throw new MyriadError(
      'checkpoint',
      `${where}: "partial_rotary_factor" is ${fraction}, but this architecture rotates whole heads`,
    )
  const dimension = Math.trunc(headDimension * fraction)
  if (dimension < 2 || dimension % 2 !== 0)
    throw new MyriadError(
      'checkpoint',
      `${where}: the rotated part of a head must be an even number of dimensions, got ${dimension} of ${headDimension}`,
    )
  const theta = rope.rope_theta ?? context.theta ?? 10000
  const scaling = scalingOf(rope, dimension, context)
  return { theta, dimension, ...(scaling && { scaling }) }
}

function scalingOf(
  rope: RopeObject,
  dimension: number,
  { contextLength, where }: RopeContext,
): RotaryScaling | undefined {
  const type = rope.rope_type ?? rope.type ?? 'default'
  const need = <T>(field: string, value: T | null | undefined): T => {
    if (value !== null && value !== undefined) return value
    throw new MyriadError('checkpoint', `${where}: rotary scaling "${type}" needs "${field}"`)
  }
  const originalContext = rope.original_max_position_embeddings ?? contextLength
  switch (type) {
    case 'default':
      return undefined
    case 'linear':
      return { kind: 'linear', factor: need('factor', rope.factor) }
    case 'llama3':
      return {
        kind: 'llama3',
        factor: need('factor', rope.factor),
        low: need('low_freq_factor', rope.low_freq_factor),
        high: need('high_freq_factor', rope.high_freq_factor),
        originalContext,
      }
    case 'yarn': {
      const factor = rope.factor ?? contextLength / originalContext
      return {
        kind: 'yarn',
        factor,
        betaFast: rope.beta_fast || 32,
        betaSlow: rope.beta_slow || 1,
        truncate: rope.truncate ?? true,
        originalContext,
        attentionFactor: rope.attention_factor ?? yarnAttention(factor, rope.mscale, rope.mscale_all_dim),
      }
    }
    case 'longrope':
    case 'su': {
      const short = need('short_factor', rope.short_factor)
      const long = need('long_factor', rope.long_factor)
      if (short.length !== dimension / 2 || long.length !== dimension / 2)
        throw new MyriadError(
          'checkpoint',
          `${where}: "short_factor" and "long_factor" must have ${dimension / 2} numbers, got ${short.length} and ${long.length}`,
        )
      const factor = rope.factor ?? contextLength / originalContext
      const attentionFactor = rope.attention_factor ?? longropeAttention(factor, originalContext)
      return { kind: 'longrope', short, long, originalContext, attentionFactor }
    }
    default:
      throw new MyriadError(
        'checkpoint',
        `${where}: rotary scaling "${type}" is not supported; supported are default, linear, llama3, yarn, longrope`,
      )
  }
}

/** Peng et al. 2023, equation 22, and DeepSeek's two scales that divide it. */
function yarnAttention(factor: number, mscale?: number | null, mscaleAll?: number | null): number {
  const grown = (scale: number): number => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1)
  return mscale && mscaleAll ? grown(mscale) / grown(mscaleAll) : grown(1)
}

/** The amplitude that goes with stretching a context by a factor (Ding et al. 2024). */
export function longropeAttention(factor: number, originalContext: number): number {
  return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalContext))
}

/** `rope_scaling` as both generations of transformers read it; undefined where there is none. */
export function scalingToJson(scaling: RotaryScaling | undefined): Record<string, unknown> | undefined {
  switch (scaling?.kind) {
    case undefined:
      return undefined
    case 'linear':
      return { rope_type: 'linear', factor: scaling.factor }
    case 'llama3':
      return {
        rope_type: 'llama3',
        factor: scaling.factor,
        low_freq_factor: scaling.low,
        high_freq_factor: scaling.high,
        original_max_position_embeddings: scaling.originalContext,
      }
    case 'yarn':
      return {
        rope_type: 'yarn',
        factor: scaling.factor,
        beta_fast: scaling.betaFast,
        beta_slow: scaling.betaSlow,
        truncate: scaling.truncate,
        attention_factor: scaling.attentionFactor,
        original_max_position_embeddings: scaling.originalContext,
      }
    case 'longrope':
      return {
        rope_type: 'longrope',
        short_factor: scaling.short,
        long_factor: scaling.long,
        attention_factor: scaling.attentionFactor,
        original_max_position_embeddings: scaling.originalContext,
      }
  }
}

/** Writes {@link ropeFields}, whole heads. */
export function ropeToJson(rotary: Rotary): Record<string, unknown> {
  const scaling = scalingToJson(rotary.scaling)
  return { rope_theta: rotary.theta, ...(scaling && { rope_scaling: scaling }) }
}

/** The part of a head that is rotated, as a number whose product with the head's width is not rounded below it. */
export function rotatedFraction(rotary: Rotary, headDimension: number): number {
  const fraction = rotary.dimension / headDimension
  return Math.trunc(fraction * headDimension) < rotary.dimension ? fraction * (1 + Number.EPSILON) : fraction
}
