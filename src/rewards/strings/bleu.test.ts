import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { bleuTokenizers, type BleuTokenizer } from './bleu-tokenizers.js'
import { corpusBleu, sentenceBleu } from './bleu.js'

type Scores = Record<BleuTokenizer, number>
interface Fixture {
  corpus: Scores
  rows: (Scores & { hypothesis: string; references: string[] })[]
}

// Made by tools/fixtures/bleu.py.
const fixtureUrl = new URL('../../../src/rewards/strings/bleu.fixture.json', import.meta.url)
const fixture = JSON.parse(await readFile(fixtureUrl, 'utf8')) as Fixture

for (const tokenize of Object.keys(bleuTokenizers) as BleuTokenizer[])
  test(`BLEU with the ${tokenize} tokenizer equals sacreBLEU, by sentence and by corpus`, () => {
    for (const row of fixture.rows) {
      const ours = sentenceBleu(row.hypothesis, row.references, { tokenize })
      assert.ok(Math.abs(ours - row[tokenize] / 100) < 1e-8, `${JSON.stringify(row)}: ${ours}`)
    }
    const first = fixture.rows.map((row) => row.references[0])
    const pairs = first.map((reference, i) => [reference, first[(i + 1) % first.length]])
    const hypotheses = fixture.rows.map((row) => row.hypothesis)
    assert.ok(Math.abs(corpusBleu(hypotheses, pairs, { tokenize }) - fixture.corpus[tokenize] / 100) < 1e-8)
  })

test('a corpus without any four-word segment scores 0, a short sentence does not', () => {
  assert.equal(corpusBleu(['a b'], [['a b']]), 0)
  assert.ok(Math.abs(sentenceBleu('a b', ['a b']) - 1) < 1e-12)
})

test('missing references are refused', () => {
  assert.throws(() => sentenceBleu('a', []), RangeError)
  assert.throws(() => corpusBleu(['a'], []), RangeError)
})
