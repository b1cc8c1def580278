import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compile, createGraph, crossEntropy, grad, recompute, slice, type Program } from '../../engine/index.js'
import {
  adapterSchema,
  adapterShapes,
  declareAdapter,
  declareInputs,
  declareParameters,
  decoder,
  initializeAdapter,
  logits,
  promptWeight,
  readAdapter,
  readCheckpoint,
  readSafetensors,
  virtualPast,
  writeAdapter,
  writeSafetensors,
  type AdapterConfig,
  type DecoderConfig,
} from '../index.js'
import { batchOf, boundWeights, feedsOf, furthest, runWith, type Batch } from '../testing.js'

// Made by peft: tools/fixtures/prompts.py. Fixtures are read from the sources, tests run from dist.
const models = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))
const folderOf = (name: string): string => join(models, 'prompts', name)

interface Expected {
  sequences: number[][]
  logits: number[][]
  gradients: Record<string, number[]>
}

const expectedOf = (name: string): Expected =>
  JSON.parse(readFileSync(join(folderOf(name), 'expected.json'), 'utf8')) as Expected

/** Logits; or, for a batch of one row with targets, the gradient of every weight of the adapter. */
async function program(
  config: DecoderConfig,
  adapter: AdapterConfig,
  again = false,
  trained = false,
): Promise<Program> {
  assert.ok(adapter.kind !== 'lora')
  const graph = createGraph()
  const weights = declareParameters(graph, config)
  const own = declareAdapter(graph, adapterShapes(config, adapter))
  const past = virtualPast({ config, adapter, parameters: own, baseWeights: weights })
  const inputs = { ...declareInputs(graph, config, { maskRows: 'batch' }), past }
  const wrapLayer = (
    _: number,
    layer: (x: typeof inputs.embedded) => typeof inputs.embedded,
    x: typeof inputs.embedded,
  ) => recompute(layer, [x])
  const { hidden } = decoder(config, weights, inputs, again ? { wrapLayer } : {})
  const scores = logits(config, weights, hidden)
  if (!trained) return compile(graph, { outputs: { logits: scores }, inline: true })
  const loss = crossEntropy(slice(scores, { axis: 0, end: -1 }), graph.input('targets', ['batch*time-1'], 'int32'))
  const flowed = grad(loss, Object.values(own))
  const outputs = Object.fromEntries(Object.keys(own).map((weight, i) => [weight, flowed[i]]))
  return compile(graph, { outputs, inline: true })
}

/** A batch whose own tokens begin after the virtual ones. */
function shifted(sequences: readonly (readonly number[])[], by: number): Batch {
  const batch = batchOf(sequences)
  batch.positions.forEach((position, i) => (batch.positions[i] = position < 0 ? -1 : position + by))
  batch.lengths = batch.lengths.map((length) => length + by)
  return batch
}

const bases = ['llama', 'gpt2', 'qwen3', 'gpt-neox']
const fixtures = bases.flatMap((base) => ['prompt', 'prefix', 'projected'].map((kind) => `${kind}-${base}`))

for (const name of fixtures) {
  test(`${name}: logits and gradient are those of peft`, async () => {
    const expected = expectedOf(name)
    const { config, weights } = await readCheckpoint(join(models, name.slice(name.indexOf('-') + 1)))
    const { adapter, base, weights: own } = readAdapter(folderOf(name), config)
    assert.equal(base, name.slice(name.indexOf('-') + 1))
    assert.equal(adapter.kind === 'prompt', name.startsWith('prompt'))
    assert.ok(adapter.kind !== 'lora' && adapter.tokens === 5)
    assert.ok(adapter.kind === 'prompt' || adapter.projection === (name.startsWith('projected') ? 12 : undefined))
    const shapes = Object.entries(adapterShapes(config, adapter))
    const bound = {
      ...boundWeights(config, weights),
      ...Object.fromEntries(shapes.map(([weight, shape]) => [weight, { data: own[weight], shape }])),
    }
    const forward = await program(config, adapter)
    forward.bind(bound)
    // All rows see the same virtual tokens.
    const batch = shifted(expected.sequences, adapter.tokens)
    const result = (await runWith(forward, feedsOf(config, weights, batch))).logits.data as Float32Array
    expected.logits.forEach((scores, row) => {
      const from = row * batch.time * config.vocabularySize
      const error = furthest(result.subarray(from, from + scores.length), scores)
      assert.ok(error < 1e-4, `sequence ${row} is off by ${error}`)
    })
    await forward.close()
    const last = expected.sequences[2]
    for (const again of [false, true]) {
      const trained = await program(config, adapter, again, true)
      trained.bind(bound)
      const feeds = feedsOf(config, weights, shifted([last], adapter.tokens))
      feeds.targets = { data: Int32Array.from(last.slice(1)), shape: [last.length - 1] }
      const gradients = await runWith(trained, feeds)
      assert.deepEqual(Object.keys(gradients).sort(), Object.keys(expected.gradients).sort())
      for (const [weight, torchs] of Object.entries(expected.gradients)) {
        const error = furthest(gradients[weight].data as Float32Array, torchs) / Math.max(...torchs.map(Math.abs))
        assert.ok(error < 1e-3, `the gradient of ${weight} is off by ${error} of its largest`)
      }
      await trained.close()
    }
  })
}

