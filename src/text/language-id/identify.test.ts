import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confusableGroups, confusableWith, isConfusable } from './confusable.js'
import { createLanguageIdentifier, loadLanguageIdentifier } from './identify.js'
import type { Identifiers } from './types.js'

const candidates = ['en', 'es', 'sw', 'yo', 'ru', 'ar', 'hi', 'ja']

test('prose is named, expected or not', async () => {
  const identify = await loadLanguageIdentifier()
  const told = (text: string): string | null => identify(text, { candidates }).language
  assert.equal(told('The capital of Kenya is Nairobi'), 'en')
  assert.equal(told('Mji mkuu wa nchi hii ni mkubwa sana'), 'sw')
  assert.equal(told('Gbogbo ènìyàn ni a bí ní òmìnira'), 'yo')
  assert.equal(told('la maison est très grande et belle'), 'fr', 'nobody expected it, and both name it')
  // Sentences of our own.
  const prose: Record<string, string> = {
    sw: 'Leo asubuhi tulikwenda sokoni kununua samaki na matunda mengi',
    de: 'Gestern haben wir auf dem Markt frischen Fisch und viel Obst gekauft',
    pl: 'Wczoraj kupiliśmy na targu świeże ryby i dużo owoców',
    uk: "Учора ми купили на ринку свіжу рибу та багато фруктів для сім'ї",
    fa: 'دیروز ما از بازار ماهی تازه و میوه‌های زیادی خریدیم',
    ur: 'کل ہم نے بازار سے تازہ مچھلی اور بہت سے پھل خریدے',
    hi: 'कल हमने बाज़ार से ताज़ी मछली और बहुत सारे फल खरीदे',
    ta: 'நேற்று நாங்கள் சந்தையில் புதிய மீன்களையும் பழங்களையும் வாங்கினோம்',
    am: 'ትናንት ከገበያ ትኩስ ዓሣና ብዙ ፍራፍሬ ገዛን',
    my: 'မနေ့က ကျွန်တော်တို့ ဈေးမှာ ငါးနှင့် သစ်သီးများ ဝယ်ခဲ့သည်',
    ja: '昨日、私たちは市場で新鮮な魚と果物をたくさん買いました',
    zh: '昨天我们在市场上买了新鲜的鱼和很多水果',
    ko: '어제 우리는 시장에서 신선한 생선과 과일을 많이 샀습니다',
    vi: 'Hôm qua chúng tôi đã mua cá tươi và nhiều trái cây ở chợ',
    tr: 'Dün pazardan taze balık ve bir sürü meyve aldık',
  }
  for (const [language, text] of Object.entries(prose)) assert.equal(identify(text).language, language, text)
})

test('probabilities sum to one, the best first; the language named is the best', async () => {
  const identify = await loadLanguageIdentifier()
  const { language, probability, probabilities } = identify('Yesterday we bought fresh fish at the market')
  const values = [...probabilities.values()]
  assert.ok(Math.abs(values.reduce((a, b) => a + b, 0) - 1) < 1e-9)
  assert.deepEqual(
    values,
    values.toSorted((a, b) => b - a),
  )
  assert.equal(language, [...probabilities.keys()][0])
  assert.equal(probability, values[0])
  assert.ok(probability > 0.9)
})

test('silence with a reason', async () => {
  const identify = await loadLanguageIdentifier()
  const cases: [string, string][] = [
    ['', 'too short'],
    ['   ', 'too short'],
    ['12 34', 'too short'],
    ['٤٢ ४२ 42', 'too short'],
    ['👍👍👍', 'too short'],
    ['...', 'too short'],
    ['\0', 'too short'],
    ['\ud800\udfff\ud800', 'too short'],
    ['\u200b\u200b\u2060', 'too short'],
    ['Nairobi', 'too short'],
    ['ok', 'too short'],
    ['ha '.repeat(1000), 'too short'],
    ['https://example.com/abcdefgh', 'too short'],
    ['someone.somewhere@example.com', 'too short'],
    ['{"id": 1, "ok": [true]}', 'not prose'],
    ['for (let i = 0; i < rows.length; i++) { total += rows[i].value; }', 'not prose'],
    ['Angela Merkel Barack Obama', 'names'],
    ['Владимир Набоков', 'names'],
    ['asdkjh qwlekj zxmcnb lkjasd qweopi', 'nonsense'],
    ['ᚠᚢᚦᚨᚱᚲ ᚷᚹᚺᚾᛁᛃ', 'unknown script'],
  ]
  for (const [text, reason] of cases) {
    const found = identify(text, { candidates })
    assert.deepEqual([found.language, found.reason, found.probability], [null, reason, 0], text.slice(0, 40))
  }
})

