import { MyriadError, type Random } from '../../core/index.js'
import type { Parameters } from './targets.js'

/** A small network: layers of `weight.i` [inputs * outputs] and `bias.i` [outputs], with ReLU between them. */
export interface Mlp {
  /** Inputs, hidden layers, outputs. */
  sizes: readonly number[]
  parameters: Record<string, Float32Array>
}

/**
 * A network with weights from a normal distribution of variance 2 / inputs (arXiv 1502.01852) and biases of 0. It is meant
 * for a few thousand weights: small worlds, tests, bandits.
 *
 * @example const network = createMlp([16, 32, 4], random)
 */
export function createMlp(sizes: readonly number[], random: Random): Mlp {
  const parameters: Record<string, Float32Array> = {}
  for (let i = 0; i + 1 < sizes.length; i++) {
    const scale = Math.sqrt(2 / sizes[i])
    parameters[`weight.${i}`] = Float32Array.from({ length: sizes[i] * sizes[i + 1] }, () => scale * random.normal())
    parameters[`bias.${i}`] = new Float32Array(sizes[i + 1])
  }
  return { sizes, parameters }
}

/** Inputs of every layer, and the outputs last. */
export function forwardMlp(
  { sizes, parameters }: { sizes: readonly number[]; parameters: Parameters },
  input: ArrayLike<number>,
): Float64Array[] {
  if (input.length !== sizes[0])
    throw new MyriadError('usage', `the network takes ${sizes[0]} numbers, not ${input.length}`)
  const layers = [new Float64Array(input)]
  for (let i = 0; i + 1 < sizes.length; i++) {
    const weight = parameters[`weight.${i}`]
    const from = layers[i]
    const output = new Float64Array(parameters[`bias.${i}`])
    const width = output.length
    for (let row = 0; row < from.length; row++) {
      const x = from[row]
      if (x === 0) continue
      const start = row * width
      for (let column = 0; column < width; column++) output[column] += x * weight[start + column]
    }
    if (i + 2 < sizes.length) for (let column = 0; column < width; column++) if (output[column] < 0) output[column] = 0
    layers.push(output)
  }
  return layers
}

/** Adds to `gradients` the derivatives of one item, from those of its outputs. */
export function backwardMlp(
  { sizes, parameters }: { sizes: readonly number[]; parameters: Parameters },
  layers: readonly Float64Array[],
  outputGradient: ArrayLike<number>,
  gradients: Parameters,
): void {
  let slope = new Float64Array(outputGradient)
  for (let i = sizes.length - 2; i >= 0; i--) {
    const [weight, into, bias] = [parameters[`weight.${i}`], gradients[`weight.${i}`], gradients[`bias.${i}`]]
    const width = slope.length
    const before = new Float64Array(sizes[i])
    for (let column = 0; column < width; column++) bias[column] += slope[column]
    for (let row = 0; row < before.length; row++) {
      const x = layers[i][row]
      // Of a hidden layer 0 is what the ReLU held back: nothing flows into it or its weights. Of the inputs nobody asks.
      if (x === 0) continue
      let sum = 0
      for (let column = 0; column < width; column++) {
        into[row * width + column] += x * slope[column]
        sum += weight[row * width + column] * slope[column]
      }
      before[row] = sum
    }
    slope = before
  }
}

export function zerosLike(parameters: Parameters): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(parameters).map(([name, { length }]) => [name, new Float32Array(length)]))
}
