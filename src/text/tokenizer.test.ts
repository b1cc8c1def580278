import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Tokenizer as Library } from '@huggingface/tokenizers'
import { createRandom, type Random } from '../core/index.js'
import { defaultSplitPattern, splitWords } from './bpe-pattern.js'
import { trainBpe } from './bpe-trainer.js'
import { byteSymbols, toByteSymbols } from './byte-level.js'
import { defaultChatTemplate, defaultSpecialTokens, defaultTokenizerConfig } from './default-chat.js'
import { saveTokenizer } from './save-tokenizer.js'
import { createTokenizer, loadTokenizer } from './tokenizer.js'

const json = trainBpe(
  [
    { text: 'All human beings are born free and equal in dignity and rights. They are endowed with reason.' },
    { text: 'Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri.' },
    { text: 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।' },
    { text: 'يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.' },
    { text: 'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。' },
  ],
  { vocabularySize: 600, specialTokens: defaultSpecialTokens },
)
const tokenizer = createTokenizer({ tokenizer: json, config: defaultTokenizerConfig })

/** One or a few ranges of each of thirty scripts, and what breaks tokenizers: emoji, controls, private use, noncharacters. */
const ranges: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x52f],
  [0x531, 0x58a],
  [0x591, 0x5f4],
  [0x600, 0x6ff],
  [0x700, 0x74f],
  [0x780, 0x7b1],
  [0x7c0, 0x7fa],
  [0x900, 0x97f],
  [0x980, 0x9fe],
  [0xa01, 0xa76],
  [0xa81, 0xaff],
  [0xb01, 0xb77],
  [0xb82, 0xbfa],
  [0xc00, 0xc7f],
  [0xc80, 0xcf3],
  [0xd00, 0xd7f],
  [0xd81, 0xdf4],
  [0xe01, 0xe5b],
  [0xe81, 0xedf],
  [0xf00, 0xfda],
  [0x1000, 0x109f],
  [0x10a0, 0x10ff],
  [0x1200, 0x1399],
  [0x13a0, 0x13fd],
  [0x1780, 0x17f9],
  [0x1800, 0x18aa],
  [0x1100, 0x11ff],
  [0xac00, 0xd7a3],
  [0x3041, 0x30ff],
  [0x4e00, 0x9fff],
  [0x20000, 0x2a6df],
  [0xa500, 0xa62b],
  [0x1e900, 0x1e95f],
  [0x2d30, 0x2d7f],
  [0x1f300, 0x1faff],
  [0x1f1e6, 0x1f1ff],
  [0xfe00, 0xfe0f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0, 0x1f],
  [0x7f, 0x9f],
  [0xe000, 0xe0ff],
  [0xf0000, 0xf00ff],
  [0xfdd0, 0xfdef],
  [0xfff9, 0xffff],
  [0x10fff0, 0x10ffff],
  [0xfeff, 0xfeff],
]

function randomText(random: Random): string {
  let text = ''
  const pieces = random.integer(1, 6)
  for (let i = 0; i < pieces; i++) {
    const [low, high] = random.pick(ranges)
    const length = random.integer(1, 8)
    for (let j = 0; j < length; j++) text += String.fromCodePoint(random.integer(low, high))
    text += random.pick(['', '', ' ', '  ', '\n', '\r\n', '\t', '<|end|>', '👨‍👩‍👧‍👦', '🏴󠁧󠁢󠁷󠁬󠁳󠁿', 'e\u0301', '\u2028', '1234'])
  }
  return text
}

test('any well-formed text survives encode and decode', () => {
  const random = createRandom(3)
  for (let i = 0; i < 4000; i++) {
    const text = randomText(random)
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text, JSON.stringify(text))
  }
})

/** Encoding as BPE is defined: in each word, merge the adjacent pair of the lowest rank until none is left. */
function referenceEncode(text: string): number[] {
  const ranks = new Map(json.model.merges.map(([left, right], rank) => [`${left} ${right}`, rank]))
  return splitWords(text, new RegExp(defaultSplitPattern, 'gu')).flatMap((word) => {
    const symbols = toByteSymbols(word).split('')
    for (;;) {
      let best = -1
      let bestRank = Infinity
      for (let i = 0; i + 1 < symbols.length; i++) {
        const rank = ranks.get(`${symbols[i]} ${symbols[i + 1]}`) ?? Infinity
        if (rank < bestRank) [best, bestRank] = [i, rank]
      }
      if (best < 0) return symbols.map((symbol) => json.model.vocab[symbol])
      symbols.splice(best, 2, symbols[best] + symbols[best + 1])
    }
  })
}

