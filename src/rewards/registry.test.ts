import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { REWARD_GROUPS } from './declaration.js'
import { rewardDeclarations } from './registry.js'

test('every declared reward says what it is', () => {
  for (const { name, group, codes, summary, range, applies, reference } of rewardDeclarations) {
    assert.match(name, /^[a-z][a-z0-9+]*(-[a-z0-9+]+)*$/, name)
    assert.ok(REWARD_GROUPS.includes(group), name)
    assert.ok(codes.length > 0, name)
    for (const text of [summary, range, applies, reference]) assert.ok(text.trim().length > 2, name)
  }
})

test('docs/rewards.md is what tools/reward-docs.mjs prints', async () => {
  const tool = new URL('../../tools/reward-docs.mjs', import.meta.url).href
  const { rewardsPage } = (await import(tool)) as { rewardsPage(rewards: unknown): Promise<string> }
  assert.equal(
    await readFile(new URL('../../docs/rewards.md', import.meta.url), 'utf8'),
    await rewardsPage(rewardDeclarations),
    'it is out of date; run: npm run build && node tools/reward-docs.mjs',
  )
})
