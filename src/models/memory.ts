import { freemem, totalmem } from 'node:os'
import { MyriadError } from '../core/index.js'
import type { DecoderConfig } from './config.js'
import { parameterCount, parameterShapes } from './parameters.js'

/** What is to be done with a model. */
export interface MemoryPlan {
  /** Worker threads, each with weights of its own unless `sharedWeights`; 1 unless given. */
  workers?: number
  sharedWeights?: boolean
  /** All weights are trained, or adapters beside them of so many weights, or nothing (unless given). */
  train?: 'all' | { adapterParameters: number }
  /** Tokens of one forward and backward pass; 2,048 unless given. */
  tokenBudget?: number
  /** Activations are computed anew in the backward pass, layer by layer. */
  recompute?: boolean
  /** The vocabulary's scores are computed in chunks of so many tokens; all at once unless given. */
  logitChunk?: number
  /** Sequences sampled at a time in each worker, and their length in tokens; none unless given. */
  slots?: number
  sequenceTokens?: number
}

/** Bytes, in all and by what they are for. */
export interface MemoryNeed {
  bytes: number
  parts: Readonly<Record<string, number>>
}

/** A worker thread with Node, ONNX Runtime and a compiled program, before any weight. */
const workerBytes = 150e6

/** What ONNX Runtime takes beyond the arrays themselves, for scratch and for what is freed but not given back. */
const arena = 1.5

/**
 * An estimate of the memory that a model takes: 4 bytes for every weight, 8 for AdamW's two moments of it, 8 for its
 * gradient (the sum, and that of the pass under way), and activations: a layer keeps about 10 vectors of the hidden size and
 * 4 of the feed-forward layer's for every token, times what the runtime adds. Measured for one worker that trains
 * SmolLM2-135M whole, scores at once: 6.1, 4.5 and 4.0 GB at 1,024, 512 and 256 tokens a pass, where this says 6.1, 4.5 and
 * 3.7.
 *
 * @example memoryNeeded(config, { workers: 2, train: 'all' }).bytes
 */
export function memoryNeeded(config: DecoderConfig, plan: MemoryPlan = {}): MemoryNeed {
  const { workers = 1, train, tokenBudget = 2048, slots = 0, sequenceTokens = 0 } = plan
  const all = parameterCount(config)
  const trained = train === undefined ? 0 : train === 'all' ? all : train.adapterParameters
  const largest = Object.values(parameterShapes(config)).reduce((most, shape) => Math.max(most, product(shape)), 0)
  const perLayer = 10 * config.hiddenSize + 4 * config.intermediateSize
  const kept = plan.recompute ? config.layers * config.hiddenSize + perLayer : config.layers * perLayer
  // Scores, their exponentials and their gradient.
  const scores = 3 * Math.min(tokenBudget, plan.logitChunk ?? tokenBudget) * config.vocabularySize
  const cache = 2 * config.layers * config.keyValueHeads * config.headDimension * slots * sequenceTokens
  const values: Record<string, number> = {
    weights: all * (plan.sharedWeights ? 1 : workers),
    loading: largest,
    gradients: 2 * trained * workers,
    'optimizer state': 2 * trained * workers,
    activations: train === undefined ? 0 : arena * (tokenBudget * kept + scores) * workers,
    'keys and values': cache * workers,
  }
  const parts: Record<string, number> = { threads: workers * workerBytes }
  for (const [name, count] of Object.entries(values)) if (count > 0) parts[name] = count * 4
  return { bytes: Object.values(parts).reduce((a, b) => a + b, 0), parts }
}

/** Memory that this process may still take, and the most it could: in bytes, a container's limit included. */
export interface MachineMemory {
  available: number
  total: number
}

export function machineMemory(): MachineMemory {
  const limit = process.constrainedMemory()
  const total = limit > 0 && limit < totalmem() ? limit : totalmem()
  // macOS counts as free only what nothing has ever used; what it would give back is not told.
  const available = process.platform === 'darwin' ? total : Math.min(process.availableMemory(), freemem(), total)
  return { available, total }
}

/**
 * Refuses what would not fit before anything is loaded.
 *
 * @param what the model, for the message
 * @throws MyriadError 'device' that says how much is needed, for what, how much there is, and what to do
 */
export function requireMemory(what: string, need: MemoryNeed, machine: MachineMemory = machineMemory()): void {
  if (need.bytes <= machine.available) return
  const parts = Object.entries(need.parts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, bytes]) => `${name} ${gigabytes(bytes)}`)
  throw new MyriadError(
    'device',
    `${what} needs about ${gigabytes(need.bytes)} of memory (${parts.join(', ')}); ${gigabytes(machine.available)} of ` +
      `${gigabytes(machine.total)} are free: use fewer workers, a smaller tokenBudget or recompute, an adapter instead of all weights, or a smaller model`,
  )
}

function product(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1)
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(bytes < 1e8 ? 3 : 1)} GB`
}
