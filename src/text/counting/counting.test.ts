import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadSpeechSyllables, syllablesOfIpa } from './speech.js'
import { countSyllables } from './syllables.js'
import { countGraphemes, countLetters, countSentences, countWords, lengthRatio } from './units.js'

test('words and sentences in scripts with and without spaces', () => {
  const cases: [string, string, number, number][] = [
    ['en', 'It rains. Does it? Yes!', 5, 3],
    ['ja', '今日はいい天気です。散歩しましょう。', 8, 2],
    ['zh', '你好。我们去公园吧！', 5, 2],
    ['th', 'ฉันรักคุณ', 3, 1],
    ['hi', 'कल आना। अच्छा?', 3, 2],
    ['ar', 'كيف حالك؟ أنا بخير.', 4, 2],
    ['am', 'ሰላም ነው። እንዴት ነህ።', 4, 2],
    ['my', 'မင်္ဂလာပါ။ နေကောင်းလား။', 4, 2],
  ]
  for (const [language, text, words, sentences] of cases) {
    assert.equal(countSentences(text, language), sentences, text)
    if (language !== 'ja' && language !== 'zh' && language !== 'my')
      assert.equal(countWords(text, language), words, text)
    else assert.ok(countWords(text, language) > 2, text)
  }
  assert.equal(countLetters('नमस्ते 42!'), 4)
  assert.equal(countGraphemes('👩‍👩‍👧e\u0301'), 2)
  for (const empty of ['', ' ', '!?', '👍'])
    assert.deepEqual(
      [countWords(empty, 'en'), countSentences(empty, 'en'), countLetters(empty), countSyllables(empty, 'en')],
      [0, 0, 0, 0],
    )
})

/** By hand, as a speaker would say them slowly. */
const counted: Record<string, [string, number][]> = {
  en: [
    ['university', 5],
    ['table', 2],
    ['walked', 1],
    ['wanted', 2],
    ['nation', 2],
    ['Good morning, teacher', 5],
  ],
  es: [
    ['universidad', 5],
    ['país', 2],
    ['ciudad', 2],
    ['guitarra', 3],
    ['pingüino', 3],
    ['Mañana comeremos en la playa', 11],
  ],
  pt: [
    ['coração', 3],
    ['universidade', 6],
    ['história', 3],
    ['amanhã vamos à praia', 8],
    ['saúde', 3],
  ],
  fr: [
    ['maison', 2],
    ['université', 5],
    ['table', 1],
    ['ils parlent', 2],
    ['créer', 2],
    ['théâtre', 2],
    ['beaucoup', 2],
  ],
  de: [
    ['Universität', 5],
    ['Freiheit', 2],
    ['Museum', 3],
    ['Straßenbahn', 3],
    ['wir gehen morgen ins Theater', 9],
  ],
  sw: [
    ['mtu', 2],
    ['habari za asubuhi', 8],
    ['kufaa', 3],
    ["ng'ombe", 2],
    ['mbwa', 2],
    ['Watu wote wamezaliwa huru', 11],
  ],
  yo: [
    ['Gbogbo ènìyàn ni a bí ní òmìnira', 13],
    ['ọmọ', 2],
    ['ńlá', 2],
  ],
  ru: [
    ['университет', 5],
    ['люди', 2],
    ['здравствуйте', 3],
    ['мы идём домой', 5],
  ],
  pl: [
    ['niebo', 2],
    ['dziękuję', 3],
    ['autobus', 3],
  ],
  cs: [
    ['vlk', 1],
    ['prst', 1],
    ['auto', 2],
    ['soudce', 2],
  ],
  tr: [
    ['üniversite', 5],
    ['saat', 2],
  ],
  fi: [
    ['hyvää huomenta', 5],
    ['maailma', 3],
    ['kauan', 2],
  ],
  vi: [
    ['Xin chào các bạn', 4],
    ['Nguyễn', 1],
  ],
  id: [
    ['air', 2],
    ['pulau', 2],
    ['selamat pagi', 5],
  ],
  hi: [
    ['नमस्ते', 3],
    ['करना', 2],
    ['राम', 1],
    ['विश्वविद्यालय', 5],
    ['समझना', 3],
    ['मैं घर जा रहा हूँ', 6],
  ],
  bn: [
    ['বাংলাদেশ', 3],
    ['আমি ভাত খাই', 4],
  ],
  ta: [
    ['வணக்கம்', 3],
    ['தமிழ்', 2],
    ['பல்கலைக்கழகம்', 6],
  ],
  te: [['నమస్కారం', 4]],
  am: [
    ['ሰላም', 2],
    ['ትናንት', 2],
    ['አዲስ አበባ', 5],
  ],
  ar: [
    ['مدرسة', 3],
    ['كتاب', 2],
    ['السلام عليكم', 6],
    ['مَكْتَبَة', 3],
  ],
  he: [
    ['שלום', 2],
    ['תודה', 2],
  ],
  ja: [
    ['こんにちは', 5],
    ['きょう', 2],
    ['がっこう', 4],
    ['コンピューター', 6],
    ['東京', 4],
  ],
  ko: [['안녕하세요', 5]],
  zh: [['你好世界', 4]],
  th: [
    ['สวัสดี', 3],
    ['ประเทศไทย', 4],
    ['น้ำ', 1],
    ['ถนน', 2],
    ['โรงเรียน', 2],
    ['ขอบคุณ', 2],
  ],
  lo: [
    ['ສະບາຍດີ', 3],
    ['ຂອບໃຈ', 2],
  ],
  my: [
    ['မင်္ဂလာပါ', 4],
    ['ကျေးဇူးတင်ပါတယ်', 5],
  ],
  km: [
    ['កម្ពុជា', 3],
    ['សាលា', 2],
  ],
  el: [
    ['καλημέρα', 4],
    ['ευχαριστώ', 4],
    ['παιδί', 2],
  ],
  ka: [['გამარჯობა', 4]],
  hy: [['համալսարան', 4]],
  bo: [['བཀྲ་ཤིས་བདེ་ལེགས།', 4]],
}

