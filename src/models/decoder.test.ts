import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { add, matmul, recompute, type Tensor, type Value } from '../engine/index.js'
import {
  decoderConfigToJson,
  initializeWeights,
  linearModules,
  parameterCount,
  parseDecoderConfig,
  readCheckpoint,
  readDecoderConfig,
  readSafetensors,
  supportedModelTypes,
  type DecoderConfig,
  type Weights,
} from './index.js'
import {
  attentionMask,
  batchOf,
  feedsOf,
  forwardProgram,
  furthest,
  gradients,
  joinTime,
  runWith,
  type Batch,
} from './testing.js'

// Made by transformers: tools/fixtures/decoder.py. Fixtures are read from the sources, tests run from dist.
const root = fileURLToPath(new URL('../../src/models/fixtures', import.meta.url))
const fixtures =
  'llama smollm2 llama3 llama-linear mistral qwen2 qwen2-yarn qwen3 gemma2 gemma3 phi3 phi3-longrope gpt2 gpt2-scaled gpt-neox gpt-neox-serial'.split(
    ' ',
  )

interface Fixture {
  config: DecoderConfig
  weights: Weights
  sequences: number[][]
  /** Of each sequence, [tokens, vocabulary]. */
  logits: number[][]
}

async function readFixture(name: string): Promise<Fixture> {
  const folder = join(root, name)
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Fixture
  return { ...expected, ...(await readCheckpoint(folder)) }
}

/** Rows of the logits that stand at real positions of one row of a batch. */
function rowLogits(fixture: Fixture, batch: Batch, row: number, result: Value): Float32Array {
  const width = fixture.config.vocabularySize
  const data = result.data as Float32Array
  const places = Array.from({ length: batch.time }, (_, t) => row * batch.time + t)
  const real = places.filter((place) => batch.positions[place] >= 0)
  const rows = new Float32Array(real.length * width)
  real.forEach((place, i) => rows.set(data.subarray(place * width, (place + 1) * width), i * width))
  return rows
}

function assertNear(error: number, limit: number, what: string): void {
  assert.ok(error < limit, `${what}: off by ${error}`)
}

