import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { bleuTokenizers } from './bleu-tokenizers.js'
import { corpusBleu, sentenceBleu } from './bleu.js'
import { corpusChrf, sentenceChrf } from './chrf.js'
import { errorRates } from './error-rates.js'
import { rougeL, rougeLsum, rougeN } from './rouge.js'
import { squadExact, squadF1 } from './squad.js'
import { corpusTer, sentenceTer } from './ter.js'

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

test('TER equals sacreBLEU, with each of its options and by corpus', () => {
  const variants = [
    {},
    { normalized: true },
    { noPunctuation: true },
    { normalized: true, asianSupport: true },
    { caseSensitive: true },
  ]
  for (const row of rows)
    for (const [i, options] of variants.entries())
      near(100 * sentenceTer(row.hypothesis, [row.reference], options), row.ter[i], row, JSON.stringify(options))
  const [hypotheses, references] = [rows.map((row) => row.hypothesis), rows.map((row) => [row.reference])]
  assert.ok(Math.abs(100 * corpusTer(hypotheses, references) - corpus.ter) < 1e-6)
})

test('ROUGE-1, 2, L and Lsum equal rouge-score, with its words and with words between spaces', () => {
  for (const row of rows) {
    const lines = (text: string): string => text.replaceAll('. ', '.\n')
    const [hypothesis, reference] = [lines(row.hypothesis), lines(row.reference)]
    for (const [i, words] of (['rouge', 'space'] as const).entries()) {
      const scores = [
        rougeN(hypothesis, reference, 1, { words }),
        rougeN(hypothesis, reference, 2, { words }),
        rougeL(hypothesis, reference, { words }),
        rougeLsum(hypothesis, reference, { words }),
      ].flatMap(({ precision, recall, f }) => [precision, recall, f])
      scores.forEach((score, k) => near(score, row.rouge[i][k], row, `ROUGE ${words} ${k}`))
    }
  }
})

test('error rates equal jiwer', () => {
  for (const row of rows) {
    if (row.rates === null) {
      assert.throws(() => errorRates(row.reference, row.hypothesis, 'word'), RangeError)
      continue
    }
    const words = errorRates(row.reference, row.hypothesis, 'word')
    const letters = errorRates(row.reference, row.hypothesis, 'character')
    const ours = [words.errorRate, words.matchErrorRate, words.informationLost, letters.errorRate]
    ours.forEach((rate, k) => near(rate, row.rates![k], row, `rate ${k}`))
  }
})

test('exact match and F1 equal the SQuAD script', () => {
  for (const row of rows) {
    near(squadExact(row.hypothesis, row.reference), row.squad[0], row, 'exact')
    near(squadF1(row.hypothesis, row.reference), row.squad[1], row, 'F1')
  }
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
