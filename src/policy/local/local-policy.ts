import {
  adapterShapes,
  parameterShapes,
  readAdapter,
  usableContext,
  virtualTokens,
  type AdapterConfig,
  type DecoderConfig,
} from '../../models/index.js'
import type {
  Completion,
  CompiledLoss,
  LossResult,
  LossTokens,
  Policy,
  SampleOptions,
  SampleRequest,
  ScoreOptions,
  ScoreResult,
  TrainSequence,
  UpdateOptions,
  UpdateResult,
} from '../types.js'
import { groupByPrompt } from './packing.js'
import { firstView, type WorkerSetup } from './protocol.js'
import type { ReplicaOptions } from './replica.js'
import { Threads } from './threads.js'
import type { ReplicaSequence, ViewSetup } from './view.js'

export interface LocalPolicySetup {
  config: DecoderConfig
  source: WorkerSetup['source']
  options: ReplicaOptions
  /** Replicas, each on a thread of its own. */
  workers: number
  /** Sequences that one replica samples at a time. */
  slots: number
  stopTokens: readonly number[]
  tokenizerFolder?: string
  version?: number
  /** Trained in place of the model's own weights. */
  adapter?: AdapterSource
}

/** A new adapter, or the folder of one that was saved. */
export type AdapterSource = { config: AdapterConfig; seed?: number } | { folder: string }

function openAdapter(config: DecoderConfig, source: AdapterSource): NonNullable<ViewSetup['adapter']> {
  if ('config' in source) return { config: source.config, seed: source.seed ?? 0 }
  const { adapter, weights } = readAdapter(source.folder, config)
  return { config: adapter, weights }
}

/**
 * A policy on this machine: replicas of one model in worker threads, each with its own sessions. Work is dealt to the
 * replicas by a rule that depends on the work alone, gradients are summed in one order, and every replica takes the same
 * optimizer step, so that the same seed gives the same numbers.
 *
 * Several policies may share the threads and the model's weights: adapters over one base, and frozen copies of them.
 */
export class LocalPolicy implements Policy {
  readonly vocabularySize: number
  readonly contextLength: number
  readonly #config: DecoderConfig
  readonly #threads: Threads
  readonly #view: string
  #version: number
  #closed = false

  constructor(
    setup:
      | LocalPolicySetup
      | { config: DecoderConfig; threads: Threads; view: string; version: number; contextLength: number },
  ) {
    this.#config = setup.config
    this.vocabularySize = setup.config.vocabularySize
    this.#version = setup.version ?? 0
    if ('threads' in setup) {
      this.#threads = setup.threads
      this.#view = setup.view
      this.contextLength = setup.contextLength
    } else {
      const views = trainedViews(setup.config, setup.workers, setup.adapter)
      this.contextLength = contextOf(setup.config, views)
      this.#threads = new Threads(setup.workers, setup, views)
      this.#view = firstView
    }
  }

  get version(): number {
    return this.#version
  }

