import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom, MyriadError } from '../../core/index.js'
import { scoreTranscript } from '../combine.js'
import { factoriesOf } from '../registry.js'
import { transcriptOf } from '../sample.js'
import { createAlgebra, sameAnswerWith } from './algebra.js'
import { extractAnswers } from './extract.js'
import { isSpelled } from './number-words.js'
import { ANSWER_TYPES, sameAnswer, type AnswerOptions, type AnswerType } from './same-answer.js'
import { sameMath } from './same-math.js'
import { verifiableRewards } from './verifiable-rewards.js'

interface Pair {
  type: AnswerType
  language: string
  a: string
  b: string
  equal: boolean
  note: string
  options?: AnswerOptions
}

const pairsUrl = new URL('../../../src/rewards/verifiable/pairs.json', import.meta.url)
const pairs = JSON.parse(readFileSync(pairsUrl, 'utf8')) as Pair[]

for (const type of ANSWER_TYPES)
  test(`pairs checked by hand: ${type}`, () => {
    const own = pairs.filter((pair) => pair.type === type)
    assert.ok(own.length > 0)
    for (const { language, a, b, equal, note, options } of own) {
      const verdict = sameAnswer(a, b, { ...options, type, language })
      assert.equal(verdict.equal, equal, `${language} ${JSON.stringify([a, b])} ${note}: ${verdict.why}`)
      assert.equal(verdict.score === 1, equal)
      assert.ok(verdict.score >= 0 && verdict.score <= 1)
    }
  })

test('every expected answer is its own right answer', () => {
  for (const { type, language, b, options } of pairs) {
    if (type === 'regex') continue
    const own = { ...options, type, language: options?.expectedLanguage ?? language }
    assert.ok(sameAnswer(b, b, own).equal, `${type} ${language} ${b}`)
  }
})

test('random pieces of answers: a verdict or an error of ours, never another', () => {
  const random = createRandom(3)
  const pieces = [...new Set(pairs.slice(0, 600).flatMap(({ a }) => [...a]))].concat(['\\frac', '\\sqrt', '\\boxed{', '\\begin{pmatrix}', '\\pm', 'sin', 'log', '####', 'Answer:', '\ud800', '\u0301', ' km', ' or ']) // prettier-ignore
  const draw = (most: number): string =>
    Array.from({ length: random.integer(1, most) }, () => random.pick(pieces)).join('')
  for (let round = 0; round < 4000; round++) {
    const type = random.pick(ANSWER_TYPES)
    const [reply, expected, language] = [
      draw(14),
      draw(6),
      random.pick(['en', 'de', 'ar', 'hi', 'ja', 'yo', 'xx', 'no tag', '']),
    ]
    try {
      const { equal, score } = sameAnswer(reply, expected, { type, language })
      assert.equal(score === 1, equal, JSON.stringify([reply, expected, type]))
    } catch (error) {
      if (!(error instanceof MyriadError && error.code === 'reward')) throw error
    }
  }
})

test('formulas that SymPy rewrote are equal, those it changed are not', () => {
  const url = new URL('../../../src/rewards/verifiable/math-pairs.fixture.json', import.meta.url)
  const fixture = JSON.parse(readFileSync(url, 'utf8')) as { pairs: [string, string, boolean][] }
  assert.equal(fixture.pairs.length, 600)
  for (const [a, b, equal] of fixture.pairs) assert.equal(sameMath(a, b, 'en'), equal, `${a} and ${b}`)
})

test('every number is itself in the digits and separators of every language', () => {
  const random = createRandom(5)
  for (const language of [
    'en',
    'de',
    'fr',
    'es',
    'ru',
    'ar-EG',
    'fa',
    'hi',
    'bn',
    'my',
    'ne',
    'sw',
    'yo',
    'ja',
    'th',
    'de-CH',
    'en-IN',
    'pt',
  ])
    for (const system of [new Intl.NumberFormat(language).resolvedOptions().numberingSystem, 'latn'])
      for (let round = 0; round < 20; round++) {
        const value =
          random.integer(-(10 ** random.integer(1, 9)), 10 ** random.integer(1, 9)) / 10 ** random.integer(0, 3)
        const said = new Intl.NumberFormat(language, { numberingSystem: system, maximumFractionDigits: 3 }).format(
          value,
        )
        const options = { type: 'number', language, expectedLanguage: 'en' } as const
        assert.ok(sameAnswer(said, String(value), options).equal, `${language} ${said} ${value}`)
        assert.ok(!sameAnswer(said, String(value + 1), options).equal, `${language} ${said} ${value + 1}`)
      }
})

