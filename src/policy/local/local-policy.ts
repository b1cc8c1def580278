import { MyriadError } from '../../core/index.js'
import type { DecoderConfig, Weights } from '../../models/index.js'
import { alternativesOf, lossTokens, requireAlternatives, teachesMore, type Scored } from '../loss-tokens.js'
import type {
  Completion,
  Loss,
  LossResult,
  Policy,
  SampleOptions,
  SampleRequest,
  ScoreOptions,
  ScoreResult,
  TrainSequence,
  UpdateOptions,
  UpdateResult,
} from '../types.js'
import { compiledLesson, weightedLesson, type ReplicaLesson } from './lessons.js'
import { groupByPrompt } from './packing.js'
import { firstView, type WorkerSetup } from './protocol.js'
import type { ReplicaOptions } from './replica.js'
import { Threads } from './threads.js'
import { contextOf, openValueHead, trainedViews, type AdapterSource } from './view-setup.js'
import type { ScoreExtras, ScoreItem } from './view.js'

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
  /** Jinja; saved along, where it is not the model's own. */
  chatTemplate?: string
  version?: number
  /** Trained in place of the model's own weights. */
  adapter?: AdapterSource
  /** Trained beside them. */
  valueHead?: Weights
}

/** What policies on the same threads are made of. */
interface SharedSetup {
  config: DecoderConfig
  threads: Threads
  view: string
  version: number
  contextLength: number
  hasValueHead: boolean
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
  readonly #hasValueHead: boolean
  #version: number
  #closed = false

