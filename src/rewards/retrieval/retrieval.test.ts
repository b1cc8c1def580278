import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { transcriptOf, type Sample } from '../sample.js'
import type { RewardValue } from '../types.js'
import {
  citationsIn,
  citationScores,
  containsEvidence,
  evidenceCoverage,
  idsIn,
  ndcgAt,
  normalizeEvidence,
  precisionAt,
  quotationAccuracy,
  quotationsIn,
  recallAt,
  reciprocalRank,
  retrievalRewards,
} from './index.js'

interface Case {
  gold: Record<string, number>
  retrieved: string[]
  k: number
  recall: number
  precision: number
  ndcgAtK: number
  ndcg: number
  reciprocalRank: number
}

// Made by tools/fixtures/retrieval.py.
const fixtureUrl = new URL('../../../src/rewards/retrieval/retrieval.fixture.json', import.meta.url)
const fixture = JSON.parse(readFileSync(fixtureUrl, 'utf8')) as { cases: Case[] }

async function scored(name: string, sample: Sample, options: object = {}): Promise<RewardValue> {
  const declared = retrievalRewards.find((one) => one.name === name)!
  return declared.make(declared.options.parse(options)).score(transcriptOf(sample))
}

test('rankings are scored as trec_eval does', () => {
  assert.ok(fixture.cases.length >= 40)
  for (const { gold, retrieved, k, ...expected } of fixture.cases) {
    const found = {
      recall: recallAt(retrieved, gold, k),
      precision: precisionAt(retrieved, gold, k),
      ndcgAtK: ndcgAt(retrieved, gold, k),
      ndcg: ndcgAt(retrieved, gold),
      reciprocalRank: reciprocalRank(retrieved, gold),
    }
    for (const [name, value] of Object.entries(found))
      assert.ok(Math.abs(value - expected[name as keyof typeof expected]) < 1e-6, `${name} ${value}`)
  }
})

test('saying an id again, or all there are, gains nothing at rank k', () => {
  assert.equal(recallAt(['a', 'a', 'b'], ['a', 'b'], 2), 1)
  assert.equal(precisionAt(['a', 'a', 'a'], ['a', 'b'], 3), 1 / 3)
  assert.equal(ndcgAt(['a', 'a'], ['a', 'b'], 2), ndcgAt(['a'], ['a', 'b'], 2))
  assert.equal(recallAt([], ['a']), 0)
  assert.equal(recallAt(['a'], []), 0)
  assert.equal(precisionAt([], ['a']), 0)
})

test('ids are read from lists of JSON and from lines', () => {
  assert.deepEqual(idsIn('["d1", "d2", 3]'), ['d1', 'd2', '3'])
  assert.deepEqual(idsIn('Found: [{"id": "文書-1", "text": "..."}, {"id": 2}]'), ['文書-1', '2'])
  assert.deepEqual(idsIn('1. [doc-7]\n2) doc-3\n- وثيقة\n\n[x] a title (y)'), ['doc-7', 'doc-3', 'وثيقة', 'x'])
  assert.deepEqual(idsIn(''), [])
  const started = performance.now()
  for (const text of ['['.repeat(1e6), '[a]'.repeat(3e5), ' \n'.repeat(5e5)]) idsIn(text)
  assert.ok(performance.now() - started < 20_000)
})

test('evidence is found by its words, in every script, not by parts of words or numbers', () => {
  for (const [text, evidence] of [
    ['The capital is NAIROBI.', 'Nairobi'],
    ['राजधानी नई दिल्ली है।', 'नई  दिल्ली'],
    ['首都は東京です。', '東京'],
    ['수도는 서울입니다', '서울'],
    ['เมืองหลวงคือกรุงเทพมหานคร', 'กรุงเทพ'],
    ['العاصمة: القاهرة!', 'القاهرة'],
    ['In ١٩٦٣, it was free', '1963'],
    ['ﬁnal ｒｅｓｕｌｔ', 'final result'],
    ['«e\u0301cole»', 'École'],
    ['𝟒𝟐 it is', '42'],
  ])
    assert.ok(containsEvidence(text, evidence), `${text} / ${evidence}`)
  for (const [text, evidence] of [
    ['It is 42.', '4'],
    ['A catalogue', 'cat'],
    ['नईदिल्ली', 'नई'],
    ['Москвасити', 'Москва'],
    ['anything', ''],
    ['...', '!'],
    ['', 'a'],
  ])
    assert.ok(!containsEvidence(text, evidence), `${text} / ${evidence}`)
  assert.equal(normalizeEvidence('The “Nile”, ６,650 km!'), 'the nile 6 650 km')
  assert.equal(evidenceCoverage('Nile and Congo', ['nile', ['Kongo', 'congo'], 'Niger', 'Nil']), 0.5)
  assert.equal(evidenceCoverage('a', []), 0)
  const started = performance.now()
  containsEvidence('a'.repeat(1e6), 'a'.repeat(1000))
  assert.ok(performance.now() - started < 20_000)
})