test('dates in every language are read as they are written', () => {
  const random = createRandom(6)
  for (const language of [
    'en',
    'en-GB',
    'de',
    'fr',
    'es',
    'ru',
    'ar-EG',
    'hi',
    'sw',
    'yo',
    'ja',
    'zh',
    'ko',
    'pl',
    'uk',
    'tr',
    'vi',
    'id',
    'it',
    'nl',
  ])
    for (const dateStyle of ['long', 'full'] as const)
      for (let round = 0; round < 12; round++) {
        const date = new Date(Date.UTC(random.integer(1900, 2090), round, random.integer(1, 28)))
        const said = new Intl.DateTimeFormat(language, { calendar: 'gregory', dateStyle, timeZone: 'UTC' }).format(date)
        const iso = date.toISOString().slice(0, 10)
        assert.ok(sameAnswer(said, iso, { type: 'date', language }).equal, `${language} ${said} ${iso}`)
      }
})

test('spelled numbers: own language only, one value only', () => {
  assert.ok(isSpelled('mia tatu na arobaini na mbili', 342, 'sw'))
  assert.ok(!isSpelled('mia tatu na arobaini na mbili', 343, 'sw'))
  assert.ok(!isSpelled('mia tatu na arobaini na mbili', 342, 'ru'))
  assert.ok(isSpelled('quatre-vingts', 80, 'fr'))
  assert.ok(isSpelled('quatre-vingt-un', 81, 'fr'))
  assert.ok(isSpelled('минус сорок два', -42, 'ru'))
  assert.ok(!isSpelled('kan', 1, 'xx'))
})

test('partial credit', () => {
  const score = (type: AnswerType, a: string, b: string): number => sameAnswer(a, b, { type }).score
  assert.equal(score('set', '{1,2,3}', '{2,3,4}'), 0.5)
  assert.equal(score('interval', '[0,1]', '[0,1)'), 0.5)
  assert.equal(score('interval', '[0,2]', '[0,1)'), 0)
  assert.equal(score('date', 'March 6, 2024', '2024-03-05'), 2 / 3)
  assert.equal(score('date', 'April 5, 2024', '2024-03-05'), 1 / 3)
  assert.equal(score('date', 'March 5, 2023', '2024-03-05'), 0)
  assert.equal(score('json', '{"a":1,"b":{"c":2,"d":3}}', '{"a":1,"b":{"c":2,"d":4}}'), 0.75)
  assert.equal(score('choice', 'A', 'A, C'), 0.5)
  assert.equal(score('unit', '5', '5 km'), 0.5)
})

test('an expected answer that is not of the type is an error, not a wrong reply', () => {
  for (const [type, expected] of [
    ['number', '?!'],
    ['date', 'soon'],
    ['unit', '5'],
    ['boolean', 'perhaps'],
    ['choice', '?'],
    ['json', 'no'],
    ['regex', '('],
  ] as const)
    // prettier-ignore
    assert.throws(() => sameAnswer('1', expected, { type }), { name: 'MyriadError', code: 'reward' })
})

