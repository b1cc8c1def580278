import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  alignTokens,
  alignWords,
  characterNgrams,
  cosine,
  coverageF1,
  coverageOf,
  csls,
  cslsRank,
  idsOf,
  meanOfNearest,
  openModelEmbedder,
  openTextModel,
  radiiOf,
  remembering,
  alignableWords,
  type Vector,
} from './index.js'
import { encoderFolder, semanticFixture } from './testing.js'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))
const folderOf = (...given: Parameters<typeof encoderFolder>): string => {
  const folder = encoderFolder(...given)
  folders.push(folder)
  return folder
}
const furthest = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), a.length === b.length ? 0 : Infinity)

for (const name of ['bert', 'xlm-roberta'] as const) {
  const expected = semanticFixture.folders[name]

  test(`${name}: embeddings are those of sentence-transformers in every pooling, batched and alone`, async () => {
    const folder = folderOf(name)
    for (const [mode, pooling] of [
      ['mean', 'mean'],
      ['cls', 'cls'],
      ['max', 'max'],
      ['lasttoken', 'last'],
    ] as const) {
      const embedder = await openModelEmbedder(folder, { pooling, normalize: false, inline: true, tokenBudget: 64 })
      const vectors = await embedder.embed(semanticFixture.texts)
      const [alone] = await embedder.embed([semanticFixture.texts[1]])
      await embedder.close()
      vectors.forEach((vector, i) => {
        const off = furthest(vector, expected.embeddings[mode][i])
        assert.ok(off < 2e-5, `${mode}, text ${i}: off by ${off}`)
      })
      assert.ok(furthest(alone, vectors[1]) < 1e-5)
    }
  })

  test(`${name}: pooling, dense layer and normalisation are read from the folder`, async () => {
    const embedder = await openModelEmbedder(folderOf(name, { modules: true }), { inline: true })
    assert.equal(embedder.dimension, expected.whole[0].length)
    const vectors = await embedder.embed(semanticFixture.texts)
    await embedder.close()
    vectors.forEach((vector, i) => assert.ok(furthest(vector, expected.whole[i]) < 2e-5, `text ${i}`))
  })

  test(`${name}: pairs are read together as transformers reads them`, async () => {
    const embedder = await openModelEmbedder(folderOf(name), { pooling: 'mean', normalize: false, inline: true })
    const vectors = await embedder.embedPairs(expected.together.map(({ pair }) => pair))
    expected.together.forEach(({ pair, ids, mean }, i) => {
      const [first, second] = pair.map((text) => idsOf(embedder.model, text, 99))
      assert.deepEqual(embedder.model.specials.wrap(first, second).ids, ids)
      assert.ok(furthest(vectors[i], mean) < 2e-5, `pair ${i}`)
    })
    const long = await embedder.embedPairs([['hi '.repeat(5000), 'ram '.repeat(5000)]])
    assert.ok(long[0].every(Number.isFinite))
    await embedder.close()
  })
}

test('hostile texts have embeddings: endless, lone surrogates, zero width, spaces only', async () => {
  const embedder = await openModelEmbedder(folderOf('bert'), { inline: true })
  const texts = ['a'.repeat(1e6), '\ud800 hi \udfff', '\u200b\u200d', ' '.repeat(1e6), '\u0000', '🧿'.repeat(1e5)]
  for (const vector of await embedder.embed(texts)) {
    assert.ok(vector.every(Number.isFinite))
    assert.ok(Math.abs(cosine(vector, vector) - 1) < 1e-6)
  }
  await embedder.close()
})

test('a decoder is embedded by its last token, and padding behind is not seen', async () => {
  const folder = fileURLToPath(new URL('../../../models/base', import.meta.url))
  const embedder = await openModelEmbedder(folder, { inline: true })
  const texts = ['copy: a b c', 'habari', 'sort: k b a and a longer one']
  const vectors = await embedder.embed(texts)
  for (const [i, text] of texts.entries()) {
    const [alone] = await embedder.embed([text])
    assert.ok(furthest(alone, vectors[i]) < 1e-4, text)
  }
  // What comes before decides the state, what comes after does not: the states of a prefix are a prefix of the states.
  const { model } = embedder
  const whole = model.specials.wrap(idsOf(model, texts[2], 99))
  const part = { ids: whole.ids.slice(0, 4), types: whole.types.slice(0, 4) }
  const [states, ofPart] = await model.states([whole, part])
  assert.ok(furthest(states.subarray(0, ofPart.length), ofPart) < 1e-4)
  await assert.rejects(() => model.states([whole], 0), /only the last layer/)
  await assert.rejects(() => alignWords(model, [{ source: 'a', reply: 'b' }]), /is a decoder/)
  await embedder.close()
})

