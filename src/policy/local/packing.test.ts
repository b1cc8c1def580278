import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { groupByPrompt, pack, type PackItem } from './packing.js'

function item(prompt: readonly number[], reply: readonly number[]): PackItem {
  const tokens = [...prompt, ...reply]
  return { tokens, mask: Uint8Array.from(tokens, (_, t) => (t >= prompt.length ? 1 : 0)) }
}

/** What a packed token can see, following the attention mask, as the list of token ids in order of their positions. */
function seen(rows: ReturnType<typeof pack>[number], flat: number): number[] {
  const row = Math.floor(flat / rows.length)
  const visible: { position: number; token: number }[] = []
  for (let j = 0; j < rows.length; j++)
    if (rows.attention[flat * rows.length + j] === 0)
      visible.push({ position: rows.positions[row * rows.length + j], token: rows.tokens[row * rows.length + j] })
  return visible.sort((a, b) => a.position - b.position).map(({ token }) => token)
}

test('a group is stored once and its samples grow from it', () => {
  const items = [item([1, 2, 3], [10, 11]), item([1, 2, 3], [20]), item([7], [8, 9])]
  assert.deepEqual(groupByPrompt(items), [[0, 1], [2]])
  const [rows] = pack(items, { length: 32, tokenBudget: 1024 })
  assert.equal(rows.used, 3 + 2 + 1 + 3)
})

test('every wanted token is predicted from exactly the tokens before it in its own sequence', () => {
  const random = createRandom(3)
  for (let round = 0; round < 30; round++) {
    const items: PackItem[] = []
    let id = 1
    const fresh = (count: number): number[] => Array.from({ length: count }, () => id++)
    for (let group = 0; group < random.integer(1, 6); group++) {
      const prompt = fresh(random.integer(1, 12))
      for (let sample = 0; sample < random.integer(1, 8); sample++) {
        const made = item(prompt, fresh(random.integer(1, 20)))
        // Later turns: some tokens of a reply are read, not sampled.
        for (let t = prompt.length + 1; t < made.tokens.length; t++) if (random.uniform() < 0.3) made.mask[t] = 0
        items.push(made)
      }
    }
    const wanted = new Map<string, number>()
    items.forEach(({ mask }, s) => mask.forEach((m, t) => m && wanted.set(`${s}.${t}`, 0)))
    for (const rows of pack(items, { length: 32, tokenBudget: 96 })) {
      assert.ok(rows.rows * rows.length <= 96)
      rows.select.forEach((flat, i) => {
        const { tokens } = items[rows.sequence[i]]
        assert.deepEqual(seen(rows, flat), tokens.slice(0, rows.entry[i]))
        assert.equal(rows.targets[i], tokens[rows.entry[i]])
        const key = `${rows.sequence[i]}.${rows.entry[i]}`
        wanted.set(key, (wanted.get(key) ?? 0) + 1)
      })
    }
    assert.ok([...wanted.values()].every((count) => count === 1))
  }
})

test('sequences without a trainable token take no room; an over-long one makes the rows longer', () => {
  assert.deepEqual(pack([{ tokens: [1, 2], mask: new Uint8Array(2) }], { length: 32, tokenBudget: 64 }), [])
  const [rows] = pack(
    [
      item(
        [1],
        Array.from({ length: 70 }, (_, i) => i),
      ),
    ],
    { length: 32, tokenBudget: 64 },
  )
  assert.equal(rows.length, 96)
})
