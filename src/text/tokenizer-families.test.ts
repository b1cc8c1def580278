import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createTokenizer } from './tokenizer.js'

// Made by tools/fixtures/tokenizer-strings.py and tokenizer-families.py: what transformers answers.
interface Fixture {
  tokenizer: unknown
  config: unknown
  lengths: number[]
  ids: string
  decoded: Record<string, string>
}

const folder = new URL('../../src/text/fixtures/', import.meta.url)
const read = <T>(name: string): T => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as T
const strings = read<string[]>('hard-strings.json')
const files = readdirSync(folder).filter((name) => name.startsWith('tokenizer-'))

function rowsOf({ lengths, ids }: Fixture): number[][] {
  const bytes = Buffer.from(ids, 'base64')
  let end = 0
  return lengths.map((length) => Array.from({ length }, () => bytes.readUInt16LE(2 * end++)))
}

test('the strings are in at least thirty scripts, and there is a fixture for every family', () => {
  const scripts =
    'Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Nko Devanagari Bengali Gurmukhi Gujarati Tamil Telugu Kannada ' +
    'Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Khmer Mongolian ' +
    'Hiragana Katakana Han Yi Vai Tifinagh Javanese Adlam Chakma Tai_Tham Meetei_Mayek Ol_Chiki'
  const all = strings.join('')
  for (const script of scripts.split(' ')) assert.match(all, new RegExp(`\\p{Script=${script}}`, 'u'), script)
  assert.equal(files.length, 15)
})

for (const file of files) {
  test(`${file}: ids and decoded text are those of transformers`, () => {
    const fixture = read<Fixture>(file)
    const tokenizer = createTokenizer(fixture)
    const rows = rowsOf(fixture)
    assert.equal(rows.length, strings.length)
    strings.forEach((text, i) => {
      assert.deepEqual(tokenizer.encode(text), rows[i], `ids of ${JSON.stringify(text)} (${i})`)
      assert.equal(tokenizer.decode(rows[i]), fixture.decoded[i] ?? text, `text of ${JSON.stringify(text)} (${i})`)
    })
  })
}