test('citations in brackets of several scripts', () => {
  assert.deepEqual(citationsIn('It rained [1, 2] and 【३】 [a;b].'), ['1', '2', '3', 'a', 'b'])
  assert.deepEqual(citationsIn('As said [sic] in [12] and [2024年]', ['1', '12']), ['12'])
  assert.deepEqual(citationsIn('no [ ] none []'), [])
  assert.deepEqual(citationScores(['1', '9', '1'], ['1', '2']), { precision: 0.5, recall: 0.5, f1: 0.5 })
  assert.deepEqual(citationScores([], ['1']), { precision: 0, recall: 0, f1: 0 })
  const started = performance.now()
  citationsIn('['.repeat(1e6))
  citationsIn('[a '.repeat(3e5))
  quotationsIn('"a '.repeat(3e5))
  quotationsIn('“'.repeat(1e6))
  assert.ok(performance.now() - started < 20_000)
})

test('quotations must stand in what they cite', () => {
  const text = 'He says “the river rose” [1], she «bajó el río» [2, 3], they 「川が増えた」【1】 and "plain".'
  const quotations = quotationsIn(text)
  assert.deepEqual(
    quotations.map(({ ids }) => ids),
    [['1'], ['2', '3'], ['1']],
  )
  const documents = { 1: 'In May the River rose. 五月に川が増えた。', 3: 'Bajó el río en junio.' }
  assert.equal(quotationAccuracy(quotations, documents), 1)
  assert.equal(quotationAccuracy(quotations, { 1: documents[1] }), 2 / 3)
  assert.equal(quotationAccuracy([], documents), null)
})

test('rewards of retrieval', async () => {
  const gold = ['a', 'b']
  assert.equal(await scored('retrieval-recall', { reply: '["a", "x"]', gold }, { k: 2 }), 0.5)
  assert.equal(await scored('retrieval-mrr', { reply: 'x\nb', gold }), 0.5)
  assert.equal(
    await scored('retrieval-precision', { reply: '', retrieved: ['a', 'b', 'c', 'd'], gold }, { from: 'data' }),
    0.5,
  )
  assert.equal(await scored('retrieval-ndcg', { reply: 'a\nb', gold: { a: 1, b: 1 } }), 1)
  assert.equal(await scored('retrieval-recall', { reply: 'a' }), null)
  const messages = [
    { role: 'user' as const, content: '?' },
    { role: 'tool' as const, content: '[{"id": "b", "text": "the Nile is long"}]' },
    { role: 'assistant' as const, content: 'It is long [b].' },
  ]
  assert.equal(await scored('retrieval-recall', { messages, gold }, { from: 'tools' }), 0.5)
  assert.equal(await scored('evidence-coverage', { messages, evidence: ['Nile'] }, { in: 'tools' }), 1)
  assert.equal(await scored('evidence-coverage', { messages, evidence: ['Nile'] }), 0)
  assert.equal(await scored('evidence-coverage', { messages }), null)
  assert.equal(await scored('citations', { messages, gold: ['b'] }), 1)
  assert.equal(await scored('citations', { reply: 'So [1] [7].', documents: [{ id: 1, text: 'x' }] }), 0.5)
  assert.equal(await scored('citations', { reply: 'So [1].' }), null)
  await assert.rejects(scored('retrieval-recall', { reply: 'a', gold: 7 as never }), /data\.gold/)
})

test('searching costs, by tags, calls of tools, or what the task counted', async () => {
  const reply = '<search>nile</search> <tool_call>{"name": "search", "arguments": {}}</tool_call>'
  assert.equal(await scored('search-cost', { replies: [reply, reply] }, { free: 2, limit: 6 }), -0.5)
  assert.equal(await scored('search-cost', { reply: 'none' }), 0)
  assert.equal(await scored('search-cost', { reply }, { metric: 'searches' }), null)
})