test('syllables as counted by hand in thirty languages', () => {
  for (const [language, rows] of Object.entries(counted))
    for (const [text, syllables] of rows) assert.equal(countSyllables(text, language), syllables, `${language} ${text}`)
})

test('English words as in the CMU dictionary: nine of ten, few off by more than one, no bias', () => {
  const { words } = JSON.parse(
    readFileSync(new URL('../../../src/text/counting/cmu.fixture.json', import.meta.url), 'utf8'),
  ) as { words: Record<string, number[]> }
  const rows = Object.entries(words).map(([word, counts]) => {
    const syllables = countSyllables(word, 'en')
    return counts.includes(syllables) ? 0 : syllables - counts[0]
  })
  const right = rows.filter((off) => off === 0).length / rows.length
  assert.ok(right > 0.9, String(right))
  assert.ok(Math.abs(rows.reduce((a, b) => a + b, 0) / rows.length) < 0.05)
  // Abbreviations are spelt out (`aaa` is three).
  assert.ok(rows.filter((off) => Math.abs(off) > 1).length / rows.length < 0.01)
})

test('ratios of lengths; a source of nothing counts one', () => {
  const sw = { text: 'Habari za asubuhi', language: 'sw' }
  assert.equal(lengthRatio({ text: 'Good morning', language: 'en' }, sw, 'syllables'), 8 / 3)
  assert.equal(lengthRatio({ text: 'Good morning', language: 'en' }, sw, 'words'), 3 / 2)
  assert.equal(lengthRatio({ text: '', language: 'en' }, sw, 'letters'), 15)
})

test('a script without rules is refused; hostile texts end', () => {
  assert.throws(() => countSyllables('𐐀𐐁𐐂', 'en'), { code: 'usage', message: /Dsrt/ })
  for (const text of [
    'a'.repeat(1_000_000),
    'अ्'.repeat(100_000),
    '\ud800'.repeat(1000),
    'ー'.repeat(10_000),
    'e\u0301'.repeat(100_000),
  ])
    for (const language of ['en', 'fr', 'hi', 'ja', 'yo']) assert.ok(Number.isFinite(countSyllables(text, language)))
})

test('espeak-ng is optional: without it the error names the package and its licence', async () => {
  const missing = loadSpeechSyllables(async () => {
    throw new Error('Cannot find package')
  })
  await assert.rejects(missing, { code: 'usage', message: /@echogarden\/espeak-ng-emscripten \(GPL-3\.0.*npm install/ })
  class Worker {
    set_voice(): void {}
    synthesize_ipa(): { ipa: string } {
      return { ipa: 'ɡ_ˈʊ_d m_ˈɔː_n_ɪ_ŋ ˈɛ_v_ɹ_ɪ_b_ˌɒ_d_i\n' }
    }
  }
  const count = await loadSpeechSyllables(async () => ({ default: async () => ({ eSpeakNGWorker: Worker }) }))
  assert.equal(count('Good morning everybody', 'en'), 7)
  assert.equal(syllablesOfIpa('ˈeɪ_ə_l̩'), 3)
})