test('hostile replies end soon and are wrong', () => {
  const big = 1_000_000
  const hostile = [
    '',
    '\u200b\u200d\ufeff',
    '\ud800\udfff\ud800',
    '('.repeat(big),
    '{'.repeat(big),
    '['.repeat(3000),
    '\\{'.repeat(1900),
    '\\frac{'.repeat(600),
    '\\boxed{'.repeat(100_000),
    '<answer>'.repeat(100_000),
    '<think>'.repeat(100_000),
    'Answer: '.repeat(100_000),
    '9'.repeat(big),
    '9^'.repeat(1500) + '9',
    '-'.repeat(3900) + '1',
    '1,'.repeat(big / 2),
    '1e9999999',
    '9^{9^{9^{9^9}}}',
    '(9!)!!',
    '1/'.repeat(1900) + '1',
    '.'.repeat(big),
    ' '.repeat(big),
    '٣٫'.repeat(big / 2),
    '½'.repeat(big / 4),
    'A or '.repeat(200_000),
    '2024-'.repeat(200_000),
    '$'.repeat(big),
    '#### '.repeat(100_000),
    '[{"a":'.repeat(100_000),
    'sin '.repeat(1000) + 'x',
    '|'.repeat(3000),
    '\\sqrt'.repeat(800) + '2',
    'x^{-'.repeat(900),
    '\n'.repeat(big) + 'km km km',
    '\u0301'.repeat(big / 4),
    'و'.repeat(4000),
    'yes '.repeat(1000) + 'no',
    `a${' '.repeat(big)}b`,
    `a${'\n'.repeat(big)}b`,
    `\`\`\`\n${'\n'.repeat(big)}`,
    `Answer:${'\n'.repeat(big)}b`,
    `Answer:${' \n'.repeat(3000)}b`,
    `{${' '.repeat(big)}}`,
    '"'.repeat(big),
    "'".repeat(big),
    '*_'.repeat(big / 2),
    `\\boxed{${' '.repeat(3900)}x}`,
    `\\boxed{${'('.repeat(1900)}${')'.repeat(1900)}}`,
    `\\boxed{${'\\{1,'.repeat(600)}}`,
    `\\boxed{${'x+'.repeat(900)}x}`,
    `\\boxed{${'(x+1)^9'.repeat(200)}}`,
    `\\boxed{\\{${Array.from({ length: 400 }, (_, k) => `\\sqrt{${k}}`).join(',')}\\}}`,
    `\\boxed{${'\\pm '.repeat(900)}1}`,
    `\\boxed{1${'\\pm1'.repeat(600)}}`,
    `\\boxed{${'1 or '.repeat(700)}1}`,
    `${'3 km '.repeat(800)}3 kg`,
    `${'January '.repeat(400)}`,
  ]
  const expected: Record<AnswerType, string> = {
    auto: '42', number: '42', math: 'x^2+1', set: '{1,2}', interval: '[0,1)', choice: 'C', date: '2024-03-05', unit: '5 km', boolean: 'no', json: '{"a":1}', regex: '(a+)+b', text: 'Paris',
  } // prettier-ignore
  for (const reply of hostile)
    for (const type of ANSWER_TYPES) {
      const before = process.cpuUsage()
      const { equal } = sameAnswer(reply, expected[type], { type, language: 'ar' })
      assert.equal(equal, false, `${type} ${reply.slice(0, 20)}`)
      const took = process.cpuUsage(before).user / 1000
      assert.ok(took < 5000, `${type} ${reply.slice(0, 20)} took ${took.toFixed(0)} ms of the processor`)
    }
})

test('what is marked as the answer comes before what is not', () => {
  assert.deepEqual(extractAnswers('Answer: 1\n#### 2\n<answer>3</answer> \\boxed{4}'), { mark: 'boxed', texts: ['4'] })
  assert.deepEqual(extractAnswers('Answer: 1\n#### 2\n<answer>3</answer>'), { mark: 'tag', texts: ['3'] })
  assert.deepEqual(extractAnswers('Answer: 1\n#### 2'), { mark: 'hashes', texts: ['2'] })
  assert.deepEqual(extractAnswers('one\ntwo'), { mark: 'last line', texts: ['two'] })
  assert.deepEqual(extractAnswers('<think>1</think>\nthe answer is 2'), { mark: 'cue', texts: ['2'] })
})

