import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { scoreTranscripts } from '../combine.js'
import { transcriptOf } from '../sample.js'
import { makeTranscript } from '../transcript.test.helper.js'
import { createJudgeClient, endpointModel, judgedOf, judgeRewards, judgeScore, retryAfterMs } from './index.js'
import { completion, fakeClock, fakeEndpoint, idOf } from './testing.test.helper.js'

const KEY = 'secret-key-of-the-test'
process.env.MYRIAD_TEST_JUDGE_KEY = KEY
const judged = judgedOf(makeTranscript({ reply: 'Nairobi', prompt: 'Capital of Kenya?' }))
const criteria = { criteria: 'Is it true?' }

function clientOf(endpoint: string, more: { structured?: boolean; timeoutMs?: number; retries?: number } = {}) {
  const clock = fakeClock()
  const model = endpointModel({ endpoint, model: 'm', apiKeyEnv: 'MYRIAD_TEST_JUDGE_KEY', structured: more.structured })
  return { clock, client: createJudgeClient({ model, clock, timeoutMs: more.timeoutMs, retries: more.retries }) }
}

test('an endpoint is asked in its own words, with the key from the environment', async (t) => {
  const { endpoint, asked } = await fakeEndpoint(t, ({ body }, _, response) =>
    completion(response, `Fine.\n{"id":"${idOf(body as never)}","reason":"r","score":8}`),
  )
  const { client } = clientOf(endpoint)
  assert.equal(
    await judgeScore(client, judged, { ...criteria, settings: { maxTokens: 99, temperature: 0, seed: 5 } }),
    8,
  )
  const [{ url, headers, body }] = asked
  assert.equal(url, '/v1/chat/completions')
  assert.equal(headers.authorization, `Bearer ${KEY}`)
  assert.deepEqual([body.model, body.max_tokens, body.temperature, body.seed], ['m', 99, 0, 5])
  assert.deepEqual(
    body.messages.map(({ role }) => role),
    ['system', 'user'],
  )
  assert.equal(body.response_format, undefined)
  assert.deepEqual([client.usage.inputTokens, client.usage.outputTokens], [50, 7])
})

test('where the endpoint can, it is held to the schema; what it says is checked all the same', async (t) => {
  const { endpoint, asked } = await fakeEndpoint(t, ({ body }, call, response) =>
    completion(response, call === 0 ? '{"score": "ten"}' : `{"id":"${idOf(body as never)}","reason":"r","score":3}`),
  )
  const { client } = clientOf(endpoint, { structured: true })
  assert.equal(await judgeScore(client, judged, criteria), 3)
  const format = asked[0].body.response_format as { type: string; json_schema: { schema: { required: string[] } } }
  assert.equal(format.type, 'json_schema')
  assert.deepEqual(format.json_schema.schema.required, ['id', 'reason', 'score'])
  assert.equal(asked.length, 2)
})

test('429 waits as told, 500 and malformed answers are asked again, 401 is not, and the key shows nowhere', async (t) => {
  const { endpoint, asked } = await fakeEndpoint(t, ({ body }, call, response) => {
    if (call === 0) response.writeHead(429, { 'retry-after': '3' }).end('{"error":{"message":"slow down"}}')
    else if (call === 1) response.writeHead(500).end('<html>')
    else if (call === 2) response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":')
    else completion(response, `{"id":"${idOf(body as never)}","reason":"r","score":5}`)
  })
  const { client, clock } = clientOf(endpoint)
  assert.equal(await judgeScore(client, judged, criteria), 5)
  assert.equal(asked.length, 4)
  assert.equal(clock.slept[0], 3000)
  assert.equal(clock.slept.length, 3)

  const refusing = await fakeEndpoint(t, (_, __, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end(`{"error":{"message":"wrong key ${KEY}"}}`),
  )
  const refused = clientOf(refusing.endpoint).client
  const error = await judgeScore(refused, judged, criteria).then(
    () => assert.fail('no error'),
    (thrown: Error) => thrown,
  )
  assert.match(error.message, /401 wrong key \*\*\*/)
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    assert.ok(!`${cause.message}${cause.stack}${JSON.stringify(cause)}`.includes(KEY))
  assert.equal(refusing.asked.length, 1)
})

test('an endpoint that hangs is given up in time', async (t) => {
  const { endpoint } = await fakeEndpoint(t, () => undefined)
  const { client } = clientOf(endpoint, { timeoutMs: 50, retries: 1 })
  await assert.rejects(judgeScore(client, judged, criteria), /after 2 tries: no answer within 50 ms/)
  assert.equal(client.usage.requests, 2)
})

test('an endpoint that is not there fails the sample', async () => {
  const { client } = clientOf('http://127.0.0.1:9/v1', { retries: 1 })
  await assert.rejects(judgeScore(client, judged, criteria), /judge .* after 2 tries/)
})

test('a reward from options, with a cache that holds no key', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-judge-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { endpoint, asked } = await fakeEndpoint(t, ({ body }, _, response) => {
    const better = body.messages[1].content.search(/right/u) < body.messages[1].content.search(/wrong/u) ? 'A' : 'B'
    completion(response, `{"id":"${idOf(body as never)}","reason":"r","better":"${better}"}`)
  })
  const declared = judgeRewards.find(({ name }) => name === 'judge-pairwise')!
  const make = () =>
    declared.make(declared.options.parse({ model: 'm', endpoint, apiKeyEnv: 'MYRIAD_TEST_JUDGE_KEY', cache: folder }))
  const group = ['right', 'wrong', 'right'].map((reply) => transcriptOf({ prompt: 'q', reply }))
  for (let round = 0; round < 2; round++) {
    const reward = make()
    const scores = await scoreTranscripts(reward, group)
    assert.deepEqual(
      scores.map((score) => (score as { reward: number }).reward),
      [0.75, 0, 0.75],
    )
    await reward.close?.()
  }
  // Two pairs are one question, in two orders; the second round is read from the folder.
  assert.equal(asked.length, 2)
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  ))
    assert.ok(!readFileSync(join(folder, file), 'utf8').includes(KEY))
})

test('addresses that are none, or carry a password, are refused', () => {
  assert.throws(() => endpointModel({ endpoint: 'localhost', model: 'm' }), /http or https/)
  assert.throws(() => endpointModel({ endpoint: 'file:///etc/passwd', model: 'm' }), /http or https/)
  assert.throws(() => endpointModel({ endpoint: 'http://a:b@c/v1', model: 'm' }), /carries a password/)
})

test('Retry-After in all its forms', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(retryAfterMs({}, now), undefined)
  assert.equal(retryAfterMs({ 'retry-after': '2' }, now), 2000)
  assert.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, now), 5000)
  assert.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 2020 00:00:05 GMT' }, now), 0)
  assert.equal(retryAfterMs({ 'retry-after-ms': '150', 'retry-after': '2' }, now), 150)
  assert.equal(retryAfterMs({ 'retry-after': 'soon' }, now), undefined)
})
