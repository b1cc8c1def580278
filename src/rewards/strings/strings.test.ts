import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { factoriesOf } from '../registry.js'
import { transcriptOf } from '../sample.js'
import { commonLength, editDistance, editsBetween, swapDistance } from './edit-distance.js'
import { meteor } from './meteor.js'
import { approximateRandomization, meansOf, pairedBootstrap } from './significance.js'
import { stringRewards } from './string-rewards.js'

test('distances: by hand, and by recursion on random short sequences', () => {
  assert.equal(editDistance([...'kitten'], [...'sitting']), 3)
  assert.equal(swapDistance([...'ab'], [...'ba']), 1)
  assert.equal(swapDistance([...'ca'], [...'abc']), 3)
  const slow = (a: string, b: string): number =>
    a === '' || b === ''
      ? a.length + b.length
      : Math.min(
          slow(a.slice(1), b) + 1,
          slow(a, b.slice(1)) + 1,
          slow(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1),
        )
  const random = createRandom(1)
  const draw = (): string => Array.from({ length: random.integer(0, 6) }, () => random.pick(['a', 'b', 'c'])).join('')
  for (let round = 0; round < 200; round++) {
    const [a, b] = [draw(), draw()]
    const distance = slow(a, b)
    assert.equal(editDistance(a, b), distance, `${a} ${b}`)
    const { matches, substitutions, deletions, insertions } = editsBetween(a, b)
    assert.equal(substitutions + deletions + insertions, distance)
    assert.equal(matches + substitutions + deletions, a.length)
    assert.equal(matches + substitutions + insertions, b.length)
    assert.ok(swapDistance(a, b) <= distance)
    assert.ok(commonLength(a, b) >= matches && matches >= 0)
  }
})

test('METEOR by hand: one run, two runs, nothing', () => {
  const near = (actual: number, expected: number): void => assert.ok(Math.abs(actual - expected) < 1e-12, `${actual}`)
  near(meteor('the cat sat', 'the cat sat'), 1 - 0.5 / 27)
  // All words, in two runs: F = 1, penalty 0.5 (2/4)^3.
  near(meteor('c d a b', 'a b c d'), 1 - 0.5 / 8)
  // P = 1, R = 1/2, F = PR / (0.9 P + 0.1 R), one run of two.
  near(meteor('a b', 'a b c d'), (0.5 / 0.95) * (1 - 0.5 / 8))
  near(meteor('x', 'a'), 0)
  near(meteor('', ''), 0)
})

test('paired tests find a difference that is there, and none where there is none', () => {
  const random = createRandom(2)
  const base = Array.from({ length: 200 }, () => random.uniform())
  const better = base.map((value) => value + 0.05 + 0.1 * random.normal())
  const same = base.map((value) => value + 0.1 * random.normal())
  const mixed =
    (a: number[]) =>
    (from: Uint8Array): number =>
      base.reduce((sum, value, i) => sum + (from[i] ? value : a[i]), 0) / base.length
  assert.ok(pairedBootstrap(200, meansOf(better, base)).pValue < 0.01)
  assert.ok(pairedBootstrap(200, meansOf(same, base)).pValue > 0.05)
  assert.ok(approximateRandomization(200, mixed(better)).pValue < 0.01)
  assert.ok(approximateRandomization(200, mixed(same)).pValue > 0.05)
  const { interval, difference } = pairedBootstrap(200, meansOf(better, base), { seed: 3 })
  assert.ok(interval![0] < difference && difference < interval![1] && interval![0] > 0)
  assert.deepEqual(pairedBootstrap(200, meansOf(better, base)), pairedBootstrap(200, meansOf(better, base)))
  assert.throws(() => pairedBootstrap(1, meansOf([1], [1])), { code: 'usage' })
})

const good: [language: string, text: string][] = [
  ['en', 'All human beings are born free and equal.'],
  ['sw', 'Watu wote wamezaliwa huru, hadhi na haki zao ni sawa.'],
  ['ja', 'すべての人間は、生まれながらにして自由である。'],
  ['ar', 'يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.'],
  ['th', 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน'],
  ['hi', 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।'],
]
const registry = factoriesOf(stringRewards)

for (const { name } of stringRewards)
  test(`${name}: the reference scores near 1, another language 0 or little, hostile replies within [0, 1]`, async () => {
    const reward = registry[name]({})
    const scoreOf = async (reply: string, reference: string, language: string): Promise<number> =>
      (await reward.score(transcriptOf({ reply, answer: reference, language }))) as number
    for (const [i, [language, text]] of good.entries()) {
      assert.ok((await scoreOf(text, text, language)) > 0.95, `${language}: the same`)
      const [, other] = good[(i + 1) % good.length]
      assert.ok((await scoreOf(other, text, language)) < 0.3, `${language}: another`)
    }
    const hostile = ['', ' ', '\ud800', 'a'.repeat(1_000_000), '\u200b'.repeat(100), '👨‍👩‍👧'.repeat(999), '\n'.repeat(999)]
    for (const reply of hostile) {
      const score = await scoreOf(reply, good[0][1], 'en')
      assert.ok(score >= 0 && score <= 1, `${JSON.stringify(reply.slice(0, 9))}: ${score}`)
    }
    assert.equal(await reward.score(transcriptOf({ reply: 'a' })), null)
  })
