import { adamW, type OptimizerState } from '../../engine/index.js'
import type { Weights } from '../../models/index.js'

export interface LearnerOptions {
  /** One shared gradient a replica, every weight in one order in one flat array: this one writes its own and reads all. */
  buffers: readonly SharedArrayBuffer[]
  own: number
  weightDecay: number
}

/** The gradient of trained weights on one replica, and the step that all replicas take alike. */
export class Learner {
  readonly state: OptimizerState
  /** Of this replica among all. */
  readonly index: number
  readonly #weights: Weights
  readonly #gradients: Float32Array[]
  readonly #optimizer: ReturnType<typeof adamW>
  readonly #offsets: Record<string, number> = {}
  /** Room for the sum of the gradients at one weight. */
  readonly #scratch: Float32Array

  constructor(weights: Weights, shapes: Readonly<Record<string, readonly number[]>>, options: LearnerOptions) {
    this.#weights = weights
    this.index = options.own
    let size = 0
    let largest = 0
    for (const name of Object.keys(shapes)) {
      this.#offsets[name] = size
      size += weights[name].length
      largest = Math.max(largest, weights[name].length)
    }
    this.#gradients = options.buffers.map((buffer) => new Float32Array(buffer))
    this.#scratch = new Float32Array(largest)
    // Norms and biases are not decayed (Loshchilov and Hutter 2019 leave this open; it is the custom since GPT-2).
    this.#optimizer = adamW({
      betas: [0.9, 0.95],
      weightDecay: options.weightDecay,
      noDecay: (name) => shapes[name].length < 2,
    })
    this.state = this.#optimizer.init(weights)
  }

  /** This replica's gradient of one weight. */
  gradientOf(name: string): Float32Array {
    const from = this.#offsets[name]
    return this.#gradients[this.index].subarray(from, from + this.#weights[name].length)
  }

  clear(): void {
    this.#gradients[this.index].fill(0)
  }

  add(name: string, gradient: Float32Array): void {
    addInto(this.gradientOf(name), gradient)
  }

  /**
   * One optimizer step on the sum of every replica's gradients, added in one order, so that all replicas stay equal bit for
   * bit. Nothing changes when the sum is not finite.
   */
  apply(learningRate: number, clipNorm: number): { applied: boolean; norm: number } {
    const { state } = this
    // The sum is formed twice, weight by weight, rather than kept: it would be one more copy of the model.
    let squares = 0
    for (const name of Object.keys(this.#offsets)) squares += squareSum(this.#sum(name))
    const norm = Math.sqrt(squares)
    if (!Number.isFinite(norm)) return { applied: false, norm }
    const gradientScale = norm > clipNorm ? clipNorm / norm : 1
    const { steps } = state
    for (const name of Object.keys(this.#offsets)) {
      // The optimizer counts a step a call; these calls are all parts of one.
      state.steps = steps
      this.#optimizer.step(this.#weights, { [name]: this.#sum(name) }, state, learningRate, { gradientScale })
    }
    return { applied: true, norm }
  }

  #sum(name: string): Float32Array {
    const from = this.#offsets[name]
    const sum = this.#scratch.subarray(0, this.#weights[name].length)
    const [first, ...others] = this.#gradients
    sum.set(first.subarray(from, from + sum.length))
    for (const part of others) addInto(sum, part.subarray(from, from + sum.length))
    return sum
  }
}

function addInto(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] += source[i]
}

function squareSum(values: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i] * values[i]
  return sum
}
