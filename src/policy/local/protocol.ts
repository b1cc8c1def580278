import type { AdapterConfig, DecoderConfig, Weights } from '../../models/index.js'
import type { Completion, SampleRequest } from '../types.js'
import type { ReplicaLoss, ReplicaSequence } from './lessons.js'
import type { ReplicaOptions } from './replica.js'
import type { ViewSetup } from './view-setup.js'
import type { ScoreExtras, ScoreItem, Scores } from './view.js'

/** What a worker thread is started with. */
export interface WorkerSetup {
  /** A model folder or file, or weights already in memory. */
  source: { folder: string } | { config: DecoderConfig; weights: Weights }
  options: ReplicaOptions
  slots: number
  stopTokens: readonly number[]
  /** Where the tokenizer is, for stop strings and saving. */
  tokenizerFolder?: string
  /** Saved in place of the tokenizer's. */
  chatTemplate?: string
  /** The first view, by the name {@link firstView}. */
  view: ViewSetup
}

export const firstView = 'policy'

/** Calls a worker answers, and what it answers with. Each begins with the name of the view it is about. */
export interface WorkerCalls {
  /** Adds a view of the model beside those there are. */
  addView: (view: string, setup: ViewSetup) => void
  /** Adds a view `copy` with a copy of what another has of its own, frozen. */
  copyView: (view: string, copy: string) => void
  dropView: (view: string) => void
  sample: (view: string, requests: readonly SampleRequest[], version: number) => Completion[]
  score: (view: string, items: ScoreItem[], temperature: number, extras: ScoreExtras) => Scores
  accumulate: (
    view: string,
    items: ReplicaSequence[],
    loss: ReplicaLoss,
    temperature: number,
  ) => { logprobs: Float32Array[]; packedTokens: number }
  apply: (view: string, learningRate: number, clipNorm: number) => { applied: boolean; norm: number }
  /** Moves what a frozen view has of its own towards what another has. */
  follow: (view: string, other: string, rate: number) => void
  /** All weights, or the adapter's where there is one. */
  weights: (view: string) => { config: DecoderConfig; weights: Weights; adapter?: AdapterConfig }
  save: (view: string, folder: string, version: number, optimizer: boolean) => void
  load: (view: string, folder: string) => { version: number }
  close: () => void
}

export type ToWorker =
  | { type: 'call'; id: number; method: keyof WorkerCalls; arguments: unknown[] }
  | { type: 'next'; requests: (SampleRequest | null)[] }
  | { type: 'abort' }

export type FromWorker =
  | { type: 'result'; id: number; value: unknown }
  | { type: 'error'; id: number; code: string; message: string; stack?: string }
  | { type: 'ended'; completions: Completion[] }