test('what is not understood of a folder is named', async () => {
  const folder = folderOf('bert', { modules: true })
  writeFileSync(join(folder, '1_Pooling', 'config.json'), '{"pooling_mode":"weightedmean"}')
  await assert.rejects(() => openModelEmbedder(folder), /1_Pooling.config.json: pooling "weightedmean"/)
  writeFileSync(join(folder, 'modules.json'), '[{"path":"","type":"x.WordWeights"}]')
  await assert.rejects(() => openModelEmbedder(folder), /"x.WordWeights" is not supported/)
  const model = await openTextModel(folderOf('bert'), { inline: true })
  await assert.rejects(() => model.states([{ ids: [], types: [] }]), /1 to 32 tokens/)
  await assert.rejects(() => model.states([{ ids: [2], types: [0] }], 3), /layers 0 to 2, not 3/)
  await model.close()
})

test('character n-grams know spelling in any script, and nothing else', async () => {
  const embedder = characterNgrams()
  const nearest = async (text: string, candidates: string[]): Promise<string> => {
    const [own, ...others] = await embedder.embed([text, ...candidates])
    return candidates[
      others.map((other) => cosine(own, other)).reduce((best, c, i, all) => (c > all[best] ? i : best), 0)
    ]
  }
  const candidates = ['habari ya asubuhi', 'доброе утро', '早上好', 'صباح الخير', 'शुभ प्रभात']
  assert.equal(await nearest('HABARI za asubuhi', candidates), candidates[0])
  assert.equal(await nearest('Доброго утра', candidates), candidates[1])
  assert.equal(await nearest('你早上好吗', candidates), candidates[2])
  assert.equal(await nearest('صباحا خير', candidates), candidates[3])
  assert.equal(await nearest('प्रभात', candidates), candidates[4])
  const [same, again, empty] = await embedder.embed(['E\u0301cole', 'école', ' \u200e'])
  assert.deepEqual(same, again)
  assert.equal(cosine(empty, same), 0)
  const [long] = await embedder.embed(['ab'.repeat(1e6)])
  assert.ok(Math.abs(cosine(long, long) - 1) < 1e-6)
  assert.throws(() => characterNgrams({ orders: [3, 2] }), /orders/)
})

test('a remembering embedder asks once for a text, answers copies, and forgets the oldest', async () => {
  const asked: string[][] = []
  const embedder = remembering(
    {
      name: 'counting',
      dimension: 1,
      embed: (texts) => {
        asked.push([...texts])
        return Promise.resolve(texts.map((text) => Float32Array.of(text.length)))
      },
      close: () => Promise.resolve(),
    },
    2,
  )
  const [first] = await embedder.embed(['a', 'bb', 'a'])
  first[0] = 99
  assert.deepEqual(await embedder.embed(['bb', 'a']), [Float32Array.of(2), Float32Array.of(1)])
  await embedder.embed(['ccc', 'bb'])
  assert.deepEqual(asked, [['a', 'bb'], ['ccc']])
  await embedder.embed(['a'])
  assert.deepEqual(asked.at(-1), ['a'])
})

test('CSLS is that of the formula in numpy; a rank counts what does as well', () => {
  const { k, values } = semanticFixture.csls
  const [x, y] = [semanticFixture.csls.x, semanticFixture.csls.y].map((rows) =>
    rows.map((row) => Float32Array.from(row)),
  )
  values.forEach((row, i) =>
    row.forEach((value, j) => assert.ok(Math.abs(csls(x[i], y[j], { ofX: y, ofY: x, k }) - value) < 1e-5)),
  )
  const radii = y.map((vector) => meanOfNearest(vector, x, k))
  const rank = (i: number, j: number): number =>
    cslsRank(x[i], { vector: y[j], radius: radii[j] }, y.toSpliced(j, 1), radii.toSpliced(j, 1))
  values.forEach((row, i) =>
    row.forEach((value, j) => assert.equal(rank(i, j), 1 + row.filter((other) => other > value).length)),
  )
  radiiOf(y, k).forEach((radius, j) => assert.ok(Math.abs(radius - meanOfNearest(y[j], y.toSpliced(j, 1), k)) < 1e-6))
  assert.deepEqual(radiiOf([x[0]], k), [0])
  const twin: Vector = Float32Array.of(1, 0)
  assert.equal(cslsRank(twin, { vector: twin, radius: 0.5 }, [twin, twin], [0.5, 0.5]), 3)
})

