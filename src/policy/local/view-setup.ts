import {
  adapterShapes,
  parameterShapes,
  readAdapter,
  requireFitting,
  usableContext,
  virtualTokens,
  type AdapterConfig,
  type DecoderConfig,
  type Weights,
} from '../../models/index.js'
import { newValueHead, readValueHead, valueHeadShapes } from './value-head.js'

/** What a view has of its own. Plain data and shared memory: it crosses to the worker threads. */
export interface ViewSetup {
  /** An adapter over the shared weights: with weights, or to be made from a seed. */
  adapter?: { config: AdapterConfig } & ({ weights: Weights } | { seed: number })
  /** A copy of all weights, in place of the shared ones. */
  weights?: Weights
  /** A value head beside them. */
  valueHead?: Weights
  /** One shared gradient a replica: this one writes its own and reads all. Absent: the view is frozen. */
  gradients?: { buffers: readonly SharedArrayBuffer[]; own: number }
}

/** A new adapter, or the folder of one that was saved. */
export type AdapterSource = { config: AdapterConfig; seed?: number } | { folder: string }

function openAdapter(config: DecoderConfig, source: AdapterSource): NonNullable<ViewSetup['adapter']> {
  if ('config' in source) {
    requireFitting(config, source.config)
    return { config: source.config, seed: source.seed ?? 0 }
  }
  const { adapter, weights } = readAdapter(source.folder, config)
  return { config: adapter, weights }
}

/** Longest sequence in tokens: the virtual ones of an adapter take their share of the model's context. */
export function contextOf(config: DecoderConfig, [view]: readonly ViewSetup[]): number {
  return usableContext(config) - virtualTokens(view?.adapter?.config)
}

/** What each replica's view has of its own to train: one gradient a replica, in memory that all share. */
export function trainedViews(
  config: DecoderConfig,
  workers: number,
  { adapter: source, valueHead }: { adapter?: AdapterSource; valueHead?: Weights },
): ViewSetup[] {
  const adapter = source && openAdapter(config, source)
  const shapes = {
    ...(adapter ? adapterShapes(config, adapter.config) : parameterShapes(config)),
    ...(valueHead && valueHeadShapes(config.hiddenSize)),
  }
  const size = Object.values(shapes).reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
  const buffers = Array.from({ length: workers }, () => new SharedArrayBuffer(size * 4))
  return buffers.map((_, own) => ({ adapter, valueHead, gradients: { buffers, own } }))
}

/** The value head that was saved with what a policy is opened from, else a new one, which says 0. */
export function openValueHead(hiddenSize: number, source?: AdapterSource): Weights {
  return (source && 'folder' in source && readValueHead(source.folder, hiddenSize)) || newValueHead(hiddenSize)
}
