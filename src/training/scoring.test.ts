import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transcriptOf, type Reward } from '../rewards/index.js'
import { configuredScorer } from './scoring.js'

test('a scorer closes what its rewards hold', async () => {
  let closed = 0
  const held: Reward = { name: 'held', score: () => 0.5, close: async () => void closed++ }
  const score = configuredScorer({ held: 2 }, [held])
  assert.deepEqual((await score(transcriptOf({ reply: 'a' }))).parts, { held: 1 })
  await score.close?.()
  assert.equal(closed, 1)
})
