import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createRandom, type Random } from '../../core/index.js'
import {
  learnedProcessReward,
  learnedReward,
  loadRewardModel,
  openFeaturizer,
  openRewardModel,
  rewardModelFiles,
  saveRewardModel,
  scoreFeatures,
  tableFeatures,
} from '../../rewards/learned/index.js'
import { qualityEstimate } from '../../rewards/semantic/index.js'
import { encoderFolder } from '../../rewards/semantic/testing.js'
import { transcriptOf } from '../../rewards/sample.js'
import { trainQualityEstimator, trainRewardModel, type PreferencePair, type RatedReply } from './index.js'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const temporary = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-reward-'))
  folders.push(folder)
  return folder
}

// Kind and rude words of several languages and scripts, around words that say nothing of it.
const manners: Record<string, { kind: string[]; rude: string[]; filler: string[] }> = {
  en: {
    kind: ['please', 'thank you', 'gladly'],
    rude: ['shut up', 'idiot', 'go away'],
    filler: ['the house', 'today', 'a river', 'green'],
  },
  sw: {
    kind: ['tafadhali', 'asante', 'karibu'],
    rude: ['nyamaza', 'mjinga', 'ondoka'],
    filler: ['nyumba', 'leo', 'mto', 'kijani'],
  },
  ru: {
    kind: ['пожалуйста', 'спасибо', 'охотно'],
    rude: ['заткнись', 'дурак', 'уходи'],
    filler: ['дом', 'сегодня', 'река', 'зелёный'],
  },
  ar: {
    kind: ['من فضلك', 'شكرا', 'بكل سرور'],
    rude: ['اخرس', 'غبي', 'ارحل'],
    filler: ['البيت', 'اليوم', 'نهر', 'أخضر'],
  },
  hi: { kind: ['कृपया', 'धन्यवाद', 'स्वागत'], rude: ['चुप रहो', 'मूर्ख', 'चले जाओ'], filler: ['घर', 'आज', 'नदी', 'हरा'] },
  zh: { kind: ['请', '谢谢', '乐意'], rude: ['闭嘴', '笨蛋', '滚开'], filler: ['房子', '今天', '河流', '绿色'] },
}

function politePairs(count: number, random: Random): PreferencePair[] {
  return Array.from({ length: count }, (_, i) => {
    const language = random.pick(Object.keys(manners))
    const { kind, rude, filler } = manners[language]
    const say = (word: string): string => random.shuffle([word, random.pick(filler), random.pick(filler)]).join(' ')
    return {
      prompt: `${random.pick(filler)} ${i}`,
      chosen: say(random.pick(kind)),
      rejected: say(random.pick(rude)),
      language,
    }
  })
}

const ngrams = { kind: 'character-ngrams', dimension: 512 } as const

test('manners are learnt in six languages from pairs, and told in replies that were held out', async () => {
  const pairs = politePairs(300, createRandom(1))
  const featurizer = await openFeaturizer({ kind: 'reply', embedder: ngrams })
  const epochs: number[] = []
  const { model, report } = await trainRewardModel(
    { kind: 'pairs', pairs },
    { featurizer, seed: 1, onEpoch: ({ loss }) => epochs.push(loss) },
  )
  assert.ok(report.heldOut.accuracy!.interval.low > 0.85, JSON.stringify(report.heldOut.accuracy))
  assert.deepEqual(Object.keys(report.heldOut.byLanguage!), Object.keys(manners).sort())
  assert.ok(epochs.at(-1)! < epochs[0] / 2)
  assert.equal(report.trained + report.heldOut.units, 300)

  const folder = temporary()
  saveRewardModel(folder, model)
  const again = await openRewardModel(folder)
  const items = [
    { prompt: '', reply: 'тихая река, спасибо' },
    { prompt: '', reply: 'тихая река, дурак' },
    { prompt: '', reply: '' },
  ]
  const scores = await again.score(items)
  assert.deepEqual(scores, await model.score(items))
  assert.ok(scores[0].score > scores[1].score)

  const reward = learnedReward({ model: folder, scale: 'probability' })
  const values = await reward.scoreAll!(
    ['谢谢你', '滚开', '\ud800', 'x'.repeat(1e6), ''].map((reply) => transcriptOf({ prompt: '?', reply })),
  )
  values.forEach((value) => assert.ok(typeof value === 'number' && value > 0 && value < 1))
  assert.ok((values[0] as number) > 0.5 && (values[1] as number) < 0.5)
  assert.equal(await reward.score(transcriptOf({ prompt: '?', reply: '谢谢你' })), values[0])
  await reward.close!()
})