test('a hub wins by cosine and loses by CSLS', () => {
  const hub = Float32Array.of(1, 1, 1)
  const right = Float32Array.of(1, 0, 0)
  const x = Float32Array.of(1, 0.9, 0.9)
  const queries = [x, Float32Array.of(1, 1, 0), Float32Array.of(0, 1, 1), Float32Array.of(1, 0, 1)]
  assert.ok(cosine(x, hub) > cosine(x, right))
  const of = (y: Vector): number => csls(x, y, { ofX: [hub, right], ofY: queries, k: 4 }) - 2 * cosine(x, y)
  assert.ok(of(hub) < of(right))
})

test('alignments are those of SimAlign and awesome-align', async () => {
  const model = await openTextModel(folderOf('bert'), { inline: true })
  for (const { source, reply, layer, ...expected } of semanticFixture.folders.bert.alignments!)
    for (const method of ['argmax', 'softmax'] as const) {
      const [{ links }] = await alignWords(model, [{ source, reply }], {
        method,
        layer,
        threshold: method === 'argmax' ? -1 : undefined,
      })
      const found = links.map((link) => [link.source, link.reply])
      found.sort(([a, b], [c, d]) => a - c || b - d)
      assert.deepEqual(found, expected[method], `${method}, layer ${layer}: ${source} | ${reply}`)
    }
  await model.close()
})

test('coverage sees what was left out and what was added', async () => {
  // One axis a meaning; the same word in two languages lies on one axis.
  const meaning = (i: number): Vector => Float32Array.from({ length: 4 }, (_, j) => (i === j ? 1 : 0.1))
  const source = [0, 1, 2, 3].map(meaning)
  const whole = coverageOf(alignTokens(source, [3, 1, 0, 2].map(meaning)), 4, 4)
  assert.deepEqual(whole, { source: 1, reply: 1 })
  const omitted = coverageOf(alignTokens(source, [0, 2].map(meaning)), 4, 2)
  assert.deepEqual(omitted, { source: 0.5, reply: 1 })
  const added = coverageOf(alignTokens(source.slice(0, 2), [0, 1, 1, 1].map(meaning)), 2, 4)
  assert.deepEqual(added, { source: 1, reply: 0.5 })
  assert.ok(Math.abs(coverageF1(omitted) - 2 / 3) < 1e-12)
  assert.deepEqual(coverageOf([], 3, 0), { source: 0, reply: 0 })
  assert.deepEqual(coverageOf([], 0, 0), { source: 1, reply: 1 })

  const model = await openTextModel(folderOf('xlm-roberta'), { inline: true })
  const hostile = ['', '...', '\u200b', 'ha '.repeat(1e5), '\ud800', '你'.repeat(1e5)]
  const found = await alignWords(
    model,
    hostile.map((reply) => ({ source: 'hi bam 你好', reply })),
  )
  found.forEach(({ source, reply, sourceWords }) => {
    assert.deepEqual(sourceWords, ['hi', 'bam', '你好'])
    assert.ok(source >= 0 && source <= 1 && reply >= 0 && reply <= 1)
  })
  assert.deepEqual([found[0].source, found[1].source, found[2].source], [0, 0, 0])
  await model.close()
})

test('words are found in every script, with and without spaces', () => {
  const texts = (text: string, language?: string): string[] => alignableWords(text, language).map((word) => word.text)
  assert.deepEqual(texts('Mtoto, anasoma!'), ['Mtoto', 'anasoma'])
  assert.deepEqual(texts('你好，世界', 'zh'), ['你好', '世界'])
  assert.deepEqual(texts('สวัสดีครับ', 'th'), ['สวัสดี', 'ครับ'])
  assert.deepEqual(texts('नमस्ते दुनिया।', 'hi'), ['नमस्ते', 'दुनिया'])
  assert.deepEqual(texts('مرحبا بالعالم؟', 'no such language'), ['مرحبا', 'بالعالم'])
  assert.deepEqual(
    alignableWords('a-b c').map(({ spaced }) => spaced),
    [true, false, true],
  )
})
