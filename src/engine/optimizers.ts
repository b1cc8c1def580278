/**
 * Optimizers as pairs of functions on named typed arrays, after optax: `init` makes the state, `step` changes parameters and
 * state in place, so that programs which read the parameters in place see the step at once.
 */
import * as lanes from './simd.js'
import { blockLength, compileLoop, type Loop } from './simd.js'

/** Named arrays: parameters, gradients, moments. */
export type Arrays = Readonly<Record<string, Float32Array>>

/** Plain data: may be saved and restored as it is. */
export interface OptimizerState {
  /** Steps taken. */
  steps: number
  /** By moment, then by parameter; shaped like the parameters. */
  moments: Record<string, Record<string, Float32Array>>
}

export interface Optimizer {
  init(parameters: Arrays): OptimizerState
  /** One step. Parameters without a gradient stay as they are. Changes `parameters` and `state`; gradients are only read. */
  step(
    parameters: Arrays,
    gradients: Arrays,
    state: OptimizerState,
    learningRate: number,
    options?: {
      /** Multiplies the gradients on their way, as clipping does; 1 unless given. */ gradientScale?: number
    },
  ): void
}

export interface AdamWOptions {
  /** Decay of the first and second moment; [0.9, 0.999] unless given. */
  betas?: readonly [number, number]
  /** Added to the root of the second moment; 1e-8 unless given. */
  epsilon?: number
  /** Fraction of each weight, times the learning rate, that is taken off per step; 0 unless given. */
  weightDecay?: number
  /** Parameters that do not decay, by name: usually biases and norm weights. */
  noDecay?: (name: string) => boolean
}

function zerosLike(parameters: Arrays): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(parameters).map(([name, { length }]) => [name, new Float32Array(length)]))
}

/** Blocks: weights, first moments, second moments, gradients. */
function adamWLoop(): Loop {
  return compileLoop(4, 8, ({ load, scalar, keep, store }) => {
    const [beta1, share1, beta2, share2, stepSize, correction, epsilon, decay] = [0, 1, 2, 3, 4, 5, 6, 7].map(scalar)
    const g = keep(load(3))
    const m = keep(lanes.add(lanes.mul(beta1, load(1)), lanes.mul(share1, g)))
    const v = keep(lanes.add(lanes.mul(beta2, load(2)), lanes.mul(share2, lanes.mul(g, g))))
    store(1, m)
    store(2, v)
    const root = lanes.add(lanes.mul(lanes.sqrt(v), correction), epsilon)
    store(0, lanes.sub(lanes.mul(load(0), decay), lanes.div(lanes.mul(stepSize, m), root)))
  })
}

/**
 * Adam with decoupled weight decay (https://arxiv.org/abs/1711.05101, algorithm 2; the same numbers as torch.optim.AdamW).
 *
 * Parameters may be parts of larger arrays: several workers can share a step, each with the parts and the state that are its.
 *
 * @example
 * const optimizer = adamW({ betas: [0.9, 0.95], weightDecay: 0.1 })
 * const state = optimizer.init(parameters)
 * optimizer.step(parameters, gradients, state, 3e-4)
 */
export function adamW(options: AdamWOptions = {}): Optimizer {
  const { betas = [0.9, 0.999], epsilon = 1e-8, weightDecay = 0, noDecay = () => false } = options
  const [beta1, beta2] = betas
  let loop: Loop | undefined
  return {
    init: (parameters) => ({
      steps: 0,
      moments: { first: zerosLike(parameters), second: zerosLike(parameters) },
    }),
    step: (parameters, gradients, state, learningRate, { gradientScale = 1 } = {}) => {
      loop ??= adamWLoop()
      state.steps++
      const share1 = (1 - beta1) * gradientScale
      const share2 = (1 - beta2) * gradientScale ** 2
      const stepSize = learningRate / (1 - beta1 ** state.steps)
      const correction = 1 / Math.sqrt(1 - beta2 ** state.steps)
      for (const [name, gradient] of Object.entries(gradients)) {
        const keep = 1 - (noDecay(name) ? 0 : learningRate * weightDecay)
        const arrays = [parameters[name], state.moments.first[name], state.moments.second[name], gradient]
        const { length } = parameters[name]
        for (let start = 0; start < length; start += blockLength) {
          const end = Math.min(start + blockLength, length)
          arrays.forEach((array, i) => loop!.blocks[i].set(array.subarray(start, end)))
          loop.run(end - start, beta1, share1, beta2, share2, stepSize, correction, epsilon, keep)
          for (let i = 0; i < 3; i++) arrays[i].set(loop.blocks[i].subarray(0, end - start), start)
        }
      }
    },
  }
}

/**
 * Stochastic gradient descent with momentum (the same numbers as torch.optim.SGD): velocity = momentum velocity + gradient;
 * weight -= learning rate velocity. Momentum 0 unless given.
 */
export function sgd(options: { momentum?: number } = {}): Optimizer {
  const { momentum = 0 } = options
  return {
    init: (parameters) => {
      const moments: OptimizerState['moments'] = {}
      if (momentum !== 0) moments.velocity = zerosLike(parameters)
      return { steps: 0, moments }
    },
    step: (parameters, gradients, state, learningRate, { gradientScale = 1 } = {}) => {
      state.steps++
      for (const [name, gradient] of Object.entries(gradients)) {
        const weights = parameters[name]
        const velocity = state.moments.velocity?.[name]
        for (let i = 0; i < weights.length; i++) {
          let change = gradient[i] * gradientScale
          if (velocity) change = velocity[i] = momentum * velocity[i] + change
          weights[i] -= learningRate * change
        }
      }
    },
  }
}

/** The Euclidean norm of all gradients together; NaN or infinite when one of them is. */
export function globalNorm(gradients: Arrays): number {
  let sum = 0
  for (const gradient of Object.values(gradients)) {
    // Four sums break the chain of dependent additions, which is what this loop waits for.
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    const whole = gradient.length & ~3
    for (let i = 0; i < whole; i += 4) {
      a += gradient[i] * gradient[i]
      b += gradient[i + 1] * gradient[i + 1]
      c += gradient[i + 2] * gradient[i + 2]
      d += gradient[i + 3] * gradient[i + 3]
    }
    for (let i = whole; i < gradient.length; i++) a += gradient[i] * gradient[i]
    sum += a + b + (c + d)
  }
  return Math.sqrt(sum)
}

/** Scales all gradients in place so that their norm is at most `maxNorm`. Answers the norm before. */
export function clipByGlobalNorm(gradients: Arrays, maxNorm: number): number {
  const norm = globalNorm(gradients)
  if (norm > maxNorm) scale(gradients, maxNorm / norm)
  return norm
}

/** Multiplies all arrays in place. */
export function scale(arrays: Arrays, factor: number): void {
  for (const array of Object.values(arrays)) {
    for (let i = 0; i < array.length; i++) array[i] *= factor
  }
}

/**
 * Gradient accumulation over micro-batches: adds `gradients` to `total` in place. Start with an empty record; the first
 * micro-batch's arrays become the total.
 *
 * @example
 * const total: Record<string, Float32Array> = {}
 * for (const micro of batches) accumulate(total, await gradientsOf(micro))
 */
export function accumulate(total: Record<string, Float32Array>, gradients: Arrays): void {
  for (const [name, gradient] of Object.entries(gradients)) {
    const sum = total[name]
    if (!sum) total[name] = gradient
    else for (let i = 0; i < sum.length; i++) sum[i] += gradient[i]
  }
}
