import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RewardValue } from '../types.js'
import { makeTranscript } from '../transcript.test.helper.js'
import { languageRewards } from './language-rewards.js'
import { splitThinking, writtenText } from './parts.js'

const rewards = Object.fromEntries(
  languageRewards.map(({ name, options, make }) => [name, make(options.parse({}) as never)]),
)
const score = async (name: string, language: string, reply: string, prompt = '?'): Promise<RewardValue> =>
  rewards[name].score(makeTranscript({ reply, language, prompt }))

const sw = 'Tunajumlisha namba zote mbili kisha tunagawanya kwa mbili ili kupata wastani wake'
const en = 'We add both of the numbers and then divide the sum by two to get the average'
const hi = 'हम दोनों संख्याओं को जोड़ते हैं और फिर औसत पाने के लिए दो से भाग देते हैं'
const ja = '二つの数を足してから、平均を求めるために二で割ります'
const ar = 'نجمع العددين معا ثم نقسم المجموع على اثنين للحصول على المتوسط'
const think = (thinking: string, answer: string): string => `<think>${thinking}</think>${answer}`

test('a reply is taken apart by its tags, whole, half open or half closed', () => {
  assert.deepEqual(splitThinking('<think>a</think>b'), { thinking: 'a', answer: 'b' })
  assert.deepEqual(splitThinking('a</think>b'), { thinking: 'a', answer: 'b' })
  assert.deepEqual(splitThinking('x<think>a'), { thinking: 'a', answer: 'x' })
  assert.deepEqual(splitThinking('<think>a</think>b<think>c</think>d'), { thinking: 'a\nc', answer: 'bd' })
  assert.deepEqual(splitThinking('b'), { thinking: null, answer: 'b' })
  assert.deepEqual(splitThinking('<r>a</r>b', 'r'), { thinking: 'a', answer: 'b' })
  assert.equal(splitThinking('<think>'.repeat(100_000)).answer, '')
})

test('formulas, code, links and quotations of the problem are not the writer’s', () => {
  const text = 'Neno "house" $x + y$ `let a` https://a.example/b \\frac{1}{2} ni "nyumba"'
  const written = writtenText(text, ['Translate "house"'])
  assert.equal(written.length, text.length)
  assert.equal(written.replace(/\s+/g, ' '), 'Neno ni "nyumba"')
})

test('BRIDGE, Magistral, CURE-MED: reasoning and answer apart', async () => {
  for (const [language, own] of Object.entries({ sw, hi, ja, ar })) {
    assert.equal(await score('language-bridge', language, think(own, '42')), 1, language)
    assert.equal(await score('language-bridge', language, think(en, own)), 0, language)
    assert.equal(await score('language-bridge', language, own), null, 'no reasoning')
    assert.equal(await score('language-magistral', language, think(own, own)), 0.1, language)
    assert.equal(await score('language-magistral', language, think(en, own)), 0)
    assert.equal(await score('language-magistral', language, own), 0)
    assert.deepEqual(await score('language-cure-med', language, think(en, own)), { reasoning: 0, answer: 0.5 })
    assert.deepEqual(await score('language-cure-med', language, think(own, own)), { reasoning: 0.5, answer: 0.5 })
  }
  assert.equal(await score('language-cure-med', 'sw', think('1 + 1 = 2', '2')), null)
})

test('M-Thinker: one stretch in another language is too much; formulas, code and names are not', async () => {
  for (const [language, own] of Object.entries({ sw, hi, ja, ar })) {
    assert.equal(await score('language-m-thinker', language, think(own, own)), 1, language)
    assert.equal(await score('language-m-thinker', language, think(`${own}. ${en}. ${own}`, own)), 0, language)
    assert.equal(await score('language-m-thinker', language, own), 0, 'tags are required')
    const excused = `${own} $\\frac{a + b}{2}$ \`average(a, b)\` https://example.com/the-average-of-numbers`
    assert.equal(await score('language-m-thinker', language, think(excused, own)), 1, language)
  }
  const named = `${hi} Nairobi`
  assert.equal(await score('language-m-thinker', 'hi', think(named, hi)), 1, 'a name')
})

test('shares and switches are measured by letters and words', async () => {
  assert.equal(await score('language-share', 'sw', sw), 1)
  assert.equal(await score('language-share', 'sw', en), 0)
  assert.equal(await score('language-share', 'sw', '42'), null)
  const half = (await score('language-share', 'hi', `${hi}. ${en}.`)) as number
  assert.ok(half > 0.3 && half < 0.6, String(half))
  assert.equal(await score('code-switch-rate', 'hi', hi), 1)
  const mixed = 'मुझे लगता है कि this is a very good idea लेकिन हमें और समय चाहिए'
  assert.equal(await score('code-switch-rate', 'hi', mixed), 1 - 2 / 14)
  assert.equal(await score('target-language-thinking', 'hi', think(en, hi)), 0)
  assert.equal(await score('target-language-thinking', 'hi', think(hi, en)), 1)
  assert.equal(await score('target-language-thinking', 'hi', hi), null)
  assert.equal(await score('script-share', 'hi', 'नमसत abcd'), 0.5)
  assert.equal(await score('script-share', 'ja', 'これは本とペン'), 1)
  assert.equal(await score('script-share', 'ja', '42'), null)
  assert.equal(await score('language-share', 'sw', `Neno "${en}" linamaanisha kwamba tunatafuta wastani`, en), 1)
})

test('hostile replies: empty, endless, malformed, zero-width, lone surrogates', async () => {
  const replies = [
    '',
    ' ',
    '\ud800',
    '\u200b'.repeat(1000),
    '<think>',
    '</think>',
    '<think></think>',
    '$'.repeat(100_000),
  ]
  replies.push('"'.repeat(50_000), '`'.repeat(50_000), '\\('.repeat(50_000), '<a'.repeat(50_000), 'a'.repeat(1_000_000))
  for (const name of Object.keys(rewards))
    for (const reply of replies) {
      const value = await score(name, 'sw', reply)
      const parts = value === null ? [] : typeof value === 'number' ? [value] : Object.values(value)
      for (const part of parts) assert.ok(part >= 0 && part <= 1, `${name}: ${reply.slice(0, 10)}`)
    }
})
