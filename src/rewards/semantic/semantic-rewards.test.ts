import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { transcriptOf, type Sample } from '../sample.js'
import type { Reward, RewardValue } from '../types.js'
import {
  aboveFloor,
  alignmentCoverage,
  crossLingualSimilarity,
  embeddingSimilarity,
  retrievalSimilarity,
  semanticRewards,
} from './index.js'
import { encoderFolder } from './testing.js'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))
const folderOf = (...given: Parameters<typeof encoderFolder>): string => {
  const folder = encoderFolder(...given)
  folders.push(folder)
  return folder
}

const hostile = [
  '',
  '\u200b',
  '\ud800\udfff\udc00',
  'x'.repeat(1e6),
  '你'.repeat(3e5),
  '\u0000',
  '🧿\u200d'.repeat(1e4),
]

/** All at once and one by one, which must be the same; errors thrown. */
async function valuesOf(reward: Reward, samples: readonly Sample[]): Promise<RewardValue[]> {
  const transcripts = samples.map((sample) => transcriptOf(sample))
  const values = await reward.scoreAll!(transcripts)
  for (const [i, transcript] of transcripts.entries()) {
    const [value, alone] = [values[i], await reward.score(transcript)]
    if (value instanceof Error) throw value
    if (typeof value === 'number') assert.ok(Math.abs(value - (alone as number)) < 1e-5, `sample ${i}`)
    else assert.deepEqual(value, alone)
  }
  return values as RewardValue[]
}

test('without a model the similarity is of spelling, in any script; no reference, no answer', async () => {
  const reward = embeddingSimilarity()
  for (const [right, near, far] of [
    ['The capital is Nairobi', 'the capital is nairobi', 'Some other thing'],
    ['Столица — Москва', 'столица Москва', 'совсем другое'],
    ['عاصمة مصر القاهرة', 'عاصمة مصر هي القاهرة', 'شيء آخر تماما'],
    ['राजधानी दिल्ली है', 'राजधानी दिल्ली', 'कुछ और बात'],
    ['首都是北京', '首都北京', '完全不同'],
  ]) {
    const [a, b, c] = (await valuesOf(
      reward,
      [right, near, far].map((reply) => ({ reply, answer: right })),
    )) as number[]
    assert.ok(Math.abs(a - 1) < 1e-6 && b > 0.4 && b < 1.0001 && c < 0.35, `${right}: ${a} ${b} ${c}`)
  }
  const [nothing, two] = await valuesOf(reward, [{ reply: 'x' }, { reply: 'habari', references: ['zzz', 'habari'] }])
  assert.equal(nothing, null)
  assert.ok(Math.abs((two as number) - 1) < 1e-6)
  for (const value of await valuesOf(
    reward,
    hostile.map((reply) => ({ reply, answer: 'Nairobi' })),
  ))
    assert.ok(typeof value === 'number' && value >= 0 && value <= 1)
  assert.equal(aboveFloor(0.9, 0.8).toFixed(6), '0.500000')
})

test('with a model it is the cosine of its embeddings, over a floor, and hostile replies do no harm', async () => {
  const reward = embeddingSimilarity({ model: folderOf('bert'), floor: 0.2 })
  const values = (await valuesOf(reward, [
    { reply: 'hi bam', answer: 'hi bam' },
    { reply: 'hi ram', answer: 'hi bam' },
    { reply: '\u200b', answer: 'hi bam' },
    ...hostile.map((reply) => ({ reply, answer: 'hi' })),
  ])) as number[]
  assert.ok(Math.abs(values[0] - 1) < 1e-5 && values[1] < 1 && values[2] === 0)
  assert.ok(values.every((value) => value >= 0 && value <= 1))
  await reward.close!()
  const again = await reward.score(transcriptOf({ reply: 'hi bam', answer: 'hi bam' }))
  assert.ok(Math.abs((again as number) - 1) < 1e-5, 'a closed reward opens again')
  await reward.close!()
})