test('the same seed gives the same weights, another seed others; labels at random teach nothing', async () => {
  const pairs = politePairs(120, createRandom(2))
  const featurizer = await openFeaturizer({ kind: 'reply', embedder: ngrams })
  const train = async (seed: number, data = pairs) =>
    trainRewardModel({ kind: 'pairs', pairs: data }, { featurizer, seed, epochs: 5, head: { kind: 'mlp', hidden: 8 } })
  const [a, b, c] = [await train(1), await train(1), await train(2)]
  assert.deepEqual(a.model.members, b.model.members)
  assert.notDeepEqual(a.model.members, c.model.members)
  const random = createRandom(3)
  const shuffled = politePairs(600, random).map((pair) =>
    random.uniform() < 0.5 ? pair : { ...pair, chosen: pair.rejected, rejected: pair.chosen },
  )
  const { interval } = (await train(1, shuffled)).report.heldOut.accuracy!
  assert.ok(interval.low < 0.5 && interval.high > 0.5, JSON.stringify(interval))
})

test('an ensemble disagrees most where it has seen nothing, and its disagreement can be counted against a reply', async () => {
  const pairs = politePairs(200, createRandom(4))
  const featurizer = await openFeaturizer({ kind: 'reply', embedder: ngrams })
  const { model } = await trainRewardModel({ kind: 'pairs', pairs }, { featurizer, members: 4, epochs: 10, seed: 3 })
  const [score] = await model.score([{ prompt: '', reply: 'asante leo' }])
  assert.equal(score.members.length, 4)
  assert.ok(new Set(score.members).size === 4 && score.disagreement > 0)
  const [careful] = await model.score([{ prompt: '', reply: 'asante leo' }], { by: 'deviation', penalty: 2 })
  assert.ok(Math.abs(careful.score - (score.score - 2 * score.disagreement)) < 1e-9)
  // Comparisons fix no level: every member is centred on the training data.
  const all = await model.score(
    pairs.flatMap(({ prompt, chosen, rejected }) => [
      { prompt, reply: chosen },
      { prompt, reply: rejected },
    ]),
  )
  for (let m = 0; m < 4; m++)
    assert.ok(Math.abs(all.reduce((sum, { members }) => sum + members[m] / all.length, 0)) < 0.5)
})

/** Points in the plane as given features; two ratings that are linear in them. */
function ratedPoints(count: number, random: Random): { ratings: RatedReply[]; table: Record<string, Float32Array> } {
  const table: Record<string, Float32Array> = {}
  const ratings = Array.from({ length: count }, (_, i) => {
    const [x, y] = [random.normal(), random.normal()]
    table[`r${i}`] = Float32Array.of(x, y)
    return { prompt: `p${i}`, reply: `r${i}`, ratings: [2 * x + 1, i % 3 === 0 ? null : x - y] }
  })
  return { ratings, table }
}

test('two heads are regressed on ratings with gaps, over vectors that are given', async () => {
  const { ratings, table } = ratedPoints(200, createRandom(5))
  const { model, report } = await trainRewardModel(
    { kind: 'ratings', ratings },
    {
      featurizer: tableFeatures(table),
      heads: ['helpful', 'short'],
      headWeights: [1, -0.5],
      epochs: 200,
      learningRate: 0.05,
    },
  )
  for (const { rootMeanSquaredError, spearman } of report.heldOut.heads!)
    assert.ok(rootMeanSquaredError! < 0.05 && spearman! > 0.99)
  const [score] = scoreFeatures(model, [Float32Array.of(1, 2)])
  assert.ok(Math.abs(score.heads[0] - 3) < 0.1 && Math.abs(score.heads[1] + 1) < 0.1)
  assert.ok(Math.abs(score.score - (score.heads[0] - 0.5 * score.heads[1])) < 1e-6)
  const folder = temporary()
  saveRewardModel(folder, model)
  assert.deepEqual(scoreFeatures(loadRewardModel(folder), [Float32Array.of(1, 2)]), [score])
  await assert.rejects(() => openRewardModel(folder), /vectors that are given/)
})

