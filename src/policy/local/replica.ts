import { MyriadError } from '../../core/index.js'
import type { Program, Value } from '../../engine/index.js'
import {
  embed,
  parameterShapes,
  positionTables,
  usableContext,
  type DecoderConfig,
  type Weights,
} from '../../models/index.js'
import type { Compute } from './programs.js'
import type { ViewSetup } from './view-setup.js'
import { View } from './view.js'

export interface ReplicaOptions extends Compute {
  /** Preferred length of a packed row, and most tokens of one micro-batch. */
  rowLength: number
  tokenBudget: number
  weightDecay: number
  /** Sample with linear layers in so many bits; float32 if absent. */
  samplingBits?: 8 | 4
}

/**
 * One copy of the model on one thread: its weights and its compiled programs, shared by every view of it. Programs read the
 * weights in place, so that sampling after an update sees the new ones at once.
 */
export class Replica {
  readonly config: DecoderConfig
  readonly weights: Weights
  readonly options: ReplicaOptions
  /** Longest sequence in tokens. */
  readonly contextLength: number
  readonly #views = new Map<string, View>()
  readonly #programs = new Map<string, { program: Promise<Program>; reads?: string }>()
  #trained = false
  /** The shared weights, as programs read them. */
  readonly bound: Record<string, Value>
  readonly #tables: [string, Float32Array][]

  constructor(config: DecoderConfig, weights: Weights, options: ReplicaOptions) {
    this.config = config
    this.weights = weights
    this.options = options
    this.contextLength = usableContext(config)
    this.bound = Object.fromEntries(
      Object.entries(parameterShapes(config)).map(([name, shape]) => [name, { data: weights[name], shape }]),
    )
    this.#tables = Object.entries(positionTables(config, this.contextLength)).filter(([, table]) => table)
  }

  addView(name: string, setup: ViewSetup): View {
    const view = new View(this, name, setup)
    if (setup.gradients && !setup.adapter) this.#trained = true
    this.#views.set(name, view)
    return view
  }

  view(name: string): View {
    const view = this.#views.get(name)
    if (!view) throw new MyriadError('runtime', `this policy is closed: its view "${name}" is gone`)
    return view
  }

  dropView(name: string): void {
    this.#views.delete(name)
  }

  /** Whether the shared weights stay as they are: only adapters are trained, if anything is. */
  get frozen(): boolean {
    return !this.#trained
  }

  /** Rows of the embedding tables for tokens, into `target` [tokens, hidden]. */
  embed(weights: Weights, tokens: ArrayLike<number>, positions: ArrayLike<number>, target: Float32Array): void {
    embed(this.config, weights, tokens, positions, target)
  }

  /** Feeds of rotary positions: cosines and sines [...shape, half the rotated width]; none where positions are learned. */
  rotate(positions: ArrayLike<number>, shape: readonly number[]): Record<string, Value> {
    const feeds: Record<string, Value> = {}
    for (const [name, table] of this.#tables) {
      const half = table.length / this.contextLength
      const data = new Float32Array(positions.length * half)
      for (let i = 0; i < positions.length; i++) {
        const from = positions[i] * half
        data.set(table.subarray(from, from + half), i * half)
      }
      feeds[name] = { data, shape: [...shape, half] }
    }
    return feeds
  }

  /**
   * A compiled program, made when first asked for, that reads the weights of a view.
   *
   * @param extra further values to bind, with a mark that changes when they do
   */
  async program(
    view: View,
    key: string,
    make: () => Promise<Program>,
    extra?: { mark: number; values: () => Record<string, Value> },
  ): Promise<Program> {
    let entry = this.#programs.get(key)
    if (!entry) this.#programs.set(key, (entry = { program: make() }))
    const program = await entry.program
    const reads = `${view.name} ${extra?.mark ?? ''}`
    if (entry.reads !== reads) {
      // What one view has of its own covers the base, so the base is bound anew before another view's.
      program.bind(this.bound)
      program.bind(view.values)
      if (extra) program.bind(extra.values())
      entry.reads = reads
    }
    return program
  }

  async close(): Promise<void> {
    for (const { program } of this.#programs.values()) await (await program).close()
    this.#programs.clear()
    this.#views.clear()
  }
}
