import type { DecoderConfig } from './decoder-config.js'

/** How the frequencies of a rotary embedding are changed so that it reaches further than it was trained. */
export type RotaryScaling =
  /** Positions are divided by the factor (Chen et al. 2023, https://arxiv.org/abs/2306.15595). */
  | { kind: 'linear'; factor: number }
  /** Low frequencies are divided by the factor, high ones kept, those between blended (Llama 3.1). */
  | { kind: 'llama3'; factor: number; low: number; high: number; originalContext: number }
  /** Peng et al. 2023, https://arxiv.org/abs/2309.00071. */
  | {
      kind: 'yarn'
      factor: number
      betaFast: number
      betaSlow: number
      truncate: boolean
      originalContext: number
      attentionFactor: number
    }
  /**
   * One divisor for each frequency (Ding et al. 2024, https://arxiv.org/abs/2402.13753): `short` while the sequence is no longer
   * than the original context, `long` for all of a sequence that is longer.
   */
  | { kind: 'longrope'; short: number[]; long: number[]; originalContext: number; attentionFactor: number }

/** Rotary position embedding (Su et al. 2021, https://arxiv.org/abs/2104.09864) in the half-split form. */
export interface Rotary {
  theta: number
  /** Leading part of each head that is rotated, even; the rest stays as it is. */
  dimension: number
  scaling?: RotaryScaling
}

/** Cosines and sines of positions 0 to length - 1, each [length, dimension / 2]. */
export interface RotaryTable {
  cos: Float32Array
  sin: Float32Array
}

/** Angle per position of each rotated pair, [dimension / 2], for sequences of up to `length` tokens. */
export function rotaryFrequencies({ theta, dimension, scaling }: Rotary, length: number): number[] {
  const half = dimension / 2
  const plain = Array.from({ length: half }, (_, i) => theta ** (-i / half))
  switch (scaling?.kind) {
    case undefined:
      return plain
    case 'linear':
      return plain.map((frequency) => frequency / scaling.factor)
    case 'llama3':
      return plain.map((frequency) => {
        const turns = (scaling.originalContext * frequency) / (2 * Math.PI)
        const kept = clamp((turns - scaling.low) / (scaling.high - scaling.low))
        return frequency * (kept + (1 - kept) / scaling.factor)
      })
    case 'yarn': {
      // The pair that turns `turns` times within the original context.
      const pairOf = (turns: number): number =>
        (half * Math.log(scaling.originalContext / (turns * 2 * Math.PI))) / Math.log(theta)
      const [first, last] = [pairOf(scaling.betaFast), pairOf(scaling.betaSlow)]
      const low = Math.max(scaling.truncate ? Math.floor(first) : first, 0)
      const high = Math.min(scaling.truncate ? Math.ceil(last) : last, dimension - 1)
      return plain.map((frequency, i) => {
        const divided = clamp((i - low) / (high === low ? 0.001 : high - low))
        return frequency * (1 - divided + divided / scaling.factor)
      })
    }
    case 'longrope': {
      const divisors = length > scaling.originalContext ? scaling.long : scaling.short
      return plain.map((frequency, i) => frequency / divisors[i])
    }
  }
}

function clamp(x: number): number {
  return Math.min(1, Math.max(0, x))
}

function tableOf(rotary: Rotary, length: number): RotaryTable {
  const frequencies = rotaryFrequencies(rotary, length)
  const scaling = rotary.scaling
  const amplitude = scaling?.kind === 'yarn' || scaling?.kind === 'longrope' ? scaling.attentionFactor : 1
  const half = frequencies.length
  const cos = new Float32Array(length * half)
  const sin = new Float32Array(length * half)
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i]
      cos[position * half + i] = amplitude * Math.cos(angle)
      sin[position * half + i] = amplitude * Math.sin(angle)
    }
  }
  return { cos, sin }
}

/** What {@link positionTables} answers: absent for learned positions; `local` only where sliding layers rotate differently. */
export interface PositionTables {
  cos?: Float32Array
  sin?: Float32Array
  localCos?: Float32Array
  localSin?: Float32Array
}

/**
 * Tables of positions 0 to length - 1, each [length, rotaryDimension / 2], scaling and its attention factor included.
 *
 * `length` is that of the longest sequence they are for: with `longrope` scaling, tables longer than the original context rotate
 * every position otherwise, as transformers does when a sequence grows past it (keys cached before are then no longer right).
 */
export function positionTables(config: DecoderConfig, length: number): PositionTables {
  if (!config.rotary) return {}
  const tables: PositionTables = tableOf(config.rotary, length)
  if (config.localRotary) {
    const local = tableOf(config.localRotary, length)
    tables.localCos = local.cos
    tables.localSin = local.sin
  }
  return tables
}

/**
 * The longest sequence that a model is used for here: its context, but with `longrope` scaling the original one, up to which
 * every position rotates by the short factors whatever the sequence grows to.
 */
export function usableContext(config: DecoderConfig): number {
  const scaling = config.rotary?.scaling
  return scaling?.kind === 'longrope' ? Math.min(config.contextLength, scaling.originalContext) : config.contextLength
}
