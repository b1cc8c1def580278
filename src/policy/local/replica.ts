import { MyriadError } from '../../core/index.js'
import { adamW, globalNorm, type OptimizerState, type Program, type Value } from '../../engine/index.js'
import { parameterShapes, rotaryTables, type DecoderConfig, type Weights } from '../../models/index.js'
import type { CompiledLoss } from '../types.js'
import { pack, type PackedRows, type PackItem } from './packing.js'
import { extendProgram, logitsProgram, scoreProgram, trainProgram, type Compute } from './programs.js'

export interface ReplicaOptions extends Compute {
  /** Preferred length of a packed row, and most tokens of one micro-batch. */
  rowLength: number
  tokenBudget: number
  weightDecay: number
}

/** What a replica trains on: a sequence with everything the compiled loss reads. Arrays are [tokens]. */
export interface ReplicaSequence extends PackItem {
  logprobs: Float32Array
  advantages: Float32Array
  weights: Float32Array
  referenceLogprobs?: Float32Array
}

/**
 * One copy of the model on one thread: its weights, its optimizer and its compiled programs. Programs read the weights in
 * place, so that sampling after an update sees the new ones at once.
 */
export class Replica {
  readonly config: DecoderConfig
  readonly weights: Weights
  readonly options: ReplicaOptions
  /** The gradient of the step so far, all weights one after the other; may be shared memory. */
  readonly gradient: Float32Array
  optimizerState: OptimizerState
  /** Room for the sum of all replicas' gradients. */
  readonly #sum: Float32Array
  readonly #optimizer
  readonly #programs = new Map<string, Promise<Program>>()
  readonly #bound: Record<string, Value>
  readonly #cos: Float32Array
  readonly #sin: Float32Array
  readonly #offsets: Record<string, number> = {}