test('heads may be parts of their own, weighted as in the one score', async () => {
  const ratings = politePairs(40, createRandom(11)).flatMap(({ prompt, chosen, rejected }) => [
    { prompt, reply: chosen, ratings: [1, chosen.length / 10] },
    { prompt, reply: rejected, ratings: [0, rejected.length / 10] },
  ])
  const featurizer = await openFeaturizer({ kind: 'apart', embedder: ngrams })
  const { model } = await trainRewardModel(
    { kind: 'ratings', ratings },
    { featurizer, heads: ['kind', 'long'], headWeights: [1, -0.1], epochs: 5 },
  )
  const folder = temporary()
  saveRewardModel(folder, model)
  const transcript = transcriptOf({ prompt: 'today', reply: 'thank you' })
  const parts = (await learnedReward({ model: folder, parts: true }).score(transcript)) as Record<string, number>
  const whole = (await learnedReward({ model: folder }).score(transcript)) as number
  assert.deepEqual(Object.keys(parts), ['kind', 'long'])
  assert.ok(Math.abs(parts.kind + parts.long - whole) < 1e-9 && parts.long !== 0)
  const standard = (await learnedReward({ model: folder, scale: 'standard' }).score(transcript)) as number
  assert.ok(Math.abs(standard * model.description.spread - whole) < 1e-9)
})

test('experts that a router chooses among learn what one linear head cannot: categories of opposite taste', async () => {
  const random = createRandom(6)
  const table: Record<string, Float32Array> = {}
  const pairs = Array.from({ length: 400 }, (_, i): PreferencePair => {
    const category = i % 2
    const point = (value: number): Float32Array => Float32Array.of(category === 0 ? 1 : -1, value, random.normal())
    const [low, high] = [random.normal(), random.normal()].sort((a, b) => a - b)
    table[`high${i}`] = point(high)
    table[`low${i}`] = point(low)
    const [chosen, rejected] = category === 0 ? [`high${i}`, `low${i}`] : [`low${i}`, `high${i}`]
    return { prompt: `p${i}`, chosen, rejected, category }
  })
  const train = async (head: Parameters<typeof trainRewardModel>[1]['head']) =>
    (
      await trainRewardModel(
        { kind: 'pairs', pairs },
        { featurizer: tableFeatures(table), head, epochs: 60, learningRate: 0.05, seed: 1 },
      )
    ).report.heldOut.accuracy!.accuracy!
  const [linear, experts, sparse] = [
    await train({ kind: 'linear' }),
    await train({ kind: 'experts', experts: 2 }),
    await train({ kind: 'experts', experts: 2, top: 1 }),
  ]
  assert.ok(linear < 0.7 && experts > 0.9 && sparse > 0.9, `${linear} ${experts} ${sparse}`)
})

test('a process reward model finds the wrong step in several scripts', async () => {
  const random = createRandom(8)
  const digits: Record<string, string> = { en: '0123456789', ar: '٠١٢٣٤٥٦٧٨٩', hi: '०१२३४५६७८९' }
  const solutions = Array.from({ length: 150 }, (_, i) => {
    const language = random.pick(Object.keys(digits))
    const own = (n: number): string => digits[language][n]
    const wrong = random.integer(0, 3)
    const steps = [0, 1, 2].map((k) => {
      const n = random.integer(0, 8)
      return `${own(n)}<${own(k === wrong ? n : n + 1)}`
    })
    return { prompt: `p${i}`, steps, labels: steps.map((_, k) => Number(k !== wrong)), language }
  })
  const featurizer = await openFeaturizer({ kind: 'reply', embedder: { ...ngrams, orders: [3, 3] } })
  const { model, report } = await trainRewardModel({ kind: 'steps', solutions }, { featurizer, epochs: 40, seed: 2 })
  assert.ok(report.heldOut.accuracy!.interval.low > 0.85, JSON.stringify(report.heldOut.accuracy))
  const folder = temporary()
  saveRewardModel(folder, model)
  const reward = learnedProcessReward({ model: folder })
  const values = await reward.scoreAll!(
    ['1<2\n४<५\n٣<٤', '1<2\n४<४\n٣<٤', '', '\n\u200b\n'].map((reply) => transcriptOf({ prompt: 'p', reply })),
  )
  assert.ok((values[0] as number) > 0.5 && (values[1] as number) < 0.5, String(values))
  assert.deepEqual(values.slice(2), [0, 0])
  await reward.close!()
})