test('ids are those of the definition, and those of the Hugging Face library on the whole text', () => {
  const library = new Library(json, {})
  const random = createRandom(4)
  for (let i = 0; i < 500; i++) {
    const text = randomText(random).replaceAll('<|end|>', '')
    const ids = tokenizer.encode(text)
    assert.deepEqual(ids, referenceEncode(text), JSON.stringify(text))
    assert.deepEqual(ids, library.encode(text).ids, JSON.stringify(text))
  }
})

test("ids are those of Hugging Face's own implementation", async () => {
  // Made by tools/fixtures/tokenizer.py.
  const file = await readFile(new URL('../../src/text/tokenizer.fixture.json', import.meta.url), 'utf8')
  const fixture = JSON.parse(file) as { tokenizer: unknown; rows: { text: string; ids: number[] }[] }
  const theirs = createTokenizer({ tokenizer: fixture.tokenizer })
  for (const { text, ids } of fixture.rows) assert.deepEqual(theirs.encode(text), ids, JSON.stringify(text))
})

test('text that spells a special token is ordinary text', () => {
  const special = new Set(Array.from(tokenizer.specialTokens.values(), (token) => token.id))
  for (const name of defaultSpecialTokens) {
    const text = `a${name} ${name}${name}`
    const ids = tokenizer.encode(text)
    assert.ok(!ids.some((id) => special.has(id)))
    assert.equal(tokenizer.decode(ids), text)
  }
})

test('special tokens and unknown ids decode to nothing; broken UTF-8 to U+FFFD', () => {
  assert.equal(tokenizer.decode([0, 3, ...tokenizer.encode('hi'), 1, 99999]), 'hi')
  assert.equal(tokenizer.decode([]), '')
  assert.equal(tokenizer.decode([json.model.vocab[byteSymbols[0xe3]]]), '\ufffd')
})

test('encode answers a fresh array each time', () => {
  tokenizer.encode('free').push(7)
  assert.equal(tokenizer.decode(tokenizer.encode('free')), 'free')
})

test('a saved folder loads: stop and pad tokens, template', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'myriad-tokenizer-'))
  t.after(() => rm(folder, { recursive: true }))
  await saveTokenizer(folder, json)
  const loaded = await loadTokenizer(folder)
  assert.deepEqual(loaded.stopTokens, [1])
  assert.equal(loaded.padToken, 0)
  assert.equal(loaded.vocabularySize, Object.keys(json.model.vocab).length)
  assert.equal(loaded.chatTemplate, defaultChatTemplate)
  assert.deepEqual(loaded.encode('huru'), tokenizer.encode('huru'))
  await writeFile(join(folder, 'generation_config.json'), '{"eos_token_id":[1,6]}')
  assert.deepEqual((await loadTokenizer(folder)).stopTokens, [1, 6])
})

test('damaged files are named in the error', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'myriad-tokenizer-'))
  t.after(() => rm(folder, { recursive: true }))
  await assert.rejects(loadTokenizer(folder), { code: 'io', message: /tokenizer\.json: no such file/ })
  await saveTokenizer(folder, json)
  await writeFile(join(folder, 'tokenizer_config.json'), '{"eos_token": "<|nowhere|>"}')
  await assert.rejects(loadTokenizer(folder), {
    code: 'checkpoint',
    message: /eos_token "<\|nowhere\|>" is not a token/,
  })
  await writeFile(join(folder, 'tokenizer.json'), '{"model": {"vocab": 3}}')
  await assert.rejects(loadTokenizer(folder), { code: 'checkpoint', message: /tokenizer\.json: model\.vocab/ })
  await writeFile(join(folder, 'tokenizer.json'), '{"model"')
  await assert.rejects(loadTokenizer(folder), { code: 'checkpoint', message: /tokenizer\.json: damaged/ })
})