  constructor(config: DecoderConfig, weights: Weights, options: ReplicaOptions, gradient?: Float32Array) {
    this.config = config
    this.weights = weights
    this.options = options
    const shapes = parameterShapes(config)
    let size = 0
    for (const name of Object.keys(shapes)) {
      this.#offsets[name] = size
      size += weights[name].length
    }
    this.gradient = gradient ?? new Float32Array(size)
    this.#sum = new Float32Array(size)
    // Norms and biases are not decayed (Loshchilov and Hutter 2019 leave this open; it is the custom since GPT-2).
    this.#optimizer = adamW({
      betas: [0.9, 0.95],
      weightDecay: options.weightDecay,
      noDecay: (name) => /norm\.weight$|\.bias$/.test(name),
    })
    this.optimizerState = this.#optimizer.init(weights)
    this.#bound = Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, { data: weights[name], shape }]),
    )
    const tables = rotaryTables(config, config.contextLength)
    this.#cos = tables.cos
    this.#sin = tables.sin
  }

  /** Gradient of one weight within {@link gradient}. */
  gradientOf(name: string, gradient: Float32Array = this.gradient): Float32Array {
    const offset = this.#offsets[name]
    return gradient.subarray(offset, offset + this.weights[name].length)
  }

  extend(withPast: boolean): Promise<Program> {
    return this.#program(`extend ${withPast}`, () => extendProgram(this.config, this.options, withPast))
  }

  logits(withPast: boolean): Promise<Program> {
    return this.#program(`logits ${withPast}`, () => logitsProgram(this.config, this.options, withPast))
  }

  /** Rows of the embedding table for tokens, into `target` [tokens, hidden]. */
  embed(tokens: ArrayLike<number>, target: Float32Array): void {
    const table = this.weights['model.embed_tokens.weight']
    const d = this.config.hiddenSize
    for (let i = 0; i < tokens.length; i++) target.set(table.subarray(tokens[i] * d, (tokens[i] + 1) * d), i * d)
  }

  /** Cosines and sines of positions, [positions, headDimension / 2] each. */
  rotate(positions: ArrayLike<number>, cos: Float32Array, sin: Float32Array): void {
    const half = this.config.headDimension / 2
    for (let i = 0; i < positions.length; i++) {
      const from = positions[i] * half
      cos.set(this.#cos.subarray(from, from + half), i * half)
      sin.set(this.#sin.subarray(from, from + half), i * half)
    }
  }

  /** Logprobs and entropies of the wanted tokens, as one array per sequence [tokens], 0 elsewhere. */
  async score(
    items: readonly PackItem[],
    temperature: number,
  ): Promise<{ logprobs: Float32Array[]; entropy: Float32Array[] }> {
    const logprobs = items.map((item) => new Float32Array(item.tokens.length))
    const entropy = items.map((item) => new Float32Array(item.tokens.length))
    const program = await this.#program('score', () => scoreProgram(this.config, this.options))
    for (const rows of pack(items, { length: this.options.rowLength, tokenBudget: this.options.tokenBudget })) {
      const result = await program.run(this.#feeds(rows, temperature))
      const values = result.logprobs.data as Float32Array
      const entropies = result.entropy.data as Float32Array
      for (let i = 0; i < rows.select.length; i++) {
        logprobs[rows.sequence[i]][rows.entry[i]] = values[i]
        entropy[rows.sequence[i]][rows.entry[i]] = entropies[i]
      }
    }
    return { logprobs, entropy }
  }

  /** Clears the gradient, then adds that of the whole batch, micro-batch by micro-batch. Returns the logprobs on the way. */
  async accumulate(
    items: readonly ReplicaSequence[],
    loss: CompiledLoss,
    temperature: number,
  ): Promise<{ logprobs: Float32Array[]; packedTokens: number }> {
    this.gradient.fill(0)
    const logprobs = items.map((item) => new Float32Array(item.tokens.length))
    const program = await this.#program(JSON.stringify(loss), () => trainProgram(this.config, this.options, loss))
    let packedTokens = 0
    for (const rows of pack(items, { length: this.options.rowLength, tokenBudget: this.options.tokenBudget })) {
      packedTokens += rows.used
      const pick = (of: (item: ReplicaSequence) => Float32Array): Value => {
        const data = new Float32Array(rows.select.length)
        for (let i = 0; i < data.length; i++) data[i] = of(items[rows.sequence[i]])[rows.entry[i]]
        return { data, shape: [data.length] }
      }
      const feeds = this.#feeds(rows, temperature)
      feeds.weights = pick((item) => item.weights)
      feeds.advantages = pick((item) => item.advantages)
      if (loss.kind === 'clipped') {
        feeds.oldLogprobs = pick((item) => item.logprobs)
        if (program.inputs.some(({ name }) => name === 'referenceLogprobs'))
          feeds.referenceLogprobs = pick((item) => {
            if (item.referenceLogprobs) return item.referenceLogprobs
            throw new MyriadError('runtime', 'a KL term needs referenceLogprobs on every sequence of the batch')
          })
      }
      const { logprobs: values, embedded, ...gradients } = await program.run(feeds)
      for (let i = 0; i < rows.select.length; i++)
        logprobs[rows.sequence[i]][rows.entry[i]] = (values.data as Float32Array)[i]
      for (const [name, value] of Object.entries(gradients)) addInto(this.gradientOf(name), value.data as Float32Array)
      this.#scatterEmbedding(rows, embedded.data as Float32Array)
    }
    return { logprobs, packedTokens }
  }

  /**
   * One optimizer step on the sum of the given gradients (every replica's, in one order, so that all replicas stay equal bit
   * for bit). Nothing changes when the sum is not finite.
   */
  apply(
    gradients: readonly Float32Array[],
    learningRate: number,
    clipNorm: number,
  ): { applied: boolean; norm: number } {
    const total = this.#sum
    total.set(gradients[0])
    for (const part of gradients.slice(1)) addInto(total, part)
    const named = Object.fromEntries(Object.keys(this.weights).map((name) => [name, this.gradientOf(name, total)]))
    const norm = globalNorm(named)
    if (!Number.isFinite(norm)) return { applied: false, norm }
    if (norm > clipNorm) {
      const scale = clipNorm / norm
      for (let i = 0; i < total.length; i++) total[i] *= scale
    }
    this.#optimizer.step(this.weights, named, this.optimizerState, learningRate)
    return { applied: true, norm }
  }

  async close(): Promise<void> {
    for (const program of this.#programs.values()) await (await program).close()
    this.#programs.clear()
  }

  #program(key: string, make: () => Promise<Program>): Promise<Program> {
    const known = this.#programs.get(key)
    if (known) return known
    const made = make().then((program) => {
      program.bind(this.#bound)
      return program
    })
    this.#programs.set(key, made)
    return made
  }

  #feeds(rows: PackedRows, temperature: number): Record<string, Value> {
    const { hiddenSize, headDimension } = this.config
    const shape = [rows.rows, rows.length]
    const embedded = new Float32Array(rows.tokens.length * hiddenSize)
    this.embed(rows.tokens, embedded)
    const cos = new Float32Array((rows.tokens.length * headDimension) / 2)
    const sin = new Float32Array(cos.length)
    this.rotate(rows.positions, cos, sin)
    return {
      embedded: { data: embedded, shape: [...shape, hiddenSize] },
      cos: { data: cos, shape: [...shape, headDimension / 2] },
      sin: { data: sin, shape: [...shape, headDimension / 2] },
      mask: { data: rows.attention, shape: [rows.rows, 1, rows.length, rows.length] },
      select: { data: rows.select, shape: [rows.select.length] },
      targets: { data: rows.targets, shape: [rows.targets.length] },
      inverseTemperature: { data: Float32Array.of(temperature === 0 ? 1 : 1 / temperature), shape: [1] },
    }
  }

  /** The gradient of a lookup: each token's row of the table gathers what flowed back to where it stood. */
  #scatterEmbedding(rows: PackedRows, flowed: Float32Array): void {
    const table = this.gradientOf('model.embed_tokens.weight')
    const d = this.config.hiddenSize
    for (let i = 0; i < rows.tokens.length; i++) {
      const to = rows.tokens[i] * d
      const from = i * d
      for (let j = 0; j < d; j++) table[to + j] += flowed[from + j]
    }
  }
}

function addInto(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] += source[i]
}
