import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createTokenizer, loadTokenizer } from './tokenizer.js'

interface Fixture {
  tokenizer: {
    model: { vocab: Record<string, number>; merges: string[] }
    added_tokens: { id: number; content: string }[]
  }
  config: object
}

const folderOfFixtures = new URL('../../src/text/fixtures/', import.meta.url)
const read = async <T>(name: string): Promise<T> =>
  JSON.parse(await readFile(new URL(name, folderOfFixtures), 'utf8')) as T

async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'myriad-legacy-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

for (const [family, tokenizerClass] of [
  ['gpt2', 'GPT2TokenizerFast'],
  ['qwen2', 'Qwen2Tokenizer'],
])
  test(`vocab.json and merges.txt of ${tokenizerClass} are as its tokenizer.json`, async (t) => {
    const fixture = await read<Fixture>(`tokenizer-${family}.json`)
    const { vocab, merges } = fixture.tokenizer.model
    const added = fixture.tokenizer.added_tokens
    const folder = await folderWith(t, {
      'vocab.json': JSON.stringify(vocab),
      'merges.txt': `#version: 0.2\n${merges.join('\n')}\n`,
      'tokenizer_config.json': JSON.stringify({
        ...fixture.config,
        tokenizer_class: tokenizerClass,
        added_tokens_decoder: Object.fromEntries(added.map((token) => [token.id, token])),
      }),
    })
    const [legacy, whole] = [await loadTokenizer(folder), createTokenizer(fixture)]
    assert.equal(legacy.vocabularySize, whole.vocabularySize)
    assert.deepEqual([...legacy.specialTokens.keys()], [...whole.specialTokens.keys()])
    for (const text of await read<string[]>('hard-strings.json')) {
      assert.deepEqual(legacy.encode(text), whole.encode(text), JSON.stringify(text))
      assert.equal(legacy.decode(whole.encode(text)), whole.decode(whole.encode(text)))
    }
  })

for (const family of ['bert-uncased', 'bert-cased'])
  test(`vocab.txt of ${family} is as its tokenizer.json`, async (t) => {
    const fixture = await read<Fixture>(`tokenizer-${family}.json`)
    const tokens = Object.entries(fixture.tokenizer.model.vocab).sort(([, a], [, b]) => a - b)
    const folder = await folderWith(t, {
      'vocab.txt': tokens.map(([token]) => `${token}\n`).join(''),
      'tokenizer_config.json': JSON.stringify({ do_lower_case: family === 'bert-uncased' }),
    })
    const [legacy, whole] = [await loadTokenizer(folder), createTokenizer(fixture)]
    for (const text of await read<string[]>('hard-strings.json'))
      assert.deepEqual(legacy.encode(text), whole.encode(text), JSON.stringify(text))
  })

test('what cannot be read says what is there, what is missing and what to do', async (t) => {
  const model = await folderWith(t, { 'tokenizer.model': 'x' })
  await assert.rejects(loadTokenizer(model), {
    code: 'checkpoint',
    message: /SentencePiece model \(tokenizer\.model\) but no tokenizer\.json; make one in Python: .*save_pretrained/,
  })
  const unknown = await folderWith(t, {
    'vocab.json': '{}',
    'merges.txt': '',
    'tokenizer_config.json': '{"tokenizer_class":"CLIPTokenizer"}',
  })
  await assert.rejects(loadTokenizer(unknown), {
    code: 'checkpoint',
    message: /not for CLIPTokenizer; make one in Python/,
  })
  const damaged = await folderWith(t, { 'vocab.json': '{"a": 0}', 'merges.txt': 'a\n' })
  await assert.rejects(loadTokenizer(damaged), {
    code: 'checkpoint',
    message: /merges\.txt: damaged: "a" is not a pair/,
  })
})
