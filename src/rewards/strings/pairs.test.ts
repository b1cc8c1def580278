import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { bleuTokenizers } from './bleu-tokenizers.js'
import { corpusBleu, sentenceBleu } from './bleu.js'
import { corpusChrf, sentenceChrf } from './chrf.js'

interface Row {
  hypothesis: string
  reference: string
  bleu: number[]
  smooth: number[]
  chrf: number[]
  ter: number[]
  rouge: number[][]
  rates: number[] | null
  squad: number[]
}
interface Fixture {
  corpus: Record<'bleu' | 'chrf' | 'chrf++' | 'ter', number>
  rows: Row[]
}

// Made by tools/fixtures/string-metrics.py.
const fixtureUrl = new URL('../../../src/rewards/strings/pairs.fixture.json', import.meta.url)
const { corpus, rows } = JSON.parse(await readFile(fixtureUrl, 'utf8')) as Fixture

function near(actual: number, expected: number, row: Row, what: string): void {
  const where = `${what} of ${JSON.stringify([row.hypothesis, row.reference])}`
  assert.ok(Math.abs(actual - expected) < 1e-6, `${where}: ${actual}, not ${expected}`)
}

test('the pairs are many, of many scripts, and hold what breaks metrics', () => {
  assert.ok(rows.length >= 500)
  assert.ok(rows.some(({ hypothesis }) => hypothesis === ''))
  for (const script of ['Arab', 'Hebr', 'Deva', 'Hani', 'Thai', 'Ethi', 'Cyrl', 'Tibt', 'Khmr', 'Grek'])
    assert.ok(
      rows.some(({ reference }) => new RegExp(`\\p{Script=${script}}`, 'u').test(reference)),
      script,
    )
})

test('BLEU equals sacreBLEU by sentence, with each tokenizer and smoothing, and by corpus', () => {
  for (const row of rows) {
    const { hypothesis, reference } = row
    for (const [i, tokenize] of (['13a', 'intl', 'char', 'zh'] as const).entries())
      near(100 * sentenceBleu(hypothesis, [reference], { tokenize }), row.bleu[i], row, tokenize)
    for (const [i, smoothing] of (['none', 'floor', 'add-k'] as const).entries())
      near(100 * sentenceBleu(hypothesis, [reference], { smoothing }), row.smooth[i], row, smoothing)
  }
  const [hypotheses, references] = [rows.map((row) => row.hypothesis), rows.map((row) => [row.reference])]
  assert.ok(Math.abs(100 * corpusBleu(hypotheses, references) - corpus.bleu) < 1e-6)
})

test('chrF and chrF++ equal sacreBLEU by sentence and by corpus', () => {
  for (const row of rows) {
    near(100 * sentenceChrf(row.hypothesis, [row.reference]), row.chrf[0], row, 'chrF')
    near(100 * sentenceChrf(row.hypothesis, [row.reference], { wordOrder: 2 }), row.chrf[1], row, 'chrF++')
  }
  const [hypotheses, references] = [rows.map((row) => row.hypothesis), rows.map((row) => [row.reference])]
  assert.ok(Math.abs(100 * corpusChrf(hypotheses, references) - corpus.chrf) < 1e-6)
  assert.ok(Math.abs(100 * corpusChrf(hypotheses, references, { wordOrder: 2 }) - corpus['chrf++']) < 1e-6)
})

test('13a word by word is 13a of the whole text, on random punctuation', () => {
  const random = createRandom(3)
  // The definition: the rules of mteval-v13a, one after the other, on all of the text.
  const whole = (text: string): string[] =>
    ` ${text} `
      .replace(/[ -&(-+:-@[-`{-~/]/gu, ' $& ')
      .replace(/([^0-9])([.,])/gu, '$1 $2 ')
      .replace(/([.,])([^0-9])/gu, ' $1 $2')
      .replace(/([0-9])(-)/gu, '$1 $2 ')
      .split(/\s+/u)
      .filter((word) => word !== '')
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: random.integer(0, 12) }, () => random.pick([...'ab1 2.,-$\'"(é '])).join('')
    assert.deepEqual(bleuTokenizers['13a'](text), whole(text), JSON.stringify(text))
  }
})