test('rewards by name: right, wrong, and where they do not apply', async () => {
  const factories = factoriesOf(verifiableRewards)
  const value = async (
    name: string,
    sample: Parameters<typeof transcriptOf>[0],
    options = {},
  ): Promise<number | null> => (await factories[name](options).score(transcriptOf(sample))) as number | null
  assert.equal(await value('number', { reply: '٤٢', language: 'ar', answer: '42' }), 1)
  assert.equal(await value('number', { reply: '٢٤', language: 'ar', answer: '42' }), 0)
  assert.equal(await value('math', { reply: '\\boxed{\\sqrt8}', answers: ['7', '2\\sqrt2'] }), 1)
  assert.equal(await value('answer', { reply: 'Ответ: 5 марта 2024 г.', language: 'ru', answer: '2024-03-05' }), 1)
  assert.equal(await value('answer', { reply: 'Paris', answer: 'B', choices: ['London', 'Paris'] }), 1)
  assert.equal(await value('multiple-choice', { reply: '②', language: 'ja', answer: 'B' }), 1)
  assert.equal(await value('set', { reply: '{1,2,3}', answer: '{2,3,4}' }), 0.5)
  assert.equal(await value('set', { reply: '{1,2,3}', answer: '{2,3,4}' }, { partial: false }), 0)
  assert.equal(await value('yes-no', { reply: 'Hapana.', language: 'sw', answer: 'no' }), 1)
  assert.equal(await value('unit', { reply: '५००० मीटर', language: 'hi', answer: '5 km' }), 1)
  assert.equal(await value('interval', { reply: '0 < x < 1', answer: '(0,1)' }), 1)
  assert.equal(await value('date', { reply: '令和6年3月5日', language: 'ja', answer: '2024-03-05' }), 1)
  assert.equal(await value('json', { reply: '{"a": 1}', answer: '{"a":1}' }), 1)
  assert.equal(await value('regex', { reply: 'aab', pattern: 'a+b' }), 1)
  assert.equal(await value('regex', { reply: 'aab', answer: 'a+b' }), null)
  for (const { name } of verifiableRewards) {
    // The stand-in task of a sample has no solver.
    if (name !== 'regex' && name !== 'json-schema') assert.equal(await value(name, { reply: '1' }), null)
  }
  const failed = scoreTranscript(factories.number({}), transcriptOf({ reply: '1', answer: '?' }))
  await assert.rejects(failed, { name: 'MyriadError', code: 'reward' })
})

test('JSON by schema: whole, by property, hostile patterns', async () => {
  const make = factoriesOf(verifiableRewards)['json-schema']
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    required: ['name', 'age'],
    properties: {
      name: { $ref: '#/definitions/name' },
      age: { type: 'integer' },
      'a/b': { type: 'string', pattern: '^(a+)+$' },
    },
    additionalProperties: false,
    definitions: { name: { type: 'string', minLength: 1 } },
  }
  const score = async (reply: string, given: unknown = schema): Promise<number> =>
    (await make({}).score(transcriptOf({ reply, schema: given }))) as number
  assert.equal(await score('{"name": "Ada", "age": 36}'), 1)
  assert.equal(await score('```json\n{"name": "Ada", "age": 36}\n```'), 1)
  assert.equal(await score('{"name": "Ada", "age": "36"}'), 0.5)
  assert.equal(await score('{"name": "Ada"}'), 0.5)
  assert.equal(await score('{"age": "x"}'), 0)
  assert.equal(await score('{"name": "Ada", "age": 36, "more": 1}'), 2 / 3)
  assert.equal(await score(`{"name": "Ada", "age": 36, "a/b": "${'a'.repeat(5000)}!"}`), 2 / 3)
  assert.equal(await score('[]'), 0)
  assert.equal(await score('none'), 0)
  assert.equal(await score('['.repeat(500_000)), 0)
  assert.equal(await score('{"name": "Ada", "age": 36}', JSON.stringify(schema)), 1)
  await assert.rejects(async () => score('{}', { type: 'nothing' }), { code: 'reward' })
})

test('a computer algebra system is asked where evaluation cannot tell, and stopped in time', async () => {
  const algebra = createAlgebra({ timeoutMs: 3000 })
  try {
    const asked = (a: string, b: string): Promise<{ equal: boolean; decided: boolean; why: string }> =>
      sameAnswerWith(algebra, a, b, { type: 'math' })
    assert.equal((await asked('\\sqrt8', '2\\sqrt2')).why, 'math from whole') // not asked
    const sum = await asked('\\sum_{k=1}^{4} k', '10')
    assert.equal(sum.equal, true, sum.why)
    const wrong = await asked('\\sum_{k=1}^{4} k', '11')
    assert.equal(wrong.equal, false)
    const large = await asked('9^{9^{9^9}}', '1')
    assert.equal(large.equal, false)
    const after = await asked('\\sum_{k=1}^{4} k', '10')
    assert.equal(after.equal, true, 'a new thread')
  } finally {
    await algebra.close()
  }
})
