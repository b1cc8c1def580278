import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, type Random } from '../core/index.js'
import { PairTable } from './pair-table.js'
import { createTokenModel, type TokenModel } from './token-model.js'

const letters = 'abcde▁é𝒳'
const randomWord = (random: Random, length: number): string =>
  Array.from({ length }, () => random.pick(Array.from(letters))).join('')

/** Random merges: each joins two tokens that exist already. */
function randomBpe(
  random: Random,
  options: Record<string, unknown> = {},
): { model: TokenModel; idOf: Map<string, number>; merges: string[][] } {
  const tokens = Array.from(letters)
  const merges: string[][] = []
  while (merges.length < 60) {
    const [left, right] = [random.pick(tokens), random.pick(tokens)]
    // As in SentencePiece's vocabularies: the space begins a word.
    if (right.includes('▁') || tokens.includes(left + right)) continue
    tokens.push(left + right)
    merges.push([left, right])
  }
  const idOf = new Map(tokens.map((token, id) => [token, id]))
  const unknown = tokens.length
  return { model: createTokenModel({ type: 'BPE', merges, ...options }, { idOf, unknown }), idOf, merges }
}

/** BPE as it is defined. */
function byDefinition(word: string, merges: readonly string[][], idOf: ReadonlyMap<string, number>): number[] {
  const symbols = Array.from(word)
  for (;;) {
    let [at, best] = [-1, Infinity]
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = merges.findIndex(([left, right]) => left === symbols[i] && right === symbols[i + 1])
      if (rank >= 0 && rank < best) [at, best] = [i, rank]
    }
    if (at < 0) return symbols.map((symbol) => idOf.get(symbol) as number)
    symbols.splice(at, 2, symbols[at] + symbols[at + 1])
  }
}

test('BPE merges as defined, in short words and long ones, whole and cut where nothing merges', () => {
  const random = createRandom(11)
  for (let round = 0; round < 30; round++) {
    const { model, idOf, merges } = randomBpe(random)
    for (const length of [1, 2, 7, 24, 25, 60, 150]) {
      const word = randomWord(random, length)
      const expected = byDefinition(word, merges, idOf)
      assert.deepEqual([...model.encode(word)], expected, word)
      const parts = model.split?.(word) ?? []
      assert.equal(parts.join(''), word)
      assert.deepEqual(
        parts.flatMap((part) => [...model.encode(part)]),
        expected,
        word,
      )
    }
  }
})

test('a word of a hundred thousand letters is cut and merged without end-to-end passes', () => {
  // Quadratic work would be 10^10 steps: the test would not end.
  const { model } = randomBpe(createRandom(12))
  const word = randomWord(createRandom(13), 100_000)
  const ids = model.encode(word)
  assert.ok(ids.length > 1000 && ids.length < 100_000)
})

test('unknown characters: one token each, one for a run, or their bytes', () => {
  const random = createRandom(14)
  const apart = randomBpe(random)
  const unknown = apart.idOf.size
  assert.deepEqual([...apart.model.encode('axy')], [apart.idOf.get('a'), unknown, unknown])
  const fused = randomBpe(random, { fuse_unk: true })
  assert.deepEqual([...fused.model.encode('xyaxy')], [unknown, fused.idOf.get('a'), unknown])
  const idOf = new Map([
    ['a', 0],
    ['<0xC3>', 1],
    ['<0xBF>', 2],
  ])
  const bytes = createTokenModel({ type: 'BPE', merges: [], byte_fallback: true }, { idOf, unknown: 9 })
  assert.deepEqual([...bytes.encode('aÿx')], [0, 1, 2, 9])
})

test('a unigram model finds the best of all ways to spell a piece', () => {
  const random = createRandom(15)
  const tokens = ['a', 'b', 'ab', 'ba', 'aab', 'bb', 'abba', 'x𝒳']
  for (let round = 0; round < 50; round++) {
    const scores = tokens.map(() => -random.uniform() * 10)
    const idOf = new Map(tokens.map((token, id) => [token, id]))
    const model = createTokenModel({ type: 'Unigram' }, { idOf, scores, unknown: 99 })
    const word = Array.from({ length: 9 }, () => random.pick(['a', 'b'])).join('')
    const best = (rest: string): number =>
      rest === ''
        ? 0
        : Math.max(
            ...tokens.map((token, id) =>
              rest.startsWith(token) ? scores[id] + best(rest.slice(token.length)) : -Infinity,
            ),
          )
    const ids = model.encode(word)
    assert.equal(ids.map((id) => tokens[id]).join(''), word)
    assert.ok(Math.abs(ids.reduce((sum, id) => sum + scores[id], 0) - best(word)) < 1e-9)
    assert.deepEqual([...model.encode('aéèx𝒳')], [0, 99, 7])
  }
})

test('a table of pairs answers what was put in, through its growth', () => {
  const table = new PairTable()
  const random = createRandom(16)
  const truth = new Map<string, number>()
  for (let i = 0; i < 5000; i++) {
    const [a, b] = [random.integer(0, 300), random.integer(0, 300)]
    table.set(a, b, i)
    truth.set(`${a} ${b}`, i)
  }
  assert.equal(table.size, truth.size)
  for (let a = 0; a <= 300; a++)
    for (let b = 0; b <= 300; b++) assert.equal(table.get(a, b), truth.get(`${a} ${b}`) ?? -1)
})