for (const name of fixtures) {
  test(`${name}: logits are those of transformers, alone and padded on either side`, async () => {
    const fixture = await readFixture(name)
    const { config, weights, sequences } = fixture
    const program = await forwardProgram(config, weights)
    const run = async (batch: Batch): Promise<Float32Array[]> => {
      const result = await runWith(program, feedsOf(config, weights, batch))
      return Array.from({ length: batch.rows }, (_, row) => rowLogits(fixture, batch, row, result.logits))
    }
    for (const [i, tokens] of sequences.entries())
      assertNear(furthest((await run(batchOf([tokens])))[0], fixture.logits[i]), 1e-4, `sequence ${i}`)
    for (const side of ['left', 'right'] as const)
      for (const [i, scores] of (await run(batchOf(sequences, side))).entries())
        assertNear(furthest(scores, fixture.logits[i]), 1e-4, `sequence ${i}, padded on the ${side}`)
    await program.close()
  })

  test(`${name}: logits are the same over a cache, in pieces of several tokens and of one`, async () => {
    const fixture = await readFixture(name)
    const { config, weights, sequences } = fixture
    const [first, rest] = [await forwardProgram(config, weights), await forwardProgram(config, weights, { past: true })]
    // Two rows at a time, the shorter one padded from its end on: its blanks are in the cache, and are not seen.
    const [shorter, longer] = [sequences[1], sequences[2]]
    const rows = 2
    const cache: Record<string, Value> = {}
    let seen = new Int32Array(0)
    const scores: number[][] = [[], []]
    for (let at = 0; at < longer.length;) {
      const piece = at === 0 ? 5 : at === 5 ? 7 : 1
      const batch = batchOf([shorter.slice(at, at + piece), longer.slice(at, at + piece)])
      batch.positions.forEach((position, i) => (batch.positions[i] = position < 0 ? -1 : position + at))
      batch.lengths = [shorter.length, longer.length]
      const feeds = feedsOf(config, weights, batch)
      if (at > 0) {
        Object.assign(feeds, cache)
        feeds['pastMask'] = attentionMask(batch.positions, seen, rows)
        feeds['pastLocalMask'] = attentionMask(batch.positions, seen, rows, config.slidingWindow)
      }
      const result = await runWith(at > 0 ? rest : first, feeds)
      for (const row of [0, 1]) scores[row].push(...rowLogits(fixture, batch, row, result.logits))
      for (let i = 0; i < config.layers; i++) {
        cache[`pastKey.${i}`] = joinTime(cache[`pastKey.${i}`], result[`key.${i}`])
        cache[`pastValue.${i}`] = joinTime(cache[`pastValue.${i}`], result[`value.${i}`])
      }
      const grown = new Int32Array(rows * (at + piece))
      for (let row = 0; row < rows; row++) {
        grown.set(seen.subarray(row * at, (row + 1) * at), row * (at + piece))
        grown.set(batch.positions.subarray(row * piece, (row + 1) * piece), row * (at + piece) + at)
      }
      seen = grown
      at += piece
    }
    assertNear(furthest(scores[0], fixture.logits[1]), 1e-4, 'the shorter sequence')
    assertNear(furthest(scores[1], fixture.logits[2]), 1e-4, 'the longer sequence')
    await first.close()
    await rest.close()
  })

  test(`${name}: every weight's gradient is that of torch, also with layers that are computed again`, async () => {
    const { config, weights, sequences } = await readFixture(name)
    const expected = readSafetensors(join(root, name, 'gradients.safetensors')).tensors
    assert.deepEqual(Object.keys(expected).sort(), Object.keys(weights).sort())
    const plain = await gradients(config, weights, sequences[2])
    const again = await gradients(config, weights, sequences[2], {
      wrapLayer: (_, layer, x) => recompute(layer, [x]),
    })
    for (const [weight, { data }] of Object.entries(expected)) {
      const largest = data.reduce((a, b) => Math.max(a, Math.abs(b)), 0)
      // A bias on keys that are not rotated adds the same to all scores of a query, which softmax does not see: of GPT-2's
      // fused bias a third is rounding error.
      const limit = Math.max(1e-3 * largest, 1e-6)
      assertNear(furthest(plain[weight], data), limit, `${weight}, whose largest is ${largest}`)
      assertNear(furthest(again[weight], data), limit, `${weight} with recomputed layers`)
    }
  })

  test(`${name}: linear layers go through the adapter, with their names and sizes`, async () => {
    const { config, weights, sequences } = await readFixture(name)
    const called: unknown[] = []
    const spy = (module: string, x: Tensor, product: Tensor): Tensor => {
      called.push({ name: module, in: x.shape[1], out: product.shape[1] })
      return product
    }
    await (await forwardProgram(config, weights, { adapt: spy })).close()
    const modules = linearModules(config)
    assert.deepEqual(
      called,
      modules.map(({ name: module, in: input, out }) => ({ name: module, in: input, out })),
    )
    // Adding x A to a product is adding A to the weight.
    const { name: module, in: input, out, transposed } = modules[1]
    const delta = Float32Array.from({ length: input * out }, (_, i) => Math.sin(i))
    const merged = { ...weights, [`${module}.weight`]: weights[`${module}.weight`].slice() }
    for (let i = 0; i < input; i++)
      for (let o = 0; o < out; o++)
        merged[`${module}.weight`][transposed ? i * out + o : o * input + i] += delta[i * out + o]
    const adapted = await forwardProgram(config, weights, {
      adapt: (at, x, product) =>
        at === module ? add(product, matmul(x, x.graph.input('delta', [input, out]))) : product,
    })
    const plain = await forwardProgram(config, merged)
    const feeds = feedsOf(config, weights, batchOf([sequences[1]]))
    const one = await runWith(adapted, { ...feeds, delta: { data: delta, shape: [input, out] } })
    const two = await runWith(plain, feeds)
    assertNear(furthest(one.logits.data as Float32Array, two.logits.data as Float32Array), 1e-4, module)
    await adapted.close()
    await plain.close()
  })

  test(`${name}: a configuration that is written is read again as it was`, () => {
    const config = readDecoderConfig(join(root, name))
    const text = JSON.stringify(decoderConfigToJson(config))
    assert.deepEqual(parseDecoderConfig(JSON.parse(text)), config)
  })

  test(`${name}: fresh weights predict next to nothing`, async () => {
    const config = readDecoderConfig(join(root, name))
    const weights = initializeWeights(config, 3)
    assert.equal(
      Object.values(weights).reduce((sum, { length }) => sum + length, 0),
      parameterCount(config),
    )
    const program = await forwardProgram(config, weights)
    const { logits } = await runWith(program, feedsOf(config, weights, batchOf([[4, 7, 9, 1]])))
    // Drawn with deviation 0.02, and a norm before the last projection: no logit is far from 0, and not all are 0.
    const largest = (logits.data as Float32Array).reduce((a, b) => Math.max(a, Math.abs(b)), 0)
    assert.ok(largest > 0.01 && largest < 1, `largest logit ${largest}`)
    await program.close()
  })
}

test('every family that is supported has a fixture', () => {
  const held = new Set(fixtures.map((name) => readDecoderConfig(join(root, name)).modelType))
  assert.deepEqual([...held].sort(), [...supportedModelTypes].sort())
})
