import assert from 'node:assert/strict'
import { test } from 'node:test'
import { referencesOf, sourceOf } from './references.js'
import { rewardFromConfig } from './registry.js'
import { transcriptOf } from './sample.js'

test('a line becomes a transcript: the rest of its fields are the data of the problem', async () => {
  const transcript = transcriptOf({ prompt: 'Capital?', reply: '٤٢', answers: ['42'], language: 'ar', source: 'x' })
  assert.deepEqual(transcript.replies, ['٤٢'])
  assert.deepEqual(
    transcript.messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
  assert.equal(transcript.problem.language, 'ar')
  assert.equal(sourceOf(transcript), 'x')
  assert.deepEqual(referencesOf(transcript), ['42'])
  assert.deepEqual(await rewardFromConfig({ exact: 1 }).score(transcript), { exact: 1 })
})

test('a conversation brings its replies with it', () => {
  const messages = [
    { role: 'user' as const, content: 'a' },
    { role: 'assistant' as const, content: 'b' },
  ]
  const transcript = transcriptOf({ messages })
  assert.deepEqual(transcript.replies, ['b'])
  assert.equal(sourceOf(transcript), 'a')
  assert.equal(referencesOf(transcript), null)
})

test('a line without a reply, or with a wrong field, is refused by name', () => {
  assert.throws(() => transcriptOf({ prompt: 'a' }), { code: 'usage', message: /"reply"/ })
  assert.throws(() => transcriptOf({ reply: 3 } as never), { code: 'usage', message: /reply/ })
})
