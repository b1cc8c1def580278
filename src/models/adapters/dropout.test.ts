import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { compile, createGraph } from '../../engine/index.js'
import { leaveOut } from './dropout.js'
import { adapterGradients, readLoraFixture } from './testing.js'

const tokens = 512
const width = 192
const layers = [0, 1, 40]

/** Of ones, by layer and seed: 1 where an element is left out. */
async function masks(share: number, seeds: readonly number[]): Promise<Float64Array[]> {
  const graph = createGraph()
  const x = graph.input('x', ['tokens', width])
  const seed = graph.input('seed', [1])
  const outputs = Object.fromEntries(layers.map((layer) => [`of ${layer}`, leaveOut(x, share, seed, layer)]))
  const program = await compile(graph, { outputs, inline: true })
  const feed = { data: new Float32Array(tokens * width).fill(1), shape: [tokens, width] }
  const results: Float64Array[] = []
  for (const value of seeds) {
    const kept = await program.run({ x: feed, seed: { data: Float32Array.of(value), shape: [1] } })
    for (const { data } of Object.values(kept)) results.push(Float64Array.from(data as Float32Array, (one) => 1 - one))
  }
  await program.close()
  return results
}

/** Deviations from what independent draws would give, in standard deviations: of a sum of `count` products of mean 0. */
const deviations = (sum: number, share: number, count: number): number => sum / (share * (1 - share)) / Math.sqrt(count)

// 5.5 deviations are passed once in 26 million: none of the thousands of sums below is expected to.
const limit = 5.5

for (const share of [0.05, 0.5])
  test(`${share} of the elements are left out, each by a toss of its own`, async () => {
    const fields = await masks(share, [0, 1, 2, -65535, 2 ** 24])
    for (const field of fields) for (let i = 0; i < field.length; i++) field[i] -= share
    const near = (deviation: number, what: string): void =>
      assert.ok(Math.abs(deviation) < limit, `${what}: ${deviation} deviations`)
    const spread = Math.sqrt(share * (1 - share))
    for (const field of fields) {
      near(field.reduce((a, b) => a + b) / spread / Math.sqrt(field.length), 'the share')
      const rows = new Float64Array(tokens)
      const columns = new Float64Array(width)
      field.forEach((value, i) => {
        rows[Math.floor(i / width)] += value
        columns[i % width] += value
      })
      // Of sums of independent tosses the squares have a mean and a deviation that are known.
      for (const [sums, length] of [
        [rows, width],
        [columns, tokens],
      ] as const) {
        const squares = sums.reduce((total, sum) => total + sum ** 2 / (length * spread ** 2), 0)
        near((squares - sums.length) / Math.sqrt(2 * sums.length), 'sums of rows or columns')
      }
      for (const [down, right] of [
        [0, 1],
        [1, 0],
        [1, 1],
        [2, 0],
        [0, 64],
      ]) {
        let sum = 0
        for (let i = 0; i + down < tokens; i++)
          for (let j = 0; j + right < width; j++) sum += field[i * width + j] * field[(i + down) * width + j + right]
        near(deviations(sum, share, (tokens - down) * (width - right)), `neighbours ${down}, ${right}`)
      }
    }
    for (const [i, one] of fields.entries())
      for (const other of fields.slice(0, i)) {
        const sum = one.reduce((total, value, at) => total + value * other[at], 0)
        near(deviations(sum, share, one.length), 'other layers and seeds')
      }
    // Any two rows, any two columns.
    const random = createRandom(1)
    for (let pair = 0; pair < 2000; pair++) {
      const field = random.pick(fields)
      const [a, b] = [random.integer(0, width - 1), random.integer(0, width - 1)]
      if (a === b) continue
      let sum = 0
      for (let i = 0; i < tokens; i++) sum += field[i * width + a] * field[i * width + b]
      near(deviations(sum, share, tokens) * 0.9, `columns ${a} and ${b}`) // few tosses: the tails are heavier
    }
  })

test('the same feeds leave out the same, others leave out others', async () => {
  const [one] = await masks(0.5, [3])
  const [again] = await masks(0.5, [3])
  const [other] = await masks(0.5, [4])
  assert.deepEqual(again, one)
  assert.notDeepEqual(other, one)
})

for (const name of ['lora-llama', 'dora-gpt2'])
  test(`${name}: with dropout the gradient is that of the loss with the same elements left out`, async () => {
    const fixture = await readLoraFixture(name)
    fixture.adapter.dropout = 0.3
    const tokensOf = fixture.sequences[1]
    const { loss, gradients } = await adapterGradients(fixture, tokensOf, { dropoutSeed: 7 })
    const again = await adapterGradients(fixture, tokensOf, { dropoutSeed: 7, again: true })
    assert.ok(Math.abs(again.loss - loss) < 1e-6)
    const other = await adapterGradients(fixture, tokensOf, { dropoutSeed: 8 })
    assert.ok(Math.abs(other.loss - loss) > 1e-4)
    // Along a direction; DoRA's norms take no part in the gradient, so only its magnitudes may move.
    const random = createRandom(2)
    const moving = Object.keys(gradients).filter((weight) => !fixture.adapter.dora || weight.endsWith('vector'))
    const direction = Object.fromEntries(moving.map((weight) => [weight, gradients[weight].map(() => random.normal())]))
    const at = async (step: number): Promise<number> => {
      const parameters = { ...fixture.parameters }
      for (const weight of moving)
        parameters[weight] = parameters[weight].map((value, i) => value + step * direction[weight][i])
      return (await adapterGradients({ ...fixture, parameters }, tokensOf, { dropoutSeed: 7 })).loss
    }
    const step = 1e-3
    const measured = ((await at(step)) - (await at(-step))) / (2 * step)
    const expected = moving.reduce(
      (sum, weight) => sum + gradients[weight].reduce((s, g, i) => s + g * direction[weight][i], 0),
      0,
    )
    assert.ok(Math.abs(measured - expected) < 0.01 * Math.abs(expected) + 1e-3, `${measured}, not ${expected}`)
    for (const weight of Object.keys(gradients)) {
      const largest = Math.max(...gradients[weight].map(Math.abs))
      const off = gradients[weight].reduce(
        (worst, g, i) => Math.max(worst, Math.abs(g - again.gradients[weight][i])),
        0,
      )
      assert.ok(off <= 1e-5 * largest, `${weight} of layers that are computed again is off by ${off}`)
    }
  })

test('a share that is left out is made up for: means over seeds are the inputs', async () => {
  const graph = createGraph()
  const x = graph.input('x', ['tokens', width])
  const seed = graph.input('seed', [1])
  const program = await compile(graph, { outputs: { y: leaveOut(x, 0.25, seed, 0) }, inline: true })
  const data = Float32Array.from({ length: 4 * width }, (_, i) => Math.sin(i))
  const mean = new Float64Array(data.length)
  const runs = 400
  for (let i = 0; i < runs; i++) {
    const feeds = { x: { data, shape: [4, width] }, seed: { data: Float32Array.of(i), shape: [1] } }
    const kept = (await program.run(feeds)).y.data as Float32Array
    kept.forEach((value, at) => (mean[at] += value / 0.75 / runs))
  }
  await program.close()
  const deviation = Math.sqrt(0.25 / 0.75 / runs)
  mean.forEach((value, i) => assert.ok(Math.abs(value - data[i]) <= 5 * deviation * Math.abs(data[i]) + 1e-6))
})