test('a script that one language has decides; scripts exclude languages', async () => {
  const identify = await loadLanguageIdentifier()
  assert.equal(identify('Καλημέρα σε όλους').reason, 'script')
  assert.equal(identify('Καλημέρα σε όλους').language, 'el')
  assert.equal(identify('とうきょう').language, 'ja')
  assert.equal(identify('да', { candidates: ['en', 'ru'] }).language, 'ru', 'the only expected reader of so little')
  assert.equal(identify('да', { candidates: ['uk', 'ru'] }).language, null)
  for (const tag of identify('Вчера мы купили на рынке свежую рыбу').probabilities.keys())
    assert.ok(['ru', 'uk', 'be', 'bg', 'sr', 'mk', 'kk', 'ky', 'tg', 'mn', 'uz', 'bs', 'az'].includes(tag), tag)
})

test('languages no identifier knows are told when they are expected', async () => {
  const identify = await loadLanguageIdentifier()
  const wolof = 'Képp ku fekkoon suñu kër démb dina xam ni xale yi ñoo ngi jàng'
  assert.equal(identify(wolof, { candidates: ['wo', 'fr', 'en'] }).language, 'wo')
  assert.equal(
    identify('Je suis allé au marché ce matin avec mes enfants', { candidates: ['wo', 'fr', 'en'] }).language,
    'fr',
  )
})

test('what cannot be told apart says so, and can be answered as a group', async () => {
  const identify = await loadLanguageIdentifier()
  const croatian = 'Jučer smo na tržnici kupili svježu ribu i puno voća'
  assert.deepEqual(confusableWith('hr', 'close'), ['hr', 'bs', 'sr', 'cnr'])
  assert.ok(identify(croatian, { groups: true }).group.includes('bs'))
  assert.ok(identify(croatian, { groups: true }).probability > 0.99)
  assert.equal(identify(croatian, { candidates: ['bs', 'en'] }).language, 'bs', 'the expected one of the group')
  assert.ok(isConfusable('hr', 'sr-Latn') && isConfusable('zh-Hant', 'yue') && isConfusable('no', 'da'))
  assert.ok(!isConfusable('hi', 'ne') && !isConfusable('es', 'pt'))
  for (const { languages } of confusableGroups) assert.equal(new Set(languages).size, languages.length)
})

test('an endless text is read in parts, in bounded time', async () => {
  const identify = await loadLanguageIdentifier()
  const english = 'Yesterday we bought fresh fish at the market. '
  assert.equal(identify(english.repeat(25_000)).language, 'en')
  assert.equal(identify('a'.repeat(1_000_000)).language, null)
  assert.equal(identify('a.'.repeat(500_000)).language, null)
  assert.equal(identify('<a '.repeat(300_000)).language, null)
})

test('the rules: agreement, an expected language only one knows, and doubt', () => {
  const identifiers = (eld: Record<string, number>, cld: string, probability: number): Identifiers => ({
    eld: { knows: new Set(['en', 'es', 'yo', 'fil']), scores: () => new Map(Object.entries(eld)) },
    cld: { knows: new Set(['en', 'es', 'sw', 'yo', 'vi', 'fil']), detect: () => ({ language: cld, probability }) },
    letters: () => null,
  })
  const text = 'some twenty letters of Latin prose'
  const ask = (given: Identifiers, expected?: string[]): string | null =>
    createLanguageIdentifier(given)(text, { candidates: expected }).language
  assert.equal(ask(identifiers({ es: 90, en: 60 }, 'es', 0.9), ['en']), 'es', 'agreement, though nobody expected it')
  assert.equal(ask(identifiers({ fil: 60, en: 50 }, 'sw', 0.99), ['en', 'sw']), 'sw', 'eld does not know Swahili')
  assert.equal(ask(identifiers({ yo: 90, en: 50 }, 'vi', 0.99), ['en', 'yo']), 'yo', 'cld3 takes Yoruba for Vietnamese')
  assert.equal(
    ask(identifiers({ yo: 60, en: 55 }, 'sw', 0.99), ['en', 'yo', 'sw']),
    'sw',
    'eld takes Swahili for Yoruba',
  )
  assert.equal(ask(identifiers({ fil: 60 }, 'vi', 0.6), ['en', 'es']), null, 'neither is expected, and they differ')
})
