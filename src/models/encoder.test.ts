import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  add,
  compile,
  createGraph,
  crossEntropy,
  gather,
  grad,
  mul,
  recompute,
  sum,
  type Tensor,
  type Value,
} from '../engine/index.js'
import {
  classify,
  declareEncoderInputs,
  declareEncoderParameters,
  embedForEncoder,
  encoder,
  encoderConfigToJson,
  encoderLinearModules,
  encoderParameterShapes,
  encoderPositions,
  encoderTables,
  initializeEncoderWeights,
  meanPool,
  parseEncoderConfig,
  pool,
  readEncoder,
  readEncoderConfig,
  readSafetensors,
  scatterEncoderEmbedding,
  supportedEncoderTypes,
  writeEncoder,
  writeSafetensors,
  type EncoderConfig,
  type EncoderOptions,
  type EncoderRows,
  type Weights,
} from './index.js'
import { furthest } from './testing.js'

// Made by transformers: tools/fixtures/encoder.py.
const root = fileURLToPath(new URL('../../src/models/fixtures/encoders', import.meta.url))
const fixtures = ['bert', 'minilm', 'bert-masked', 'bert-classifier', 'xlm-roberta', 'roberta-classifier']

interface Fixture {
  config: EncoderConfig
  weights: Weights
  sequences: number[][]
  types: number[][]
  /** After the embeddings and each layer: the tokens of all sequences, one after the other, [tokens, hidden]. */
  states: number[][]
  pooled: number[] | null
  scores: number[] | null
}

function readFixture(name: string): Fixture {
  const expected = JSON.parse(readFileSync(join(root, name, 'expected.json'), 'utf8')) as Fixture
  return { ...expected, ...readEncoder(join(root, name)) }
}

/** Sequences as a batch padded behind: what is looked up, what is fed, and where the tokens are. */
function batchOf(
  { config, weights }: Fixture,
  sequences: number[][],
  types: number[][],
): { rows: EncoderRows; feeds: Record<string, Value>; places: number[] } {
  const time = Math.max(...sequences.map((tokens) => tokens.length))
  const count = sequences.length * time
  const tokens = new Int32Array(count).fill(config.paddingId)
  const positions = new Int32Array(count)
  const kinds = new Int32Array(count)
  const mask = new Float32Array(count).fill(-1e9)
  const places: number[] = []
  sequences.forEach((sequence, row) => {
    sequence.forEach((token, t) => {
      const place = row * time + t
      tokens[place] = token
      kinds[place] = types[row][t]
      mask[place] = 0
      places.push(place)
    })
    positions.set(encoderPositions(config, tokens.subarray(row * time, (row + 1) * time)), row * time)
  })
  const rows = { tokens, positions, types: kinds }
  const embedded = new Float32Array(count * config.hiddenSize)
  embedForEncoder(weights, rows, embedded)
  const feeds = {
    embedded: { data: embedded, shape: [sequences.length, time, config.hiddenSize] },
    mask: { data: mask, shape: [sequences.length, 1, 1, time] },
  }
  return { rows, feeds, places }
}

function bound(config: EncoderConfig, weights: Weights): Record<string, Value> {
  const shapes = Object.entries(encoderParameterShapes(config))
  return Object.fromEntries(shapes.map(([name, shape]) => [name, { data: weights[name], shape }]))
}

function assertNear(error: number, limit: number, what: string): void {
  assert.ok(error < limit, `${what}: off by ${error}`)
}

