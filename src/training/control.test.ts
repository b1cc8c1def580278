import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Policy } from '../policy/types.js'
import { controlled } from './control.js'
import { openTestPolicy, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train } from './train.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-control-'))
after(() => rmSync(root, { recursive: true, force: true }))

test('a run plays every prompt with the best control, and learns each reply with the one it earned', async () => {
  const { policy, chat } = await openTestPolicy()
  const [user] = chat.prompt([{ role: 'user', content: '' }])
  const played: (readonly number[])[] = []
  const learnt: (readonly number[])[] = []
  const watch: Pick<Policy, 'sample' | 'update'> = {
    sample: (requests, options) => {
      played.push(...requests.map(({ tokens }) => tokens))
      return policy.sample(requests, options)
    },
    update: (sequences, options) => {
      learnt.push(...sequences.map(({ tokens }) => tokens))
      return policy.update(sequences, options)
    },
  }
  const watched = new Proxy(policy, {
    get: (target, key) => Reflect.get(key === 'sample' || key === 'update' ? watch : target, key) as unknown,
  })
  const algorithm = { name: 'return-conditioned', controls: [1, 2] }
  await train(
    { ...TEST_CONFIG, steps: 2, algorithm, rewards: { long: 1 } },
    {
      out: join(root, 'run'),
      tasks: TEST_TASKS,
      rewards: [{ name: 'long', score: ({ replies }) => replies.join('').length }],
      openPolicy: async () => ({ policy: watched, chat }),
    },
  )
  assert.ok(played.length > 200)
  for (const tokens of played) assert.deepEqual(tokens.slice(0, 2), [2, user])
  assert.deepEqual(new Set(learnt.map(([control]) => control)), new Set([1, 2]))
  for (const tokens of learnt) assert.equal(tokens[1], user, 'one control token, not two')
})

test('a control token that the model has not, or a place beyond the prompt, is refused', async () => {
  const { chat } = await openTestPolicy()
  assert.throws(() => controlled(chat, { token: 1000, position: 0 }), { code: 'usage', message: /1000.*vocabulary/ })
  const far = controlled(chat, { token: 2, position: 50 })
  assert.throws(() => far.prompt([{ role: 'user', content: 'a' }]), { code: 'usage', message: /at 50.*4 tokens/ })
  assert.equal(controlled(chat, undefined), chat)
})
