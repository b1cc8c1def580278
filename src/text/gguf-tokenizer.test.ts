import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MyriadError } from '../core/index.js'
import { ggufTokenizerFiles, tokenizerFilesOf } from './gguf-tokenizer.js'
import { createTokenizer, loadTokenizer, type TextTokenizer } from './tokenizer.js'

// Made by tools/fixtures/gguf-tokenizer.py. Fixtures are read from the sources, tests run from dist.
const { texts, byteLevel, sentencePiece } = JSON.parse(
  readFileSync(new URL('../../src/text/gguf-tokenizer.fixture.json', import.meta.url), 'utf8'),
) as {
  texts: string[]
  byteLevel: { tokens: string[]; merges: string[]; ids: Record<string, number[][]> }
  sentencePiece: { tokens: string[]; scores: number[]; types: number[]; ids: number[][] }
}

const byteLevelMetadata = (pre: string): Record<string, unknown> => ({
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.pre': pre,
  'tokenizer.ggml.tokens': byteLevel.tokens,
  'tokenizer.ggml.token_type': byteLevel.tokens.map((_, id) => (id < 3 ? 3 : 1)),
  'tokenizer.ggml.merges': byteLevel.merges,
  'tokenizer.ggml.bos_token_id': 1,
  'tokenizer.ggml.eos_token_id': 2,
  'tokenizer.ggml.eot_token_id': 0n,
  'tokenizer.ggml.padding_token_id': 2,
  'tokenizer.ggml.add_bos_token': false,
  'tokenizer.chat_template': '{{ messages }}',
})

for (const [pre, ids] of Object.entries(byteLevel.ids)) {
  test(`byte-level BPE split as "${pre}" has the ids of Hugging Face's tokenizers`, () => {
    const tokenizer = createTokenizer(ggufTokenizerFiles({ file: 'x.gguf', metadata: byteLevelMetadata(pre) }))
    texts.forEach((text, i) => {
      assert.deepEqual(tokenizer.encode(text), ids[i], JSON.stringify(text))
      assert.equal(tokenizer.decode(ids[i]), pre === 'qwen2' ? text.normalize('NFC') : text)
    })
  })
}

test('special tokens, stops and the chat template come along', () => {
  const files = ggufTokenizerFiles({ file: 'x.gguf', metadata: byteLevelMetadata('smollm') })
  const tokenizer = createTokenizer(files)
  assert.deepEqual([...tokenizer.specialTokens.keys()], ['<|endoftext|>', '<|im_start|>', '<|im_end|>'])
  assert.deepEqual([tokenizer.stopTokens, tokenizer.padToken], [[2, 0], 2])
  assert.deepEqual(tokenizer.named, { bos: '<|im_start|>', eos: '<|im_end|>', pad: '<|im_end|>', unk: undefined })
  assert.equal(tokenizer.chatTemplate, '{{ messages }}')
  assert.equal((files.config as { add_bos_token: boolean }).add_bos_token, false)
})

test("SentencePiece's BPE has the ids of sentencepiece, its merges found from the scores", () => {
  const metadata = {
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': sentencePiece.tokens,
    'tokenizer.ggml.scores': sentencePiece.scores,
    'tokenizer.ggml.token_type': sentencePiece.types,
    'tokenizer.ggml.bos_token_id': 1,
    'tokenizer.ggml.eos_token_id': 2,
    'tokenizer.ggml.unknown_token_id': 0,
  }
  const tokenizer = createTokenizer(ggufTokenizerFiles({ file: 'x.gguf', metadata }))
  texts.forEach((text, i) => {
    assert.deepEqual(tokenizer.encode(text), sentencePiece.ids[i], JSON.stringify(text))
    assert.equal(tokenizer.decode(sentencePiece.ids[i]), text)
  })
})

test('written beside a model as the files of a folder, it is the same tokenizer', async () => {
  const model = fileURLToPath(new URL('../../src/models/fixtures/gguf/qwen2.gguf', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'myriad-gguf-tokenizer-'))
  try {
    const files = await tokenizerFilesOf(model)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    assert.deepEqual(await tokenizerFilesOf(folder), files)
    const [inside, beside] = [await loadTokenizer(model), await loadTokenizer(folder)]
    const facts = ({ vocabularySize, stopTokens, padToken, named }: TextTokenizer): unknown => [
      vocabularySize,
      stopTokens,
      padToken,
      named,
    ]
    assert.deepEqual(facts(beside), facts(inside))
    assert.equal(inside.vocabularySize, 24)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a tokenizer of an unknown kind or split is refused by name', () => {
  const refusal = (metadata: Record<string, unknown>): string => {
    try {
      ggufTokenizerFiles({ file: 'x.gguf', metadata })
    } catch (error) {
      assert.ok(error instanceof MyriadError && error.code === 'checkpoint')
      return error.message
    }
    return assert.fail('nothing was refused')
  }
  assert.match(refusal(byteLevelMetadata('klingon')), /x\.gguf.*"klingon"\) is not known; known are gpt-2, .*qwen2/s)
  assert.match(refusal({ ...byteLevelMetadata('qwen2'), 'tokenizer.ggml.model': 't5' }), /"t5".*read are gpt2, llama/)
  assert.match(refusal({}), /x\.gguf holds no tokenizer/)
})