  constructor(setup: LocalPolicySetup | SharedSetup) {
    this.#config = setup.config
    this.vocabularySize = setup.config.vocabularySize
    this.#version = setup.version ?? 0
    if ('threads' in setup) {
      this.#threads = setup.threads
      this.#view = setup.view
      this.contextLength = setup.contextLength
      this.#hasValueHead = setup.hasValueHead
    } else {
      const views = trainedViews(setup.config, setup.workers, setup)
      this.#hasValueHead = setup.valueHead !== undefined
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
    const { alternatives, masks, temperature = 1, values = false } = options
    const given = typeof alternatives === 'object' ? alternatives : undefined
    const count = given ? given.count : ((alternatives as number | undefined) ?? 0)
    const items = sequences.map((tokens, i) => ({
      tokens,
      mask: masks?.[i] ?? new Uint8Array(tokens.length).fill(1, 1),
      ids: given?.ids[i],
    }))
    return this.#score(items, temperature, {
      ...(alternatives !== undefined && { alternatives: { count, given: given !== undefined } }),
      values,
    })
  }

  /**
   * A compiled objective takes one pass. Any other is differentiated here: its tokens are scored, the pure function answers
   * one slope for each number it read, and these are sent back.
   */
  async update(batch: readonly TrainSequence[], options: UpdateOptions): Promise<UpdateResult> {
    const { loss, temperature = 1 } = options
    const { entropy, values = false, alternatives } = loss.reads ?? {}
    if (values) this.#requireValueHead()
    const trainedTokens = batch.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0)
    let result: LossResult | undefined
    let packedTokens = 0
    if (loss.compiled && !entropy && !values && !alternatives) {
      const passed = await this.#accumulate(compiledLesson(batch, loss.compiled), temperature)
      packedTokens = passed.packedTokens
      result = loss.evaluate(lossTokens(batch, passed.scored, loss))
    }
    // A compiled loss stands for its slopes at logprobs alone: one that answers more is taken at its word.
    if (!result || teachesMore(result)) {
      const scored = await this.#scoreBatch(batch, loss, temperature)
      result = loss.evaluate(lossTokens(batch, scored, loss))
      if (result.valueGradient) this.#requireValueHead()
      if (Number.isFinite(result.value))
        ({ packedTokens } = await this.#accumulate(weightedLesson(batch, result, loss), temperature))
    }
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
    return this.#share(view, {
      version: this.#version,
      contextLength: this.contextLength,
      hasValueHead: this.#hasValueHead,
    })
  }

  async follow(other: Policy, rate: number): Promise<void> {
    if (!(other instanceof LocalPolicy) || other.#threads !== this.#threads)
      throw new MyriadError('usage', 'a frozen copy follows the policy it was taken of, and this is another')
    if (!(rate >= 0 && rate <= 1)) throw new MyriadError('usage', `rate is ${rate}, but must be from 0 to 1`)
    await this.#threads.each('follow', () => [this.#view, other.#view, rate])
  }

  /** The model without any adapter, on the same threads and weights. Frozen. */
  async base(): Promise<LocalPolicy> {
    const view = this.#threads.join()
    await this.#threads.each('addView', () => [view, {}])
    return this.#share(view, { version: 0, contextLength: contextOf(this.#config, []), hasValueHead: false })
  }

  /**
   * One more policy that trains an adapter of its own over the model's weights, on the same threads. If this policy trains
   * those weights themselves, the adapter sees them change. A value head is its own too.
   */
  async withAdapter(source: AdapterSource, options: { valueHead?: boolean } = {}): Promise<LocalPolicy> {
    const { hiddenSize } = this.#config
    const view = this.#threads.join()
    const valueHead = options.valueHead ? openValueHead(hiddenSize, source) : undefined
    const setups = trainedViews(this.#config, this.#threads.all.length, { adapter: source, valueHead })
    await this.#threads.each('addView', (i) => [view, setups[i]])
    return this.#share(view, {
      version: 0,
      contextLength: contextOf(this.#config, setups),
      hasValueHead: valueHead !== undefined,
    })
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

  #share(view: string, shared: Pick<SharedSetup, 'version' | 'contextLength' | 'hasValueHead'>): LocalPolicy {
    return new LocalPolicy({ config: this.#config, threads: this.#threads, view, ...shared })
  }

  #requireValueHead(): void {
    if (!this.#hasValueHead)
      throw new MyriadError(
        'usage',
        'this policy has no value head: open it with valueHead: true to read and train values',
      )
  }

  /** What a loss reads of the policy as it is. */
  #scoreBatch(batch: readonly TrainSequence[], loss: Loss, temperature: number): Promise<ScoreResult[]> {
    const count = loss.reads?.alternatives ? alternativesOf(batch, loss) : 0
    const items = batch.map(({ tokens, mask, alternatives }) => ({
      tokens,
      mask,
      ids: count > 0 ? (alternatives?.ids ?? new Int32Array(tokens.length * count).fill(-1)) : undefined,
    }))
    return this.#score(items, temperature, {
      ...(count > 0 && { alternatives: { count, given: true } }),
      values: loss.reads?.values,
    })
  }

  async #score(items: readonly ScoreItem[], temperature: number, extras: ScoreExtras): Promise<ScoreResult[]> {
    if (extras.values) this.#requireValueHead()
    if (extras.alternatives) requireAlternatives(items, extras.alternatives, this.vocabularySize)
    const shares = this.#deal(items)
    const parts = await this.#threads.each('score', (i) => [
      this.#view,
      shares[i].map((index) => items[index]),
      temperature,
      extras,
    ])
    const results: ScoreResult[] = []
    shares.forEach((share, i) =>
      share.forEach((index, j) => {
        const { logprobs, entropy, alternatives, values } = parts[i]
        results[index] = { logprobs: logprobs[j], entropy: entropy[j] }
        if (alternatives) {
          const { count, ids, logprobs: of } = alternatives
          results[index].alternatives = { count, ids: ids[j], logprobs: of[j] }
        }
        if (values) results[index].values = values[j]
      }),
    )
    return results
  }

  /** Leaves the gradient of a whole batch with the replicas. */
  async #accumulate(
    { loss, sequences }: ReplicaLesson,
    temperature: number,
  ): Promise<{ scored: Scored[]; packedTokens: number }> {
    const shares = this.#deal(sequences)
    const parts = await this.#threads.each('accumulate', (i) => [
      this.#view,
      shares[i].map((index) => sequences[index]),
      loss,
      temperature,
    ])
    const scored: Scored[] = []
    shares.forEach((share, i) => share.forEach((index, j) => (scored[index] = { logprobs: parts[i].logprobs[j] })))
    return { scored, packedTokens: parts.reduce((sum, part) => sum + part.packedTokens, 0) }
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