  async sample(requests: readonly SampleRequest[], options: SampleOptions = {}): Promise<Completion[]> {
    const shares: SampleRequest[][] = this.#threads.all.map(() => [])
    const dealt = new Map<string, number>()
    // Requests with one context stay together: they share its prefill. Groups are dealt round.
    for (const request of requests) {
      const key = request.tokens.join()
      let share = dealt.get(key)
      if (share === undefined) dealt.set(key, (share = dealt.size % shares.length))
      shares[share].push(request)
    }
    const abort = (): void => this.#threads.all.forEach((replica) => replica.send({ type: 'abort' }))
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      const parts = await Promise.all(
        this.#threads.all.map((replica, i) =>
          shares[i].length === 0 ? [] : replica.call('sample', [this.#view, shares[i], this.#version], options.next),
        ),
      )
      // In the order asked for; follow-ups after what they follow, or last where they have ids of their own.
      const places = new Map(requests.map((request, i) => [request.id, i]))
      const place = (completion: Completion): number => places.get(completion.id) ?? requests.length
      return parts.flat().sort((one, other) => place(one) - place(other))
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  async score(sequences: readonly (readonly number[])[], options: ScoreOptions = {}): Promise<ScoreResult[]> {
    const items = sequences.map((tokens, i) => ({
      tokens,
      mask: options.masks?.[i] ?? new Uint8Array(tokens.length).fill(1, 1),
    }))
    const { logprobs, entropy } = await this.#score(items, options.temperature ?? 1)
    return items.map((_, i) => ({ logprobs: logprobs[i], entropy: entropy[i] }))
  }

  async update(batch: readonly TrainSequence[], options: UpdateOptions): Promise<UpdateResult> {
    const temperature = options.temperature ?? 1
    const items: ReplicaSequence[] = batch.map((sequence) => ({ ...sequence, tokens: sequence.tokens }))
    let compiled: CompiledLoss | undefined = options.loss.compiled
    let result: LossResult | undefined
    if (!compiled) {
      // Any objective: ask for the logprobs, differentiate the pure function, send one number per token back.
      const { logprobs } = await this.#score(items, temperature)
      result = evaluate(batch, logprobs, options)
      spread(items, result.gradient)
      compiled = { kind: 'linear' }
    }
    const shares = this.#deal(items)
    const parts = await this.#threads.each('accumulate', (i) => [
      this.#view,
      shares[i].map((index) => items[index]),
      compiled,
      temperature,
    ])
    if (!result) {
      const logprobs: Float32Array[] = []
      shares.forEach((share, i) => share.forEach((index, j) => (logprobs[index] = parts[i].logprobs[j])))
      result = evaluate(batch, logprobs, options)
    }
    const trainedTokens = batch.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0)
    const packedTokens = parts.reduce((sum, part) => sum + part.packedTokens, 0)
    const metrics = { ...result.metrics, packedTokens }
    if (!Number.isFinite(result.value))
      return { applied: false, loss: result.value, gradientNorm: NaN, trainedTokens, metrics }
    const steps = await this.#threads.each('apply', () => [this.#view, options.learningRate, options.clipNorm ?? 1])
    const { applied, norm } = steps[0]
    if (applied) this.#version++
    return { applied, loss: result.value, gradientNorm: norm, trainedTokens, metrics }
  }

  /** A frozen copy of what this policy trains, on the same threads: all weights, or only the adapter's. */
  async snapshot(): Promise<LocalPolicy> {
    const view = this.#threads.join()
    await this.#threads.each('copyView', () => [this.#view, view])
    return this.#share(view, this.#version, this.contextLength)
  }

  /** The model without any adapter, on the same threads and weights. Frozen. */
  async base(): Promise<LocalPolicy> {
    const view = this.#threads.join()
    await this.#threads.each('addView', () => [view, {}])
    return this.#share(view, 0, contextOf(this.#config, []))
  }

  /**
   * One more policy that trains an adapter of its own over the model's weights, on the same threads. If this policy trains
   * those weights themselves, the adapter sees them change.
   */
  async withAdapter(source: AdapterSource): Promise<LocalPolicy> {
    const view = this.#threads.join()
    const setups = trainedViews(this.#config, this.#threads.all.length, source)
    await this.#threads.each('addView', (i) => [view, setups[i]])
    return this.#share(view, 0, contextOf(this.#config, setups))
  }

  async save(folder: string, options: { optimizer?: boolean } = {}): Promise<void> {
    await this.#threads.all[0].call('save', [this.#view, folder, this.#version, options.optimizer ?? false])
  }

  async load(folder: string): Promise<void> {
    const loaded = await this.#threads.each('load', () => [this.#view, folder])
    this.#version = loaded[0].version
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#threads.leave(this.#view)
  }

  #share(view: string, version: number, contextLength: number): LocalPolicy {
    return new LocalPolicy({ config: this.#config, threads: this.#threads, view, version, contextLength })
  }

  async #score(
    items: readonly { tokens: readonly number[]; mask: Uint8Array }[],
    temperature: number,
  ): Promise<{ logprobs: Float32Array[]; entropy: Float32Array[] }> {
    const shares = this.#deal(items)
    const parts = await this.#threads.each('score', (i) => [
      this.#view,
      shares[i].map((index) => ({ tokens: items[index].tokens, mask: items[index].mask })),
      temperature,
    ])
    const logprobs: Float32Array[] = []
    const entropy: Float32Array[] = []
    shares.forEach((share, i) =>
      share.forEach((index, j) => {
        logprobs[index] = parts[i].logprobs[j]
        entropy[index] = parts[i].entropy[j]
      }),
    )
    return { logprobs, entropy }
  }

  /**
   * Deals groups that share a prompt, in pieces of at most 16 sequences, to the replica with the least to do. (Pretraining
   * documents all share the one token they begin with: without pieces they would all go to one replica.)
   */
  #deal(items: readonly { tokens: readonly number[]; mask: Uint8Array }[]): number[][] {
    const shares: number[][] = this.#threads.all.map(() => [])
    const load = this.#threads.all.map(() => 0)
    for (const group of groupByPrompt(items))
      for (let start = 0; start < group.length; start += 16) {
        const piece = group.slice(start, start + 16)
        const least = load.indexOf(Math.min(...load))
        shares[least].push(...piece)
        for (const index of piece) load[least] += items[index].tokens.length
      }
    return shares
  }
}

