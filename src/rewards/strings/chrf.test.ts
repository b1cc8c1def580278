import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { sentenceChrf } from './chrf.js'

interface Fixture {
  rows: { hypothesis: string; references: string[]; chrF: number; 'chrF++': number }[]
}

// Made by tools/fixtures/chrf.py.
const fixtureUrl = new URL('../../../src/rewards/strings/chrf.fixture.json', import.meta.url)

test('chrF and chrF++ equal sacreBLEU on pairs of many scripts', async () => {
  const { rows } = JSON.parse(await readFile(fixtureUrl, 'utf8')) as Fixture
  assert.ok(rows.length >= 60)
  for (const row of rows) {
    const near = (actual: number, expected: number): void =>
      assert.ok(Math.abs(actual - expected) < 1e-8, `${JSON.stringify(row)}: ${actual}`)
    near(sentenceChrf(row.hypothesis, row.references), row.chrF / 100)
    near(sentenceChrf(row.hypothesis, row.references, { wordOrder: 2 }), row['chrF++'] / 100)
  }
})

test('a reference is needed', () => {
  assert.throws(() => sentenceChrf('a', []), RangeError)
})