test('an estimator of quality reads source and reply through an encoder, and notices another encoder', async () => {
  const encoder = encoderFolder('bert')
  const other = encoderFolder('xlm-roberta')
  folders.push(encoder, other)
  const random = createRandom(9)
  const words: [string, string][] = [
    ['hi', 'привив'],
    ['bam', 'вир'],
    ['ham', 'рип'],
    ['ram', 'пир'],
    ['mir', 'حب'],
    ['bib', 'بحر'],
  ]
  const ratings = Array.from({ length: 240 }, (_, i) => {
    const chosen = random.shuffle(words).slice(0, 3)
    const kept = random.integer(0, 3)
    const reply = chosen.map(([, word], k) => (k < kept ? word : '你')).join(' ')
    return {
      source: `${chosen.map(([word]) => word).join(' ')} ${'?'.repeat(i % 3)}`,
      reply,
      quality: kept / 3,
      language: 'ru',
    }
  })
  const spec = { kind: 'together', embedder: { kind: 'model', folder: encoder } } as const
  const featurizer = await openFeaturizer(spec, { inline: true })
  const { model, report } = await trainQualityEstimator(ratings, { featurizer, epochs: 150, seed: 1 })
  const [{ spearman }] = report.heldOut.heads!
  assert.ok(spearman! > 0.8, `spearman ${spearman}`)

  const folder = temporary()
  saveRewardModel(folder, model)
  const reward = qualityEstimate({ model: folder })
  const [whole, part, none] = await reward.scoreAll!([
    transcriptOf({ source: 'hi bam ham', reply: 'привив вир рип' }),
    transcriptOf({ source: 'hi bam ham', reply: 'привив 你 你' }),
    transcriptOf({ reply: 'привив' }),
  ])
  assert.ok((whole as number) > (part as number))
  assert.equal(none, null)
  await reward.close!()
  await model.close()

  const file = join(folder, rewardModelFiles.json)
  writeFileSync(file, readFileSync(file, 'utf8').replace(JSON.stringify(encoder), JSON.stringify(other)))
  const swapped = qualityEstimate({ model: folder })
  await assert.rejects(
    async () => swapped.score(transcriptOf({ source: 'hi', reply: 'ram' })),
    /trained over another model/,
  )
  await swapped.close!()
})

test('what cannot be trained on is refused by name, and damaged folders too', async () => {
  const featurizer = await openFeaturizer({ kind: 'reply', embedder: ngrams })
  const refused = (data: Parameters<typeof trainRewardModel>[0], options: object, expected: RegExp) =>
    assert.rejects(() => trainRewardModel(data, { featurizer, ...options }), expected)
  const pairs = politePairs(4, createRandom(1))
  await refused({ kind: 'pairs', pairs: [] }, {}, /on nothing/)
  await refused({ kind: 'pairs', pairs }, { heads: ['a', 'b'] }, /teach one head, not 2/)
  await refused({ kind: 'pairs', pairs }, { epochs: 0 }, /epochs must be a whole number/)
  await refused({ kind: 'rankings', rankings: [{ prompt: 'p', replies: ['a'] }] }, {}, /ranking 0: 1 replies/)
  await refused({ kind: 'ratings', ratings: [{ prompt: '', reply: '', ratings: [1, 2] }] }, {}, /rating 0/)
  await refused({ kind: 'ratings', ratings: [{ prompt: '', reply: '', ratings: Infinity }] }, {}, /rating 0/)
  await refused(
    { kind: 'steps', solutions: [{ prompt: '', steps: ['a'], labels: [2] }] },
    {},
    /solution 0.*in \[0, 1\]/,
  )
  await refused({ kind: 'pairs', pairs }, { learningRate: 1e30, epochs: 40 }, /not finite|take a lower learningRate/)

  assert.throws(() => loadRewardModel(tmpdir()), /is no reward model/)
  const { model } = await trainRewardModel({ kind: 'pairs', pairs }, { featurizer, epochs: 1 })
  const folder = temporary()
  saveRewardModel(folder, model)
  const file = join(folder, rewardModelFiles.json)
  const json = readFileSync(file, 'utf8')
  writeFileSync(file, json.replace('"dimension": 512,\n  "featureScale"', '"dimension": 511,\n  "featureScale"'))
  assert.throws(() => loadRewardModel(folder), /"features.mean" is \[512\], not \[511\]/)
  writeFileSync(file, json.replace('"linear"', '"cubic"'))
  assert.throws(() => loadRewardModel(folder), /reward-model.json: head.kind/)
})

test('rankings teach the order of all replies', async () => {
  const { table } = ratedPoints(200, createRandom(10))
  const keys = Object.keys(table)
  const rankings = Array.from({ length: 50 }, (_, i) => {
    const replies = keys.slice(4 * i, 4 * i + 4).sort((a, b) => table[b][0] - table[a][0])
    return { prompt: `p${i}`, replies }
  })
  const { report } = await trainRewardModel(
    { kind: 'rankings', rankings },
    { featurizer: tableFeatures(table), epochs: 60, learningRate: 0.05 },
  )
  assert.equal(report.heldOut.accuracy!.comparisons, 60)
  assert.ok(report.heldOut.accuracy!.accuracy! > 0.95)
})
