/** Runs decoders with low-rank adapters in tests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compile, createGraph, crossEntropy, grad, recompute, slice, type Value } from '../../engine/index.js'
import {
  adapterShapes,
  createAdapt,
  declareAdapter,
  declareInputs,
  declareParameters,
  decoder,
  logits,
  readAdapter,
  readCheckpoint,
  type AdapterConfig,
  type DecoderConfig,
  type LoraConfig,
  type Weights,
} from '../index.js'
import { batchOf, boundWeights, feedsOf, runWith } from '../testing.js'

// Fixtures are read from the sources, tests run from dist.
export const models = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))
export const folderOf = (name: string): string => join(models, 'adapters', name)

/** The low-rank adapters made by peft: tools/fixtures/adapters.py. */
export const loraFixtures =
  'lora-llama rslora-qwen3 dora-llama lora-gpt2 dora-gpt2 dora-gpt-neox pattern-phi3 head-gemma3 head-llama dora-head-smollm2'.split(
    ' ',
  )

export interface Adapted {
  config: DecoderConfig
  /** Of the base. */
  weights: Weights
  adapter: LoraConfig
  parameters: Weights
}

export interface LoraFixture extends Adapted {
  base: string
  sequences: number[][]
  /** Of each sequence, [tokens, vocabulary]. */
  logits: number[][]
}

export async function readLoraFixture(name: string): Promise<LoraFixture> {
  const expected = JSON.parse(readFileSync(join(folderOf(name), 'expected.json'), 'utf8')) as LoraFixture
  const json = JSON.parse(readFileSync(join(folderOf(name), 'adapter_config.json'), 'utf8')) as Record<string, string>
  const base = json.base_model_name_or_path
  const { config, weights } = await readCheckpoint(join(models, base))
  const { adapter, weights: parameters } = readAdapter(folderOf(name), config)
  return { ...expected, base, config, weights, adapter: requireLora(adapter), parameters }
}

export function requireLora(adapter: AdapterConfig): LoraConfig {
  if (adapter.kind !== 'lora') throw new Error(`a ${adapter.kind}`)
  return adapter
}

function boundAdapter({ config, adapter, parameters }: Adapted): Record<string, Value> {
  const shapes = Object.entries(adapterShapes(config, adapter))
  return Object.fromEntries(shapes.map(([name, shape]) => [name, { data: parameters[name], shape }]))
}

/** Logits of each sequence, run side by side. */
export async function adaptedLogits(of: Adapted, sequences: readonly number[][]): Promise<Float32Array[]> {
  const { config, adapter, weights } = of
  const graph = createGraph()
  const inputs = declareInputs(graph, config, { maskRows: 'batch' })
  const baseWeights = declareParameters(graph, config)
  const parameters = declareAdapter(graph, adapterShapes(config, adapter))
  const adapt = createAdapt({ config, adapter, parameters, baseWeights })
  const { hidden } = decoder(config, baseWeights, inputs, { adapt })
  const program = await compile(graph, {
    outputs: { logits: logits(config, baseWeights, hidden, adapt) },
    inline: true,
  })
  program.bind({ ...boundWeights(config, weights), ...boundAdapter(of) })
  const batch = batchOf(sequences)
  const result = (await runWith(program, feedsOf(config, weights, batch))).logits.data as Float32Array
  await program.close()
  const width = config.vocabularySize
  return sequences.map(({ length }, row) => result.slice(row * batch.time * width, (row * batch.time + length) * width))
}

/**
 * The mean cross-entropy of a sequence's tokens after the first, and its gradient at every weight of the adapter.
 *
 * @param options.again computes layers again in the backward pass
 * @param options.dropoutSeed turns dropout on
 */
export async function adapterGradients(
  of: Adapted,
  tokens: readonly number[],
  options: { again?: boolean; dropoutSeed?: number } = {},
): Promise<{ loss: number; gradients: Weights }> {
  const { config, adapter, weights } = of
  const graph = createGraph()
  const inputs = declareInputs(graph, config, { maskRows: 1 })
  const baseWeights = declareParameters(graph, config)
  const parameters = declareAdapter(graph, adapterShapes(config, adapter))
  const seed = options.dropoutSeed
  const dropout = seed === undefined ? undefined : { seed: graph.input('dropoutSeed', [1]) }
  const adapt = createAdapt({ config, adapter, parameters, baseWeights, dropout })
  const { hidden } = decoder(config, baseWeights, inputs, {
    adapt,
    ...(options.again && { wrapLayer: (_: number, layer, x) => recompute(layer, [x]) }),
  })
  const read = slice(hidden, { axis: 0, end: tokens.length - 1 })
  const targets = graph.input('targets', [tokens.length - 1], 'int32')
  const loss = crossEntropy(logits(config, baseWeights, read, adapt), targets)
  const names = Object.keys(parameters)
  const flowed = grad(loss, Object.values(parameters))
  const outputs = { loss, ...Object.fromEntries(names.map((name, i) => [name, flowed[i]])) }
  const program = await compile(graph, { outputs, inline: true })
  program.bind({ ...boundWeights(config, weights), ...boundAdapter(of) })
  const feeds = feedsOf(config, weights, batchOf([tokens]))
  feeds.targets = { data: Int32Array.from(tokens.slice(1)), shape: [tokens.length - 1] }
  if (seed !== undefined) feeds.dropoutSeed = { data: Float32Array.of(seed), shape: [1] }
  const { loss: value, ...rest } = await runWith(program, feeds)
  await program.close()
  const gradients = Object.fromEntries(names.map((name) => [name, rest[name].data as Float32Array]))
  return { loss: (value.data as Float32Array)[0], gradients }
}
