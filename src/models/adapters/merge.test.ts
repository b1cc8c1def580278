import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import {
  adapterSchema,
  adapterShapes,
  combineAdapters,
  mergeAdapter,
  parameterShapes,
  readCheckpoint,
  unmergeAdapter,
  writeCheckpoint,
  type DecoderConfig,
  type LoraConfig,
  type Weights,
} from '../index.js'
import { batchOf, feedsOf, forwardProgram, furthest, runWith } from '../testing.js'
import { adaptedLogits, loraFixtures, models, readLoraFixture, requireLora } from './testing.js'

const copied = (weights: Weights): Weights =>
  Object.fromEntries(Object.entries(weights).map(([name, data]) => [name, data.slice()]))

async function logitsOf(config: DecoderConfig, weights: Weights, tokens: number[]): Promise<Float32Array> {
  const program = await forwardProgram(config, weights)
  const { logits } = await runWith(program, feedsOf(config, weights, batchOf([tokens])))
  await program.close()
  return logits.data as Float32Array
}

for (const name of loraFixtures) {
  test(`${name}: merged into its base it gives peft's logits; taken out again it leaves the base`, async () => {
    const { config, weights, adapter, parameters, sequences, logits } = await readLoraFixture(name)
    const before = copied(weights)
    const merged = mergeAdapter(config, weights, adapter, parameters)
    assert.deepEqual(weights, before)
    assert.deepEqual(Object.keys(merged.weights).sort(), Object.keys(parameterShapes(merged.config)).sort())
    for (const [i, sequence] of sequences.entries()) {
      const error = furthest(await logitsOf(merged.config, merged.weights, sequence), logits[i])
      assert.ok(error < 1e-4, `sequence ${i} is off by ${error}`)
    }
    const again = unmergeAdapter(config, merged, adapter, parameters)
    assert.deepEqual(Object.keys(again), Object.keys(weights))
    for (const weight of Object.keys(weights)) {
      const error = furthest(again[weight], weights[weight])
      assert.ok(error < 1e-6, `${weight} is off by ${error}`)
    }
  })

  test(`${name}: merged in place it is the same`, async () => {
    const { config, weights, adapter, parameters } = await readLoraFixture(name)
    const merged = mergeAdapter(config, weights, adapter, parameters)
    const inPlace = mergeAdapter(config, weights, adapter, parameters, { inPlace: true })
    assert.equal(inPlace.weights, weights)
    assert.deepEqual(inPlace, merged)
  })
}

test('a merged model is read again, also where its output projection was the embedding table', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-merge-'))
  try {
    const { config, weights, adapter, parameters } = await readLoraFixture('dora-head-smollm2')
    assert.ok(config.tieEmbeddings)
    const merged = mergeAdapter(config, weights, adapter, parameters)
    assert.equal(merged.weights['model.embed_tokens.weight'], weights['model.embed_tokens.weight'])
    writeCheckpoint(join(folder, 'merged'), merged.config, merged.weights)
    const read = await readCheckpoint(join(folder, 'merged'))
    assert.deepEqual(read, { config: merged.config, weights: merged.weights })
    assert.ok(!read.config.tieEmbeddings)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('DoRA is not taken out where the base is lost', async () => {
  const { config, weights, adapter, parameters } = await readLoraFixture('dora-gpt2')
  const { norms, ...merged } = mergeAdapter(config, weights, adapter, parameters)
  assert.throws(
    () => unmergeAdapter(config, { ...merged, norms: {} }, adapter, parameters),
    /norms .*"transformer\.h\.0/,
  )
  const [magnitude] = Object.keys(parameters).filter((name) => name.endsWith('magnitude_vector'))
  parameters[magnitude][3] = 0
  const zero = mergeAdapter(config, weights, adapter, parameters)
  assert.throws(() => unmergeAdapter(config, zero, adapter, parameters), /the magnitude of output 3 is 0/)
  assert.ok(Object.keys(norms).length > 0)
})

test('adapters of other ranks and targets add up exactly', async () => {
  const { config, weights } = await readCheckpoint(join(models, 'llama'))
  const random = createRandom(4)
  const make = (options: object): { adapter: LoraConfig; weights: Weights } => {
    const adapter = requireLora(adapterSchema.parse({ kind: 'lora', ...options }))
    const shapes = Object.entries(adapterShapes(config, adapter))
    const own = shapes.map(([name, shape]) => [
      name,
      new Float32Array(shape[0] * shape[1]).map(() => random.normal() * 0.2),
    ])
    return { adapter, weights: Object.fromEntries(own) as Weights }
  }
  const one = make({ rank: 3, alpha: 5, targets: ['q_proj', 'down_proj'], rankPattern: { '1.mlp.down_proj': 2 } })
  const two = make({ rank: 4, alpha: 2, targets: ['down_proj', 'lm_head'], rankStabilized: true })
  const sum = combineAdapters(config, [
    { ...one, weight: 0.7 },
    { ...two, weight: -0.4 },
  ])
  const shapes = adapterShapes(config, sum.adapter)
  assert.deepEqual(
    Object.fromEntries(Object.entries(sum.weights).map(([name, { length }]) => [name, length])),
    Object.fromEntries(Object.entries(shapes).map(([name, [rows, columns]]) => [name, rows * columns])),
  )
  assert.deepEqual(shapes['model.layers.1.mlp.down_proj.lora_A.weight'], [6, 24])
  const merged = mergeAdapter(config, weights, sum.adapter, sum.weights).weights
  const first = mergeAdapter(config, weights, one.adapter, one.weights).weights
  const second = mergeAdapter(config, weights, two.adapter, two.weights).weights
  for (const [name, base] of Object.entries(weights)) {
    const expected = base.map((value, i) => value + 0.7 * (first[name][i] - value) - 0.4 * (second[name][i] - value))
    assert.ok(furthest(merged[name], expected) < 1e-6, name)
  }
  const tokens = [5, 2, 31, 8]
  const [adapted] = await adaptedLogits({ config, weights, adapter: sum.adapter, parameters: sum.weights }, [tokens])
  assert.ok(furthest(adapted, await logitsOf(config, merged, tokens)) < 1e-4)
  const dora = await readLoraFixture('dora-llama')
  assert.throws(
    () =>
      combineAdapters(config, [
        { ...one, weight: 1 },
        { ...dora, weights: dora.parameters, weight: 1 },
      ]),
    /adapter 2 is a DoRA/,
  )
})
