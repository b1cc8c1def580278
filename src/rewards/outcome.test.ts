import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesAnswer } from './answers.js'
import { bleu, chrf, exactAnswer, format, lengthPenalty, taskReward } from './outcome.js'
import { makeTranscript } from './transcript.test.helper.js'

test('an answer is right whatever its Unicode form, case, digits, spaces and full stop', () => {
  const right: [string, string][] = [
    ['42', '٤٢'],
    ['४२', '42'],
    ['４２', '42'],
    ['e\u0301cole', 'École'],
    ['Nairobi.', 'nairobi'],
    ['東京。', '東京'],
    ['दिल्ली।', 'दिल्ली'],
    ['  dar  es\u00a0salaam ', 'Dar es Salaam'],
    ['STRASSE', 'straße'],
    ['\u200fالقاهرة\u200e', 'القاهرة'],
  ]
  for (const [reply, answer] of right) assert.ok(matchesAnswer(reply, [answer]), `${reply} = ${answer}`)
  const wrong: [string, string][] = [
    ['42', '24'],
    ['', '42'],
    ['ọmọ', 'omo'],
    ['4 2', '42'],
    ['-3', '3'],
    ['東京', '京都'],
  ]
  for (const [reply, answer] of wrong) assert.ok(!matchesAnswer(reply, [answer]), `${reply} ≠ ${answer}`)
})

test('exact: any of several answers; null where the problem has none', () => {
  const score = (data: object | null, reply: string): unknown =>
    exactAnswer().score(makeTranscript({ reply, data: data as never }))
  assert.equal(score({ answers: ['Ivory Coast', 'Côte d’Ivoire'] }, 'côte d’ivoire'), 1)
  assert.equal(score({ answer: 'Kenya' }, 'Uganda'), 0)
  assert.equal(score({ other: 1 }, 'Kenya'), null)
  assert.equal(score(null, 'Kenya'), null)
  assert.throws(() => score({ answer: 3 }, '3'), { code: 'reward', message: /quiz\/k: data\.answer/ })
})

test('chrf scores against the closest reference; the task and the format speak through the outcome', () => {
  const transcript = makeTranscript({
    reply: 'dunia',
    data: { references: ['x', 'dunia'] },
    outcome: { reward: 0.25, wellFormed: false },
  })
  assert.equal(chrf().score(transcript), 1)
  assert.equal(chrf({ wordOrder: 2 }).name, 'chrf++')
  assert.equal(bleu({ tokenize: 'char' }).score(transcript), 1)
  assert.equal(taskReward().score(transcript), 0.25)
  assert.equal(format().score(transcript), 0)
})

test('length: free, then a falling line, then -1; letters are what a reader sees', () => {
  const reward = lengthPenalty({ free: 4, limit: 8 })
  const score = (reply: string): unknown => reward.score(makeTranscript({ reply }))
  assert.deepEqual(['abcd', 'abcdef', 'abcdefghijkl', '👨‍👩‍👧‍👦'.repeat(4), 'नमस्ते'].map(score), [0, -0.5, -1, 0, 0])
  assert.throws(() => lengthPenalty({ free: 5, limit: 5 }), { code: 'usage' })
})