/** Longest sequence in tokens: the virtual ones of an adapter take their share of the model's context. */
function contextOf(config: DecoderConfig, [view]: readonly ViewSetup[]): number {
  return usableContext(config) - virtualTokens(view?.adapter?.config)
}

/** What each replica's view has of its own to train: one gradient a replica, in memory that all share. */
function trainedViews(config: DecoderConfig, workers: number, source?: AdapterSource): ViewSetup[] {
  const adapter = source && openAdapter(config, source)
  const shapes = adapter ? adapterShapes(config, adapter.config) : parameterShapes(config)
  const size = Object.values(shapes).reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
  const buffers = Array.from({ length: workers }, () => new SharedArrayBuffer(size * 4))
  return buffers.map((_, own) => ({ adapter, gradients: { buffers, own } }))
}

/** Lays the trainable tokens of a batch end to end, as objectives take them. */
function evaluate(
  batch: readonly TrainSequence[],
  logprobs: readonly Float32Array[],
  options: UpdateOptions,
): LossResult {
  const count = batch.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0)
  const tokens: LossTokens = {
    logprobs: new Float64Array(count),
    oldLogprobs: new Float64Array(count),
    advantages: new Float64Array(count),
    weights: new Float64Array(count),
    segments: new Int32Array(count),
  }
  const referenced = batch.length > 0 && batch.every((sequence) => sequence.referenceLogprobs)
  if (referenced) tokens.referenceLogprobs = new Float64Array(count)
  let i = 0
  batch.forEach((sequence, index) =>
    sequence.mask.forEach((trainable, t) => {
      if (!trainable) return
      tokens.logprobs[i] = logprobs[index][t]
      tokens.oldLogprobs[i] = sequence.logprobs[t]
      tokens.advantages[i] = sequence.advantages[t]
      tokens.weights[i] = sequence.weights[t]
      if (tokens.referenceLogprobs && sequence.referenceLogprobs)
        tokens.referenceLogprobs[i] = sequence.referenceLogprobs[t]
      tokens.segments[i] = index
      i++
    }),
  )
  return options.loss.evaluate(tokens)
}

/** Writes a gradient per trainable token back as a linear loss: weight -1 times advantage g has gradient g. */
function spread(items: ReplicaSequence[], gradient: Float64Array): void {
  let i = 0
  for (const item of items) {
    const advantages = new Float32Array(item.tokens.length)
    item.mask.forEach((trainable, t) => {
      if (trainable) advantages[t] = gradient[i++]
    })
    item.advantages = advantages
    item.weights = new Float32Array(item.tokens.length).fill(-1)
  }
}
