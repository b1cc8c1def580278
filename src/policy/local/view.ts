import { deriveSeed, MyriadError } from '../../core/index.js'
import type { OptimizerState, Program, Value } from '../../engine/index.js'
import {
  adapterShapes,
  initializeAdapter,
  parameterShapes,
  scatterEmbedding,
  virtualTokens,
  type AdapterConfig,
  type DecoderConfig,
  type Weights,
} from '../../models/index.js'
import { Learner } from './learner.js'
import { arraysOf, type ReplicaLoss, type ReplicaSequence } from './lessons.js'
import { readBy, windowMask } from './masks.js'
import { pack, pick, pickIds, type PackedRows, type PackItem } from './packing.js'
import {
  extendProgram,
  logitsProgram,
  fewestPlaces,
  scoreProgram,
  trainProgram,
  type ProgramSpec,
  type SamplingSpec,
  type ScoreWants,
} from './programs.js'
import { quantizationFor, quantizedValues } from './quantized.js'
import type { Replica } from './replica.js'
import { valueHeadShapes } from './value-head.js'
import type { ViewSetup } from './view-setup.js'

/** A sequence to score; ids of alternatives where they are given, [tokens * count]. */
export interface ScoreItem extends PackItem {
  ids?: Int32Array
}

/** What a score tells beside logprobs and entropies: the most probable alternatives, or given ones; values of the head. */
export interface ScoreExtras {
  alternatives?: { count: number; given: boolean }
  values?: boolean
}

/** One array per sequence: [tokens], 0 where nothing was wanted; alternatives [tokens * count], ids -1 where there is none. */
export interface Scores {
  logprobs: Float32Array[]
  entropy: Float32Array[]
  alternatives?: { count: number; ids: Int32Array[]; logprobs: Float32Array[] }
  values?: Float32Array[]
}

/**
 * One policy on a replica: the shared weights themselves, an adapter over them, or a frozen copy. What it does not have of
 * its own it reads from the replica.
 */
export class View {
  readonly name: string
  readonly replica: Replica
  readonly config: DecoderConfig
  readonly adapter: AdapterConfig | undefined
  /** Virtual tokens of its adapter: they come before every sequence, in positions and in caches. */
  readonly virtualTokens: number
  /** The weights that are its own: trained, unless it is frozen. */
  readonly own: Weights
  readonly shapes: Record<string, number[]>
  /** Its value head, which is among `own`, if it has one. */
  readonly valueHead: Weights | undefined
  readonly #all: Weights
  readonly #copied: boolean
  readonly #learner: Learner | undefined
  /** How often its weights changed. */
  #changes = 0

