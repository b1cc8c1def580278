import type { DecoderConfig, Weights } from '../../models/index.js'
import type { Completion, CompiledLoss, SampleRequest } from '../types.js'
import type { ReplicaOptions, ReplicaSequence } from './replica.js'

/** What a worker thread is started with. */
export interface WorkerSetup {
  /** A model folder, or weights already in memory (a snapshot). */
  source: { folder: string } | { config: DecoderConfig; weights: Weights }
  options: ReplicaOptions
  slots: number
  stopTokens: readonly number[]
  /** Where the tokenizer is, for stop strings and saving. */
  tokenizerFolder?: string
  /** One shared gradient a replica; this one writes its own and reads all. */
  gradients: SharedArrayBuffer[]
  index: number
}

/** Calls a worker answers, and what it answers with. */
export interface WorkerCalls {
  sample: (requests: readonly SampleRequest[], version: number) => Completion[]
  score: (
    items: { tokens: readonly number[]; mask: Uint8Array }[],
    temperature: number,
  ) => { logprobs: Float32Array[]; entropy: Float32Array[] }
  accumulate: (
    items: ReplicaSequence[],
    loss: CompiledLoss,
    temperature: number,
  ) => { logprobs: Float32Array[]; packedTokens: number }
  apply: (learningRate: number, clipNorm: number) => { applied: boolean; norm: number }
  weights: () => { config: DecoderConfig; weights: Weights }
  save: (folder: string, version: number, optimizer: boolean) => void
  load: (folder: string) => { version: number }
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