for (const name of fixtures) {
  test(`${name}: hidden states, pooler and classes are those of transformers, padded and alone`, async () => {
    const fixture = readFixture(name)
    const { config, weights, sequences, types } = fixture
    assert.equal(config.pooler, fixture.pooled !== null)
    const graph = createGraph()
    const inputs = declareEncoderInputs(graph, config)
    const parameters = declareEncoderParameters(graph, config)
    const { hidden, states } = encoder(config, parameters, inputs)
    const outputs: Record<string, Tensor> = Object.fromEntries(states.map((state, i) => [`state.${i}`, state]))
    if (config.pooler) outputs['pooled'] = pool(parameters, inputs, hidden)
    if (config.labels !== undefined) outputs['scores'] = classify(config, parameters, inputs, hidden)
    const program = await compile(graph, { outputs, inline: true })
    program.bind(bound(config, weights))
    const width = config.hiddenSize

    const { feeds, places } = batchOf(fixture, sequences, types)
    const together = await program.run(feeds)
    fixture.states.forEach((expected, i) => {
      const data = together[`state.${i}`].data as Float32Array
      const atTokens = places.flatMap((place) => [...data.subarray(place * width, (place + 1) * width)])
      assertNear(furthest(atTokens, expected), 1e-4, `state ${i}`)
    })
    if (fixture.pooled) assertNear(furthest(together.pooled.data as Float32Array, fixture.pooled), 1e-4, 'pooler')
    if (fixture.scores) assertNear(furthest(together.scores.data as Float32Array, fixture.scores), 1e-4, 'scores')

    let start = 0
    for (const [row, tokens] of sequences.entries()) {
      const alone = await program.run(batchOf(fixture, [tokens], [types[row]]).feeds)
      const expected = fixture.states[config.layers].slice(start, start + tokens.length * width)
      start += tokens.length * width
      assertNear(
        furthest(alone[`state.${config.layers}`].data as Float32Array, expected),
        1e-4,
        `sequence ${row} alone`,
      )
    }
    await program.close()
  })

  for (const options of [
    {},
    { wrapLayer: (_: number, layer: (x: Tensor) => Tensor, x: Tensor) => recompute(layer, [x]) },
  ])
    test(`${name}: every weight's gradient is that of torch${'wrapLayer' in options ? ', layers computed again' : ''}`, async () => {
      const fixture = readFixture(name)
      const gradient = await gradients(fixture, options)
      const { tensors } = readSafetensors(join(root, name, 'gradients.safetensors'))
      for (const [weight, { data }] of Object.entries(tensors)) {
        const largest = data.reduce((a, b) => Math.max(a, Math.abs(b)), 0)
        // The bias of keys changes nothing (softmax does not see what all scores share): both have rounding errors there.
        const limit = Math.max(1e-3 * largest, weight.endsWith('key.bias') ? 1e-4 : 1e-6)
        assertNear(furthest(gradient[weight], data), limit, `${weight}, whose largest is ${largest}`)
      }
      assert.deepEqual(Object.keys(tensors).sort(), Object.keys(gradient).sort())
    })

  test(`${name}: what is written is read again as it was`, () => {
    const { config, weights } = readEncoder(join(root, name))
    assert.deepEqual(parseEncoderConfig(JSON.parse(JSON.stringify(encoderConfigToJson(config)))), config)
    const folder = mkdtempSync(join(tmpdir(), 'encoder-'))
    try {
      writeEncoder(folder, config, weights)
      assert.deepEqual(readEncoder(folder), { config, weights })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

/** Of the same loss as in tools/fixtures/encoder.py. */
async function gradients(fixture: Fixture, options: EncoderOptions): Promise<Weights> {
  const { config, weights, sequences, types } = fixture
  const graph = createGraph()
  const inputs = declareEncoderInputs(graph, config)
  const parameters = declareEncoderParameters(graph, config)
  const { hidden } = encoder(config, parameters, inputs, options)
  const { rows, feeds, places } = batchOf(fixture, sequences, types)
  /** sum(x sin(0, 1, 2...)) */
  const weighted = (x: Tensor, name: string, rows: number): Tensor => {
    const data = Float32Array.from({ length: rows * config.hiddenSize }, (_, i) => Math.sin(i))
    feeds[name] = { data, shape: [rows, config.hiddenSize] }
    return sum(mul(x, graph.input(name, x.shape)))
  }
  let loss: Tensor
  if (config.labels !== undefined) {
    feeds['targets'] = { data: Int32Array.from(sequences, () => 1), shape: [sequences.length] }
    loss = crossEntropy(classify(config, parameters, inputs, hidden), graph.input('targets', ['batch'], 'int32'))
  } else {
    feeds['places'] = { data: Int32Array.from(places), shape: [places.length] }
    const tokens = gather(hidden, graph.input('places', [places.length], 'int32'), { axis: 0 })
    loss = weighted(tokens, 'ofTokens', places.length)
    if (config.pooler) loss = add(loss, weighted(pool(parameters, inputs, hidden), 'ofPooled', sequences.length))
  }
  const names = Object.keys(parameters).filter((weight) => !encoderTables.includes(weight))
  const [flowed, ...rest] = grad(loss, [inputs.embedded, ...names.map((weight) => parameters[weight])])
  const outputs = { 'at embedded': flowed, ...Object.fromEntries(names.map((weight, i) => [weight, rest[i]])) }
  const program = await compile(graph, { outputs, inline: true })
  program.bind(bound(config, weights))
  const { 'at embedded': back, ...results } = await program.run(feeds)
  await program.close()
  const gradient: Weights = {}
  for (const weight of Object.keys(weights))
    gradient[weight] = (results[weight]?.data as Float32Array | undefined) ?? new Float32Array(weights[weight].length)
  scatterEncoderEmbedding((weight) => gradient[weight], rows, back.data as Float32Array)
  return gradient
}

test('linear layers go through the adapter; fresh weights have the shapes that are declared', async () => {
  for (const name of fixtures) {
    const config = readEncoderConfig(join(root, name))
    const graph = createGraph()
    const inputs = declareEncoderInputs(graph, config)
    const called: string[] = []
    const adapt = (module: string, _: Tensor, product: Tensor): Tensor => {
      called.push(module)
      return product
    }
    const parameters = declareEncoderParameters(graph, config)
    const { hidden } = encoder(config, parameters, inputs, { adapt })
    if (config.labels !== undefined) classify(config, parameters, inputs, hidden, adapt)
    else if (config.pooler) pool(parameters, inputs, hidden, adapt)
    assert.deepEqual(
      called,
      encoderLinearModules(config).map((module) => module.name),
    )
    const weights = initializeEncoderWeights(config, 1)
    for (const [weight, shape] of Object.entries(encoderParameterShapes(config)))
      assert.equal(
        weights[weight].length,
        shape.reduce((a, b) => a * b),
      )
  }
})

test('the mean over tokens leaves padding out', async () => {
  const graph = createGraph()
  const mean = meanPool(graph.input('hidden', ['batch*time', 2]), graph.input('valid', ['batch', 'time']))
  const program = await compile(graph, { outputs: { mean }, inline: true })
  const result = await program.run({
    hidden: { data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), shape: [4, 2] },
    valid: { data: Float32Array.of(1, 0, 1, 1), shape: [2, 2] },
  })
  assert.deepEqual([...result.mean.data], [1, 2, 6, 7])
  await program.close()
})

test('files with the names of TensorFlow are read', () => {
  const expected = readEncoder(join(root, 'bert-masked'))
  const folder = mkdtempSync(join(tmpdir(), 'encoder-'))
  try {
    const { tensors } = readSafetensors(join(root, 'bert-masked', 'model.safetensors'))
    const old = (name: string): string =>
      name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta')
    const renamed = Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [old(name), tensor]))
    writeSafetensors(join(folder, 'model.safetensors'), renamed)
    copyFileSync(join(root, 'bert-masked', 'config.json'), join(folder, 'config.json'))
    assert.deepEqual(readEncoder(folder), expected)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('positions of RoBERTa begin after the row of padding, which does not count', () => {
  const { config } = readFixture('xlm-roberta')
  assert.deepEqual([...encoderPositions(config, [5, 1, 6, 7, 1])], [2, 1, 3, 4, 1])
  assert.equal(config.contextLength, 30)
  assert.deepEqual([...encoderPositions(readFixture('bert').config, [5, 0, 6])], [0, 1, 2])
})

test('what is not supported is refused by name', () => {
  const json = JSON.parse(readFileSync(join(root, 'bert', 'config.json'), 'utf8')) as Record<string, unknown>
  const refused = (change: Record<string, unknown>, expected: RegExp): void =>
    assert.throws(() => parseEncoderConfig({ ...json, ...change }), expected)
  refused({ model_type: 'electra' }, /"electra".*bert, roberta, xlm-roberta/)
  refused({ position_embedding_type: 'relative_key' }, /"position_embedding_type" is "relative_key"/)
  refused({ is_decoder: true }, /"is_decoder"/)
  refused({ hidden_act: 'mish' }, /"hidden_act" is "mish"/)
  refused({ num_attention_heads: 3 }, /16 does not divide into 3/)
})

test('every encoder that is supported has a fixture', () => {
  const held = new Set(fixtures.map((name) => readEncoderConfig(join(root, name)).modelType))
  assert.deepEqual([...held].sort(), [...supportedEncoderTypes].sort())
})