  constructor(replica: Replica, name: string, setup: ViewSetup) {
    this.name = name
    this.replica = replica
    this.config = replica.config
    this.adapter = setup.adapter?.config
    this.virtualTokens = virtualTokens(this.adapter)
    this.valueHead = setup.valueHead
    const whole = setup.weights ?? replica.weights
    const own = setup.adapter ? adapterWeights(replica, setup.adapter) : whole
    this.own = setup.valueHead ? { ...own, ...setup.valueHead } : own
    this.shapes = {
      ...(this.adapter ? adapterShapes(this.config, this.adapter) : parameterShapes(this.config)),
      ...(setup.valueHead && valueHeadShapes(this.config.hiddenSize)),
    }
    this.#all = this.adapter ? replica.weights : whole
    this.#copied = !setup.gradients && Boolean(setup.adapter ?? setup.weights)
    if (setup.gradients)
      this.#learner = new Learner(this.own, this.shapes, {
        ...setup.gradients,
        weightDecay: replica.options.weightDecay,
      })
  }

  /** What programs read of its own. */
  get values(): Record<string, Value> {
    return Object.fromEntries(
      Object.entries(this.shapes).map(([name, shape]) => [name, { data: this.own[name], shape }]),
    )
  }

  /** Longest sequence in tokens, virtual ones not counted. */
  get contextLength(): number {
    return this.replica.contextLength - this.virtualTokens
  }

  /** Whether it is trained; a frozen copy and the bare model are not. */
  get isTrained(): boolean {
    return this.#learner !== undefined
  }

  /** Whether its weights are its own to write. */
  get isWritable(): boolean {
    return this.isTrained || this.#copied
  }

  get optimizerState(): OptimizerState {
    return this.#learning().state
  }

  extend(withPast: boolean): Promise<Program> {
    return this.#sampling('extend', withPast, extendProgram)
  }

  logits(withPast: boolean): Promise<Program> {
    return this.#sampling('logits', withPast, logitsProgram)
  }

  /**
   * Decoding multiplies few rows by every weight, so how weights lie in memory decides its speed: those that never change are
   * laid out when the program is compiled, and may be rounded. Reading a prompt is like scoring.
   */
  #sampling(
    kind: string,
    withPast: boolean,
    make: (spec: SamplingSpec, withPast: boolean) => Promise<Program>,
  ): Promise<Program> {
    const { config, replica } = this
    const { samplingBits } = replica.options
    if (!withPast) return this.#program(kind, (spec) => make(spec, false))
    const frozen = replica.frozen && this.#all === replica.weights
    if (samplingBits === undefined) {
      const constants = frozen ? replica.bound : undefined
      return this.#program(`${kind} past ${frozen}`, (spec) => make({ ...spec, constants }, true))
    }
    const quantized = quantizationFor(samplingBits, frozen)
    const values = (): Record<string, Value> => quantizedValues(config, this.#all, quantized)
    return this.#program(
      `${kind} past ${JSON.stringify(quantized)}`,
      (spec) => make({ ...spec, quantized, constants: frozen ? values() : undefined }, true),
      frozen ? undefined : { mark: this.#changes, values },
    )
  }

  /** Feeds of tokens at positions: looked-up embeddings and rotary tables. `shape` is [batch, time]. */
  tokens(tokens: ArrayLike<number>, positions: ArrayLike<number>, shape: readonly number[]): Record<string, Value> {
    const { hiddenSize } = this.config
    const data = new Float32Array(tokens.length * hiddenSize)
    this.replica.embed(this.#all, tokens, positions, data)
    return { embedded: { data, shape: [...shape, hiddenSize] }, ...this.replica.rotate(positions, shape) }
  }

  /** Logprobs and entropies of the wanted tokens, and what else is asked for. */
  async score(items: readonly ScoreItem[], temperature: number, extras: ScoreExtras): Promise<Scores> {
    const { given = false, count: asked = 0 } = extras.alternatives ?? {}
    const count = given ? asked : Math.min(asked, this.config.vocabularySize)
    const spec: ScoreWants = {
      ...(asked > 0 && { alternatives: given ? ('given' as const) : count }),
      ...(extras.values && { values: true }),
    }
    const perToken = (width = 1): Float32Array[] => items.map((item) => new Float32Array(item.tokens.length * width))
    const scores: Scores = { logprobs: perToken(), entropy: perToken() }
    if (extras.values) scores.values = perToken()
    if (asked > 0)
      scores.alternatives = {
        count: asked,
        ids: items.map((item) => item.ids ?? new Int32Array(item.tokens.length * asked).fill(-1)),
        logprobs: perToken(asked),
      }
    const program = await this.#program(`score ${JSON.stringify(spec)}`, (whole) => scoreProgram(whole, spec))
    for (const rows of this.#pack(items)) {
      const feeds = this.#feeds(rows, temperature)
      if (asked > 0 && !given) {
        const fewest = fewestPlaces(this.replica.options.tokenBudget)
        for (const name of ['select', 'targets'] as const) feeds[name] = filledUp(rows[name], fewest)
      }
      if (given) feeds.alternatives = pickIds(rows, count, (sequence) => items[sequence].ids!)
      const result = await program.run(readBy(program, feeds))
      const { alternatives } = scores
      rows.select.forEach((_, i) => {
        const [sequence, entry] = [rows.sequence[i], rows.entry[i]]
        for (const name of ['logprobs', 'entropy', 'values'] as const) {
          const into = scores[name]
          if (into) into[sequence][entry] = Number(result[name].data[i])
        }
        for (let k = 0; alternatives && k < count; k++) {
          const at = entry * asked + k
          if (!given) alternatives.ids[sequence][at] = Number(result.alternatives.data[i * count + k])
          if (alternatives.ids[sequence][at] >= 0)
            alternatives.logprobs[sequence][at] = Number(result.alternativeLogprobs.data[i * count + k])
        }
      })
    }
    return scores
  }

  /** Clears the gradient, then adds that of the whole batch, micro-batch by micro-batch. Returns the logprobs on the way. */
  async accumulate(
    items: readonly ReplicaSequence[],
    loss: ReplicaLoss,
    temperature: number,
  ): Promise<{ logprobs: Float32Array[]; packedTokens: number }> {
    const learner = this.#learning()
    learner.clear()
    const logprobs = items.map((item) => new Float32Array(item.tokens.length))
    const program = await this.#program(`train ${JSON.stringify(loss)}`, (spec) => trainProgram(spec, loss))
    const reads = new Set(program.inputs.map(({ name }) => name))
    let packedTokens = 0
    for (const [index, rows] of this.#pack(items).entries()) {
      packedTokens += rows.used
      const feeds = this.#feeds(rows, temperature)
      // The gradient of k1 does not depend on the reference: its program does not read what its loss names.
      for (const name of arraysOf(loss))
        if (reads.has(name)) feeds[name] = pick(rows, (sequence) => items[sequence].reads[name])
      if (reads.has('alternativeSlopes')) {
        const count = items[rows.sequence[0]].alternatives!.count
        feeds.alternatives = pickIds(rows, count, (sequence) => items[sequence].alternatives!.ids)
        feeds.alternativeSlopes = pick(rows, (sequence) => items[sequence].alternatives!.slopes, count)
      }
      if (reads.has('dropoutSeed'))
        feeds.dropoutSeed = {
          data: Float32Array.of(deriveSeed(learner.state.steps, 'dropout', learner.index, index) % 65536),
          shape: [1],
        }
      const { logprobs: values, embedded, ...gradients } = await program.run(readBy(program, feeds))
      for (let i = 0; i < rows.select.length; i++)
        logprobs[rows.sequence[i]][rows.entry[i]] = (values.data as Float32Array)[i]
      for (const [name, value] of Object.entries(gradients)) learner.add(name, value.data as Float32Array)
      if (embedded)
        scatterEmbedding(
          this.config,
          (name) => learner.gradientOf(name),
          rows.tokens,
          rows.positions,
          embedded.data as Float32Array,
        )
    }
    return { logprobs, packedTokens }
  }

  /** One optimizer step: see {@link Learner.apply}. */
  apply(learningRate: number, clipNorm: number): { applied: boolean; norm: number } {
    const result = this.#learning().apply(learningRate, clipNorm)
    if (result.applied) this.changed()
    return result
  }

  /** own <- (1 - rate) own + rate other, each sum rounded once. */
  follow(other: View, rate: number): void {
    if (!this.#copied)
      throw new MyriadError('usage', 'this policy is not a frozen copy: only what snapshot() answers follows another')
    const fits =
      JSON.stringify(this.adapter) === JSON.stringify(other.adapter) &&
      Object.keys(this.own).every((name) => other.own[name]?.length === this.own[name].length)
    if (!fits)
      throw new MyriadError('usage', 'a frozen copy follows the policy it was taken of: this one has other weights')
    for (const [name, weights] of Object.entries(this.own)) {
      const towards = other.own[name]
      for (let i = 0; i < weights.length; i++) weights[i] = (1 - rate) * weights[i] + rate * towards[i]
    }
    this.changed()
  }

  /** To be called when its weights were written to from outside. */
  changed(): void {
    this.#changes++
  }

  #learning(): Learner {
    if (this.#learner) return this.#learner
    throw new MyriadError('usage', 'this policy is a frozen copy: it can be sampled and scored, not trained')
  }

  #program(
    key: string,
    make: (spec: ProgramSpec) => Promise<Program>,
    extra?: Parameters<Replica['program']>[3],
  ): Promise<Program> {
    const { config, adapter, replica } = this
    const whole = `${key} ${JSON.stringify(adapter ?? null)}`
    return replica.program(this, whole, () => make({ config, adapter, ...replica.options }), extra)
  }

  #pack(items: readonly PackItem[]): PackedRows[] {
    const { rowLength, tokenBudget } = this.replica.options
    return pack(items, { length: rowLength, tokenBudget })
  }

  #feeds(rows: PackedRows, temperature: number): Record<string, Value> {
    const { slidingWindow } = this.config
    const first = this.virtualTokens
    const positions = first === 0 ? rows.positions : rows.positions.map((position) => position + first)
    const maskShape = [rows.rows, 1, rows.length, rows.length]
    const feeds: Record<string, Value> = {
      ...this.tokens(rows.tokens, positions, [rows.rows, rows.length]),
      mask: { data: rows.attention, shape: maskShape },
      select: { data: rows.select, shape: [rows.select.length] },
      targets: { data: rows.targets, shape: [rows.targets.length] },
      inverseTemperature: { data: Float32Array.of(temperature === 0 ? 1 : 1 / temperature), shape: [1] },
    }
    if (slidingWindow !== undefined) feeds.localMask = { data: windowMask(rows, slidingWindow), shape: maskShape }
    return feeds
  }
}

/** At least so many entries: zeros after those there are. */
function filledUp(data: Int32Array, fewest: number): Value {
  const filled = new Int32Array(Math.max(data.length, fewest))
  filled.set(data)
  return { data: filled, shape: [filled.length] }
}

/** Every replica makes the same ones: DoRA begins from the norms of the weights, which are at hand here. */
function adapterWeights(replica: Replica, adapter: NonNullable<ViewSetup['adapter']>): Weights {
  if ('weights' in adapter) return adapter.weights
  return initializeAdapter(replica.config, adapter.config, adapter.seed, replica.weights)
}