test('peft reads what is written: its own fields and tensors come back', async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'myriad-prompt-'))
  try {
    for (const name of fixtures) {
      const { config } = await readCheckpoint(join(models, name.slice(name.indexOf('-') + 1)))
      const read = readAdapter(folderOf(name), config)
      const folder = join(temporary, name)
      writeAdapter(folder, { config, ...read })
      assert.deepEqual(readAdapter(folder, config), read)
      const fields = (place: string): Record<string, unknown> =>
        JSON.parse(readFileSync(join(place, 'adapter_config.json'), 'utf8')) as Record<string, unknown>
      const [peft, ours] = [fields(folderOf(name)), fields(folder)]
      // A prefix that was projected is written as the prefix that it is; its network is ours alone.
      if (name.startsWith('projected'))
        Object.assign(peft, { prefix_projection: false, encoder_hidden_size: peft.token_dim })
      for (const [key, value] of Object.entries(ours)) assert.deepEqual(value, peft[key], key)
    }
  } finally {
    rmSync(temporary, { recursive: true })
  }
})

test('what is not supported is refused by name', async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'myriad-prompt-'))
  try {
    const { config } = await readCheckpoint(join(models, 'llama'))
    const changed = (fields: Record<string, unknown>): string => {
      cpSync(folderOf('prefix-llama'), temporary, { recursive: true })
      const file = join(temporary, 'adapter_config.json')
      const json = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
      writeFileSync(file, JSON.stringify({ ...json, ...fields }))
      return temporary
    }
    assert.throws(() => readAdapter(changed({ num_transformer_submodules: 2 }), config), /"num_transformer_submodules"/)
    assert.throws(
      () => readAdapter(changed({ num_virtual_tokens: 4 }), config),
      /"prompt_embeddings" has shape \[5,32\]/,
    )
    assert.throws(() => readAdapter(changed({ peft_type: 'P_TUNING' }), config), /type "P_TUNING".*PREFIX_TUNING/)
    assert.throws(() => readAdapter(changed({ num_virtual_tokens: 0 }), config), /"num_virtual_tokens"/)
    const sliding = await readCheckpoint(join(models, 'mistral'))
    for (const kind of ['prompt', 'prefix'] as const)
      assert.throws(() => adapterShapes(sliding.config, adapterSchema.parse({ kind })), /mistral: .*window/)
    assert.throws(() => adapterShapes(config, adapterSchema.parse({ kind: 'prefix', tokens: 64 })), /context of 64/)
  } finally {
    rmSync(temporary, { recursive: true })
  }
})

test('a prompt begins as tokens of the vocabulary, as a text, or as spread numbers', async () => {
  const { config, weights } = await readCheckpoint(join(models, 'llama'))
  const table = weights['model.embed_tokens.weight']
  const row = (data: Float32Array, i: number): string => data.subarray(i * 16, (i + 1) * 16).join()
  const rows = new Set(Array.from({ length: 40 }, (_, i) => row(table, i)))
  const begin = (options: object, seed = 1): Float32Array =>
    initializeAdapter(config, adapterSchema.parse({ kind: 'prompt', tokens: 4, ...options }), seed, weights)[
      promptWeight
    ]
  const drawn = begin({})
  assert.equal(drawn.length, 4 * 16)
  for (let i = 0; i < 4; i++) assert.ok(rows.has(row(drawn, i)))
  assert.notDeepEqual(begin({}, 2), drawn)
  assert.deepEqual(begin({}), drawn)
  const text = begin({ init: [3, 9, 3] })
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => row(text, i)),
    [3, 9, 3, 3].map((id) => row(table, id)),
  )
  const root = (data: Float32Array): number => Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length)
  const ratio = root(begin({ tokens: 40, init: 'random' })) / root(table)
  assert.ok(ratio > 0.85 && ratio < 1.15, `${ratio}`)
  assert.throws(() => begin({ init: [40] }), /token 40, outside the vocabulary of 40/)
})

test('a projected prefix of peft, which has no network any more, is the prefix that it made', async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'myriad-prompt-'))
  try {
    const { config } = await readCheckpoint(join(models, 'llama'))
    cpSync(folderOf('projected-llama'), temporary, { recursive: true })
    const network = join(temporary, 'prefix_projection.safetensors')
    const { tensors } = readSafetensors(network)
    tensors['prompt_encoder.transform.2.bias'].data[3] += 1
    writeSafetensors(network, tensors)
    assert.throws(
      () => readAdapter(temporary, config),
      /prefix_projection\.safetensors makes another prefix.*remove it/,
    )
    rmSync(network)
    const { adapter, weights } = readAdapter(temporary, config)
    assert.deepEqual(adapter, adapterSchema.parse({ kind: 'prefix', tokens: 5, projection: undefined }))
    assert.deepEqual(Object.keys(weights), [promptWeight])
  } finally {
    rmSync(temporary, { recursive: true })
  }
})

test('a projected prefix begins small', async () => {
  const { config, weights } = await readCheckpoint(join(models, 'llama'))
  const adapter = adapterSchema.parse({ kind: 'prefix', tokens: 6, projection: 32 })
  const network = initializeAdapter(config, adapter, 3, weights)
  const folder = mkdtempSync(join(tmpdir(), 'myriad-prompt-'))
  try {
    writeAdapter(folder, { config, adapter, weights: network })
    assert.deepEqual(readAdapter(folder, config).weights, network)
    const { data, shape } = readSafetensors(join(folder, 'adapter_model.safetensors')).tensors[promptWeight]
    assert.deepEqual(shape, [6, 32])
    const spread = Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length)
    assert.ok(spread > 0.005 && spread < 0.05, `${spread}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
