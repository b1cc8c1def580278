import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RewardValue } from '../types.js'
import { makeTranscript } from '../transcript.test.helper.js'
import { syllableRatio } from './length-rewards.js'

const score = async (
  reply: string,
  data: { source?: string; sourceLanguage?: string } | null,
  language = 'en',
  options: Record<string, unknown> = {},
): Promise<RewardValue> =>
  syllableRatio
    .make(syllableRatio.options.parse(options))
    .score(makeTranscript({ reply, language, data, prompt: '42' }))

test('1 inside the band, the formula outside, by syllables of both languages', async () => {
  const source = '今天天气很好我们一起去公园散步吧好不好' // 19
  const data = { source, sourceLanguage: 'zh' }
  assert.equal(await score('ka '.repeat(16), data), 1)
  assert.equal(await score('ka '.repeat(17), data), 1)
  const ratio = 20 / 19
  assert.ok(Math.abs(((await score('ka '.repeat(20), data)) as number) - Math.exp(-100 * (ratio - 0.8) ** 2)) < 1e-12)
  assert.equal(await score('कमल '.repeat(8), data, 'hi'), 1, 'two each')
  assert.equal(await score('さくら '.repeat(5) + 'か', data, 'ja'), 1)
  assert.equal(await score('ka '.repeat(19), data, 'en', { low: 0.95, high: 1.05 }), 1)
})

test('short sources have a wide band', async () => {
  assert.equal(await score('ka ka', { source: '你好吗' }), 1, '2 / 3 in [0.48, 1.26]')
  assert.equal(await score('ka ka ka', { source: '你好吗' }), 1)
})

test('no source, nothing to say; an empty or endless reply is far from the band', async () => {
  assert.equal(await score('ka', null), null, 'a first message without letters')
  const data = { source: '今天天气很好我们一起去公园散步吧' }
  for (const reply of ['', '👍', '\ud800', 'a'.repeat(1_000_000), 'ka '.repeat(300_000)])
    assert.ok(((await score(reply, data)) as number) < 1e-20)
})
