import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSpanIdentifier } from './spans.js'

const sixteen = 'en es fr de pt ru ar hi bn zh ja ko sw yo tr vi'.split(' ')

test('sentences that change their language are taken apart where they change', async () => {
  const identify = await loadSpanIdentifier()
  const cases: [string, [string, string][]][] = [
    [
      'Mañana tengo una reunión muy larga, because of the traffic we will be late',
      [
        ['es', 'Mañana tengo una reunión muy larga'],
        ['en', 'because of the traffic we will be late'],
      ],
    ],
    [
      'मुझे लगता है कि this is a very good idea लेकिन हमें और समय चाहिए',
      [
        ['hi', 'मुझे लगता है कि'],
        ['en', 'this is a very good idea'],
        ['hi', 'लेकिन हमें और समय चाहिए'],
      ],
    ],
    [
      'أعتقد أن هذا المشروع needs more time قبل أن ننشره',
      [
        ['ar', 'أعتقد أن هذا المشروع'],
        ['en', 'needs more time'],
        ['ar', 'قبل أن ننشره'],
      ],
    ],
    [
      '今日のミーティングは really productive だったと思います',
      [
        ['ja', '今日のミーティングは'],
        ['en', 'really productive'],
        ['ja', 'だったと思います'],
      ],
    ],
    [
      'The government announced new rules. Serikali ilitangaza sheria mpya za kodi kwa wafanyabiashara wote.',
      [
        ['en', 'The government announced new rules'],
        ['sw', 'Serikali ilitangaza sheria mpya za kodi kwa wafanyabiashara wote'],
      ],
    ],
  ]
  for (const [text, parts] of cases) {
    const spans = identify(text, { candidates: sixteen })
    assert.deepEqual(
      spans.map(({ language, start, end }) => [language, text.slice(start, end)]),
      parts,
    )
    for (const { probability } of spans) assert.ok(probability > 0.7 && probability <= 1 + 1e-9)
  }
})

test('inside a sentence the border may be a word off, no more', async () => {
  const identify = await loadSpanIdentifier()
  const text = 'Nilikuwa naenda sokoni kununua matunda when I saw my old teacher'
  const [first, second, ...more] = identify(text, { candidates: ['sw', 'en'] })
  assert.deepEqual([first.language, second.language, more.length], ['sw', 'en', 0])
  assert.ok(Math.abs(second.start - text.indexOf('when')) <= 9)
})

test('what is said in one language is one span; links, code and numbers are none', async () => {
  const identify = await loadSpanIdentifier()
  const text = 'Run `npm install` in 3 minutes, see https://example.com/es/cosas-nuevas for the rest of it'
  assert.deepEqual(
    identify(text, { candidates: ['en', 'es'] }).map(({ language, words }) => [language, words]),
    [['en', 9]],
  )
  for (const empty of ['', '   ', '42', '👍', '```\nlet x = 1\n```', '\ud800', '\u200b'])
    assert.deepEqual(identify(empty), [], JSON.stringify(empty))
})

test('hostile texts: endless, without spaces, of many scripts', async () => {
  const identify = await loadSpanIdentifier()
  for (const text of [
    'a '.repeat(500_000),
    'a'.repeat(1_000_000),
    '`'.repeat(100_000),
    '<a'.repeat(100_000),
    'aбא中か'.repeat(2000),
  ])
    for (const { start, end } of identify(text, { longest: 4000 })) assert.ok(start < end && end <= 4000)
})