test('references in a pivot language are read where the problem has them', async () => {
  const reward = crossLingualSimilarity({ model: folderOf('xlm-roberta'), field: 'pivot' })
  const [same, other, none] = await valuesOf(reward, [
    { reply: 'привив', language: 'ru', pivot: ['zz', 'привив'] },
    { reply: 'привив', language: 'ru', pivot: 'hi bam ram' },
    { reply: 'привив', language: 'ru', answer: 'not looked at' },
  ])
  assert.ok(Math.abs((same as number) - 1) < 1e-5 && (other as number) < 0.999)
  assert.equal(none, null)
  await assert.rejects(async () => reward.score(transcriptOf({ reply: 'x', pivot: 3 })), /data.pivot must be a text/)
  // One bad problem does not take the others with it.
  const mixed = await reward.scoreAll!(
    [
      { reply: 'x', pivot: 3 },
      { reply: 'hi', pivot: 'hi' },
    ].map((s) => transcriptOf(s)),
  )
  assert.ok(mixed[0] instanceof Error && typeof mixed[1] === 'number')
  await reward.close!()
})

test('a model folder that is not there throws, and is never 0', async () => {
  const reward = embeddingSimilarity({ model: '/no/such/folder' })
  await assert.rejects(async () => reward.score(transcriptOf({ reply: 'a', answer: 'a' })), /no.such.folder/)
  await assert.rejects(async () => reward.score(transcriptOf({ reply: 'a', answer: 'a' })), /no.such.folder/)
})

test('a reply finds its reference among other texts, or has a low rank', async () => {
  const background = ['nyumba kubwa', 'mto mrefu', 'leo asubuhi', 'habari ya leo', 'большой дом', '大房子']
  const reward = retrievalSimilarity({ background })
  const of = async (reply: string): Promise<RewardValue> =>
    (await valuesOf(reward, [{ reply, answer: 'habari ya leo' }]))[0]
  assert.equal(await of('habari za leo'), 1)
  assert.ok(((await of('большой дом')) as number) <= 0.5)
  assert.equal(await of('\u200b'), 1 / 7)
  const scaled = retrievalSimilarity({ background, value: 'csls', against: 'source', neighbours: 2 })
  const [near, far, none] = await valuesOf(scaled, [
    { reply: 'mto', source: 'mto mrefu' },
    { reply: '大房子', source: 'mto mrefu' },
    { reply: 'mto' },
  ])
  assert.ok((near as number) > 0 && (far as number) < 0)
  assert.equal(none, null)

  const folder = mkdtempSync(join(tmpdir(), 'background-'))
  folders.push(folder)
  const file = join(folder, 'texts.txt')
  writeFileSync(file, background.join('\n\n'))
  const fromFile = retrievalSimilarity({ backgroundFile: file })
  assert.equal(await fromFile.score(transcriptOf({ reply: 'habari za leo', answer: 'habari ya leo' })), 1)
  assert.throws(() => retrievalSimilarity({}), /one of the two/)
  assert.throws(() => retrievalSimilarity({ backgroundFile: join(folder, 'none') }), /cannot read/)
})

test('alignment coverage is 0 of nothing, 1 of the source itself, and null without words to cover', async () => {
  const model = folderOf('bert')
  const both = alignmentCoverage({ model, layer: 1 })
  const values = await valuesOf(both, [
    { source: 'hi bam ram', reply: 'hi bam ram' },
    { source: 'hi bam ram', reply: '' },
    { source: '...', reply: 'hi' },
    { reply: 'hi' },
    ...hostile.map((reply) => ({ source: 'hi bam ram', reply })),
  ])
  assert.deepEqual(values.slice(0, 4), [1, 0, null, null])
  values.slice(4).forEach((value) => assert.ok(typeof value === 'number' && value >= 0 && value <= 1))
  // Words that are repeated have fewer counterparts than there are of them, on their side alone.
  const added = { source: 'hi', reply: 'hi ram ram ram bam' }
  const source = alignmentCoverage({ model, layer: 1, of: 'source' })
  const reply = alignmentCoverage({ model, layer: 1, of: 'reply' })
  assert.deepEqual([await source.score(transcriptOf(added)), await reply.score(transcriptOf(added))], [1, 0.2])
  for (const reward of [both, source, reply]) await reward.close!()
})

test('every declaration has a name of its own, and refuses options it does not know', () => {
  assert.equal(new Set(semanticRewards.map(({ name }) => name)).size, semanticRewards.length)
  for (const { options } of semanticRewards) assert.throws(() => options.parse({ model: 'm', wrong: 1 }))
})
