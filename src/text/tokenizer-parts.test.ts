import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { toByteSymbols } from './byte-level.js'
import { createDecodeStep } from './decoders.js'
import { createNormalizer } from './normalizers.js'
import { createPreTokenizer } from './pre-tokenizers.js'
import { createTokenizer } from './tokenizer.js'

// Made by tools/fixtures/tokenizer-parts.py: what Hugging Face's own implementation (Rust) answers.
type Config = Record<string, unknown>
interface Fixture {
  strings: string[]
  preTokenizers: { config: Config; pieces: string[][] }[]
  normalizers: { config: Config; texts: string[] }[]
  tokens: string[][]
  decoders: { config: Config; texts: string[] }[]
  added: { tokenizer: unknown; rows: [string, number[]][] }
}
const fixture = JSON.parse(
  readFileSync(new URL('../../src/text/fixtures/parts.json', import.meta.url), 'utf8'),
) as Fixture

test('pre-tokenizers split as theirs do', () => {
  for (const { config, pieces } of fixture.preTokenizers) {
    const { split, toBytes } = createPreTokenizer(config)
    fixture.strings.forEach((text, i) => {
      const words = text === '' ? [] : split({ words: [text], atStart: true }).words
      assert.deepEqual(
        toBytes ? words.map(toByteSymbols) : words,
        pieces[i],
        `${JSON.stringify(config)} of ${JSON.stringify(text)}`,
      )
    })
  }
})

test('normalizers rewrite as theirs do', () => {
  for (const { config, texts } of fixture.normalizers) {
    const normalize = createNormalizer(config)
    fixture.strings.forEach((text, i) => {
      assert.equal(normalize(text), texts[i], `${JSON.stringify(config)} of ${JSON.stringify(text)}`)
    })
  }
})

test('decoders join as theirs do', () => {
  for (const { config, texts } of fixture.decoders) {
    const decode = createDecodeStep(config)
    fixture.tokens.forEach((tokens, i) => {
      assert.equal(decode(tokens).join(''), texts[i], `${JSON.stringify(config)} of ${JSON.stringify(tokens)}`)
    })
  }
})

test('added tokens are found as theirs are: whole words, stripping, normalized or not, never a special one', () => {
  const tokenizer = createTokenizer({ tokenizer: fixture.added.tokenizer })
  for (const [text, ids] of fixture.added.rows) assert.deepEqual(tokenizer.encode(text), ids, JSON.stringify(text))
})

test('a part that is not known is refused by name', () => {
  assert.throws(() => createPreTokenizer({ type: 'Fancy' }), {
    code: 'checkpoint',
    message: /"Fancy" is not supported/,
  })
  assert.throws(() => createNormalizer({ type: 'Fancy' }), { code: 'checkpoint', message: /"Fancy" is not supported/ })
  assert.throws(() => createDecodeStep({ type: 'CTC' }), { code: 'checkpoint', message: /"CTC" is not supported/ })
  assert.throws(() => createTokenizer({ tokenizer: { model: { type: 'WordLevel', vocab: {} } } }, 'my model'), {
    code: 'checkpoint',
    message: /my model: tokenizer\.json cannot be used: model\.type "WordLevel" is not supported/,
  })
})
