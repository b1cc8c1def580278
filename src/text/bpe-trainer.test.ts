import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../core/index.js'
import { defaultSplitPattern, splitWords } from './bpe-pattern.js'
import { trainBpe, type CorpusText } from './bpe-trainer.js'
import { byteSymbols, toByteSymbols } from './byte-level.js'

/** BPE as its definition reads: count every pair anew before every merge. */
function naiveMerges(corpus: readonly CorpusText[], mergeCount: number, firstId: number): [string, string][] {
  const tokens = Array.from({ length: firstId }, (_, i) => `special ${i}`).concat(byteSymbols)
  const counts = new Map<string, number>()
  for (const { text, weight = 1 } of corpus)
    for (const word of splitWords(text, new RegExp(defaultSplitPattern, 'gu')))
      counts.set(word, (counts.get(word) ?? 0) + weight)
  const words = Array.from(counts, ([word, count]) => ({
    ids: Array.from(toByteSymbols(word), (symbol) => tokens.indexOf(symbol)),
    count,
  }))
  const merges: [string, string][] = []
  const done = new Set<string>()
  while (tokens.length < firstId + 256 + mergeCount) {
    const pairs = new Map<string, { left: number; right: number; count: number }>()
    for (const { ids, count } of words)
      for (let i = 0; i + 1 < ids.length; i++) {
        const key = `${ids[i]} ${ids[i + 1]}`
        const pair = pairs.get(key) ?? { left: ids[i], right: ids[i + 1], count: 0 }
        pairs.set(key, { ...pair, count: pair.count + count })
      }
    const best = [...pairs.entries()]
      .filter(([key, pair]) => pair.count > 0 && !done.has(key))
      .map(([, pair]) => pair)
      .sort((a, b) => b.count - a.count || a.left - b.left || a.right - b.right)[0]
    if (best === undefined) break
    done.add(`${best.left} ${best.right}`)
    merges.push([tokens[best.left], tokens[best.right]])
    const text = tokens[best.left] + tokens[best.right]
    if (!tokens.includes(text)) tokens.push(text)
    const id = tokens.indexOf(text)
    for (const word of words)
      for (let i = 0; i + 1 < word.ids.length; i++)
        if (word.ids[i] === best.left && word.ids[i + 1] === best.right) word.ids.splice(i, 2, id)
  }
  return merges
}

const smallCorpus: CorpusText[] = [
  { text: 'aaaa aaa aa banana bandana ananas', weight: 3 },
  { text: 'low lower lowest newest widest' },
  { text: 'वसुधैव कुटुम्बकम् वसुधा', weight: 2 },
  { text: 'すべての人間は生まれながらにして自由であり 人間 自由' },
  { text: 'ọmọ ènìyàn ni a bí ní òmìnira' },
]

test('merges are those of the textbook algorithm', () => {
  const json = trainBpe(smallCorpus, { vocabularySize: 258 + 150, specialTokens: ['<|pad|>', '<|end|>'] })
  assert.deepEqual(json.model.merges, naiveMerges(smallCorpus, 150, 2))
})

test('merges are those of the textbook algorithm on random strings of few letters, full of overlaps and ties', () => {
  const random = createRandom(11)
  for (let round = 0; round < 8; round++) {
    const corpus = Array.from({ length: 20 }, () => ({
      text: Array.from({ length: random.integer(1, 12) }, () => random.pick(['a', 'b', 'c', ' '])).join(''),
      weight: random.integer(1, 3),
    }))
    const json = trainBpe(corpus, { vocabularySize: 256 + 40, specialTokens: [] })
    assert.deepEqual(json.model.merges, naiveMerges(corpus, 40, 0))
  }
})

test('the order of the corpus does not matter', () => {
  const options = { vocabularySize: 350, specialTokens: [] }
  assert.deepEqual(trainBpe([...smallCorpus].reverse(), options), trainBpe(smallCorpus, options))
})

test('special tokens come first, then the 256 bytes, then what was learnt', () => {
  const { model, added_tokens: added } = trainBpe(smallCorpus, { vocabularySize: 300, specialTokens: ['<|x|>'] })
  assert.equal(model.vocab['<|x|>'], 0)
  byteSymbols.forEach((symbol, byte) => assert.equal(model.vocab[symbol], 1 + byte))
  assert.deepEqual(
    Object.values(model.vocab).sort((a, b) => a - b),
    Array.from({ length: 300 }, (_, id) => id),
  )
  assert.deepEqual(
    added.map((token) => [token.id, token.content, token.special]),
    [[0, '<|x|>', true]],
  )
})

test('a heavy weight makes one token of every number, letter and move with its leading space', () => {
  const wanted = [
    ...Array.from({ length: 100 }, (_, n) => ` ${n}`),
    ...Array.from({ length: 100 }, (_, n) => ' ' + new Intl.NumberFormat('ar-EG').format(n)),
    ...'aßжعकあ漢'.split('').map((letter) => ' ' + letter),
    ' arriba',
    ' ọ̀tún',
    ' ऊपर',
    '#',
    ' .',
  ]
  const corpus = [...smallCorpus, ...wanted.map((text) => ({ text, weight: 1e4 }))]
  const { vocab } = trainBpe(corpus, { vocabularySize: 900, specialTokens: [] }).model
  for (const text of wanted) assert.ok(toByteSymbols(text) in vocab, `"${text}" is not one token`)
})

test('a corpus with too few pairs gives a smaller vocabulary', () => {
  assert.equal(
    Object.keys(trainBpe([{ text: 'ab' }], { vocabularySize: 1000, specialTokens: [] }).model.vocab).length,
    257,
  )
})

test('no room for the bytes, doubled special tokens and senseless weights are refused', () => {
  assert.throws(() => trainBpe([], { vocabularySize: 256, specialTokens: ['<|x|>'] }), /at least 257/)
  assert.throws(() => trainBpe([], { vocabularySize: 300, specialTokens: ['a', 'a'] }), /twice/)
  assert.throws(() => trainBpe([{ text: 'a', weight: NaN }], { vocabularySize: 300, specialTokens: [] }), /weight/)
})

test('the split: pieces join to the text, and words are words in many scripts', () => {
  const split = (text: string): string[] => splitWords(text, new RegExp(defaultSplitPattern, 'gu'))
  const cases: Record<string, string[]> = {
    "ng'ombe don't": ["ng'ombe", " don't"],
    'ọmọ ènìyàn': ['ọmọ', ' ènìyàn'],
    'नमस्ते दुनिया': ['नमस्ते', ' दुनिया'],
    '12345 ٤٢ ४२': ['123', '45', ' ٤٢', ' ४२'],
    日本語を食べるトマト: ['日本語', 'を', '食', 'べる', 'トマト'],
    'a  b\n\nc': ['a', ' ', ' b', '\n', '\n', 'c'],
    'x = [1]': ['x', ' =', ' [', '1', ']'],
    '👍🏽 ok ❤️!': ['👍🏽', ' ok', ' ❤️!'],
  }
  for (const [text, words] of Object.entries(cases)) assert.deepEqual(split(text), words)
  const thai = 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ'
  assert.equal(split(thai).join(''), thai)
  assert.ok(split(thai).every((word) => word.length <= 25))
})
