import { parameterCount, type DecoderConfig } from '../../models/index.js'
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
import type { WorkerSetup } from './protocol.js'
import { ReplicaThread } from './replica-thread.js'
import type { ReplicaOptions, ReplicaSequence } from './replica.js'

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
}

/**
 * A policy on this machine: replicas of one model in worker threads, each with its own sessions. Work is dealt to the
 * replicas by a rule that depends on the work alone, gradients are summed in one order, and every replica takes the same
 * optimizer step, so that the same seed gives the same numbers.
 */
export class LocalPolicy implements Policy {
  readonly vocabularySize: number
  readonly contextLength: number
  readonly #setup: LocalPolicySetup
  readonly #replicas: ReplicaThread[]
  #version: number

  constructor(setup: LocalPolicySetup) {
    this.#setup = setup
    this.vocabularySize = setup.config.vocabularySize
    this.contextLength = setup.config.contextLength
    this.#version = setup.version ?? 0
    const bytes = parameterCount(setup.config) * 4
    const gradients = Array.from({ length: setup.workers }, () => new SharedArrayBuffer(bytes))
    this.#replicas = gradients.map(
      (_, index) =>
        new ReplicaThread({
          source: setup.source,
          options: setup.options,
          slots: setup.slots,
          stopTokens: setup.stopTokens,
          tokenizerFolder: setup.tokenizerFolder,
          gradients,
          index,
        }),
    )
  }

  get version(): number {
    return this.#version
  }

  async sample(requests: readonly SampleRequest[], options: SampleOptions = {}): Promise<Completion[]> {
    const shares: SampleRequest[][] = this.#replicas.map(() => [])
    const dealt = new Map<string, number>()
    // Requests with one context stay together: they share its prefill. Groups are dealt round.
    for (const request of requests) {
      const key = request.tokens.join()
      let share = dealt.get(key)
      if (share === undefined) dealt.set(key, (share = dealt.size % shares.length))
      shares[share].push(request)
    }
    const abort = (): void => this.#replicas.forEach((replica) => replica.send({ type: 'abort' }))
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      const parts = await Promise.all(
        this.#replicas.map((replica, i) =>
          shares[i].length === 0 ? [] : replica.call('sample', [shares[i], this.#version], options.next),
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
    const parts = await Promise.all(
      this.#replicas.map((replica, i) =>
        replica.call('accumulate', [shares[i].map((index) => items[index]), compiled, temperature]),
      ),
    )
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
    const steps = await Promise.all(
      this.#replicas.map((replica) => replica.call('apply', [options.learningRate, options.clipNorm ?? 1])),
    )
    const { applied, norm } = steps[0]
    if (applied) this.#version++
    return { applied, loss: result.value, gradientNorm: norm, trainedTokens, metrics }
  }

  async snapshot(): Promise<Policy> {
    const source = await this.#replicas[0].call('weights', [])
    return new LocalPolicy({ ...this.#setup, source, version: this.#version })
  }

  async save(folder: string, options: { optimizer?: boolean } = {}): Promise<void> {
    await this.#replicas[0].call('save', [folder, this.#version, options.optimizer ?? false])
  }

  async load(folder: string): Promise<void> {
    const loaded = await Promise.all(this.#replicas.map((replica) => replica.call('load', [folder])))
    this.#version = loaded[0].version
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.close()))
  }

  async #score(
    items: readonly { tokens: readonly number[]; mask: Uint8Array }[],
    temperature: number,
  ): Promise<{ logprobs: Float32Array[]; entropy: Float32Array[] }> {
    const shares = this.#deal(items)
    const parts = await Promise.all(
      this.#replicas.map((replica, i) =>
        replica.call('score', [
          shares[i].map((index) => ({ tokens: items[index].tokens, mask: items[index].mask })),
          temperature,
        ]),
      ),
    )
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
    const shares: number[][] = this.#replicas.map(() => [])
    const load = this.#replicas.map(() => 0)
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
