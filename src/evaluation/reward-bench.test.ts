import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePreferenceLines, rewardBench } from './reward-bench.js'
import { wilson } from './statistics.js'

const example = (language: string, subset: string, chosen: string, rejected: string) => ({
  prompt: '?',
  chosen,
  rejected,
  subset,
  language,
})

test('accuracy by subset and language, ties as misses, with Wilson intervals', async () => {
  // The score is the length of the reply.
  const examples = [
    example('sw', 'chat', 'ndiyo', 'la'),
    example('sw', 'maths', '4', '55'),
    example('ar', 'chat', 'نعم', 'لا'),
    example('ar', 'chat', 'ab', 'cd'),
  ]
  const result = await rewardBench(examples, async (items) => items.map(({ reply }) => reply.length))
  assert.deepEqual(result.overall, { examples: 4, accuracy: 0.5, interval: wilson(0.5, 4), ties: 0.25, margin: 0.75 })
  assert.deepEqual(Object.keys(result.byLanguage), ['ar', 'sw'])
  assert.deepEqual([result.byLanguage.sw.accuracy, result.byLanguage.ar.ties], [0.5, 0.5])
  assert.equal(result.bySubset.chat.accuracy, 2 / 3)
  assert.equal(result.subsetMean, 1 / 3)
  assert.deepEqual(Object.keys(result.cells.ar), ['chat'])
  assert.equal(result.cells.sw.maths.accuracy, 0)
})

test('a scorer that fails is not an accuracy', async () => {
  const examples = [example('en', 'chat', 'a', 'b')]
  await assert.rejects(() => rewardBench(examples, async () => [1, NaN]), /rejected reply of example 0 scores NaN/)
  await assert.rejects(() => rewardBench(examples, async () => [1]), /2 replies have 1 scores/)
  await assert.rejects(() => rewardBench([], async () => []), /no example/)
})

test('lines are read with their defaults, and a wrong one is named', () => {
  const line = '{"prompt":"p","chosen":"c","rejected":"r","id":7}'
  assert.deepEqual(parsePreferenceLines(`${line}\n\n`), [
    { prompt: 'p', chosen: 'c', rejected: 'r', subset: 'all', language: 'und' },
  ])
  assert.throws(() => parsePreferenceLines(`${line}\n{"prompt":1}`, 'file.jsonl'), /file.jsonl, line 2: prompt/)
  assert.throws(() => parsePreferenceLines(`\n[`), /line 2: not JSON/)
})
