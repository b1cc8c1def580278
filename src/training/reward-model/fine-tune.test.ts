import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { bradleyTerryLoss } from '../../algorithms/reward-model/index.js'
import { createRandom } from '../../core/index.js'
import { createHead, openFeaturizer, openRewardModel } from '../../rewards/learned/index.js'
import { encoderFolder } from '../../rewards/semantic/testing.js'
import { unitsOf, type PreferencePair } from './data.js'
import { fineTuneRewardModel, openTrunk, slopesThroughEncoder } from './fine-tune.js'
import { trainRewardModel } from './train.js'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const folderOf = (name: 'bert' | 'xlm-roberta'): string => {
  const folder = encoderFolder(name)
  folders.push(folder)
  return folder
}

const pairs: PreferencePair[] = [
  { prompt: 'hi', chosen: 'привив', rejected: 'вир рип' },
  { prompt: 'bam ram', chosen: 'بحر', rejected: 'حب حب حب' },
  { prompt: '你好', chosen: 'hi', rejected: '' },
]

for (const name of ['bert', 'xlm-roberta'] as const)
  test(`${name}: derivatives of a loss by weights of the encoder and the head are finite differences`, async () => {
    // A budget so small that the batch goes through in parts.
    const trunk = await openTrunk({ encoder: folderOf(name), tokenBudget: 16, recompute: name === 'bert' })
    const random = createRandom(3)
    const head = createHead({ kind: 'linear' }, trunk.config.hiddenSize, 1, random)
    for (let i = 0; i < head.weights.weight.length; i++) head.weights.weight[i] = 0.5 * random.normal()
    const units = unitsOf({ kind: 'pairs', pairs }, 1)
    const rows = units.flatMap(({ samples }) => samples.map(trunk.rowOf))
    const loss = bradleyTerryLoss({ centering: 0.1 })
    const run = () => slopesThroughEncoder(trunk, head, units, rows, loss)
    const { trunk: ofTrunk, head: ofHead } = await run()
    const all = { ...trunk.trained, ...head.weights }
    const slopes: Record<string, Float32Array> = { ...ofTrunk, ...ofHead }
    assert.deepEqual(Object.keys(slopes).sort(), Object.keys(all).sort())
    for (const weight of [
      'weight',
      'embeddings.word_embeddings.weight',
      'embeddings.position_embeddings.weight',
      'embeddings.LayerNorm.weight',
      'encoder.layer.0.attention.self.query.weight',
      'encoder.layer.0.intermediate.dense.bias',
      'encoder.layer.1.output.dense.weight',
    ]) {
      const largest = slopes[weight].reduce(
        (best, slope, i) => (Math.abs(slope) > Math.abs(slopes[weight][best]) ? i : best),
        0,
      )
      const kept = all[weight][largest]
      const at = async (value: number): Promise<number> => {
        all[weight][largest] = value
        return (await run()).value
      }
      const [up, down] = [await at(kept + 0.01), await at(kept - 0.01)]
      all[weight][largest] = kept
      const measured = (up - down) / 0.02
      const slope = slopes[weight][largest]
      assert.ok(Math.abs(slope) > 1e-3, `${weight}: nothing flows`)
      assert.ok(Math.abs(measured - slope) < 0.02 * Math.abs(slope) + 1e-3, `${weight}: ${slope}, measured ${measured}`)
    }
    await trunk.close()
  })

test('an encoder learns with its head what the head alone cannot read off it, and is saved and opened again', async () => {
  // The better reply has the word of the prompt in it, whichever that is.
  const random = createRandom(5)
  const words = ['hi', 'bam', 'привив', 'вир', 'بحر', 'حب', '你', '好']
  const data = Array.from({ length: 200 }, (_, i): PreferencePair => {
    const [own, ...others] = random.shuffle(words)
    return { prompt: `${own} ${'.'.repeat(i % 3)}`, chosen: own, rejected: others[0], language: 'und' }
  })
  // Prompts are few here: what is held out would be a word. So accuracy is measured by hand.
  const encoder = folderOf('bert')
  const folder = join(mkdtempSync(join(tmpdir(), 'fine-tuned-')), 'model')
  folders.push(folder)
  const tuned = await fineTuneRewardModel(
    { kind: 'pairs', pairs: data },
    { encoder, folder, epochs: 8, learningRate: 5e-3, headLearningRate: 2e-2, heldOut: 0, seed: 2 },
  )
  const frozen = await trainRewardModel(
    { kind: 'pairs', pairs: data },
    {
      featurizer: await openFeaturizer(
        { kind: 'together', embedder: { kind: 'model', folder: encoder } },
        { inline: true },
      ),
      heldOut: 0,
      epochs: 40,
      seed: 2,
    },
  )
  const fresh = Array.from({ length: 100 }, () => {
    const [own, other] = random.shuffle(words)
    return { prompt: `${own} ..`, chosen: own, rejected: other }
  })
  const accuracy = async (model: typeof tuned.model): Promise<number> => {
    const scores = await model.score(
      fresh.flatMap(({ prompt, chosen, rejected }) => [chosen, rejected].map((reply) => ({ prompt, reply }))),
    )
    return fresh.filter((_, i) => scores[2 * i].score > scores[2 * i + 1].score).length / fresh.length
  }
  const [whole, alone] = [await accuracy(tuned.model), await accuracy(frozen.model)]
  assert.ok(whole > 0.9 && whole > alone + 0.05, `${whole} with the encoder, ${alone} without`)
  const again = await openRewardModel(folder, { inline: true })
  const sample = [{ prompt: 'hi', reply: 'привив' }]
  assert.deepEqual(await again.score(sample), await tuned.model.score(sample))
  for (const model of [again, tuned.model, frozen.model]) await model.close()
})
