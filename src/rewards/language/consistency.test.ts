import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadLanguageIdentifier } from '../../text/index.js'
import { createLanguageJudge, isLanguageConsistent, languageConsistency } from './consistency.js'
import { makeTranscript } from '../transcript.test.helper.js'

const moves = {
  en: ['up', 'down', 'left', 'right', 'no'],
  es: ['arriba', 'abajo', 'izquierda', 'derecha', 'no'],
  ru: ['вверх', 'вниз', 'влево', 'вправо'],
  ja: ['上', '下', '左', '右'],
  sw: null,
}
const judge = (language: string, reply: string, prompt = '?'): boolean | null =>
  isLanguageConsistent(makeTranscript({ reply, language, prompt, lexicon: moves }))

test('short replies: the words of the language asked for, or of another', () => {
  assert.equal(judge('es', 'arriba'), true)
  assert.equal(judge('es', 'Arriba.'), true)
  assert.equal(judge('es', 'up'), false)
  assert.equal(judge('en', 'derecha 3'), false)
  assert.equal(judge('es', 'no'), true, 'a word of both languages')
  assert.equal(judge('es', 'arriba up'), false, 'half and half')
  assert.equal(judge('es', 'arriba abajo up'), true, 'mostly right')
  assert.equal(judge('ja', '左'), true)
  assert.equal(judge('ja', 'left'), false)
})

test('digits, punctuation, emoji, nothing, single letters and what the problem said carry no language', () => {
  for (const reply of ['', ' ', '42', '٤٢', '3 + 4 = 7!', '👍', '...', 'x'])
    assert.equal(judge('es', reply), null, reply)
  assert.equal(judge('es', 'Nairobi', '¿Nairobi o Mombasa?'), null)
  assert.equal(judge('sw', 'b a c', 'c b a'), null)
})

test('the script is always looked at', () => {
  assert.equal(judge('ru', 'Nairobi'), false)
  assert.equal(judge('hi', 'дели'), false)
  assert.equal(judge('en', '東京'), false)
  assert.equal(judge('ja', 'とうきょう'), true, 'no other language of the task is written so')
  assert.equal(judge('ru', 'Найроби'), true)
  assert.equal(judge('en', 'Nairobi'), null, 'a name in Latin letters is no evidence')
  assert.equal(judge('ru', 'вверх Nairobi'), false)
})

test('prose is judged by the identifiers, with the languages of the task as candidates', async () => {
  const identify = await loadLanguageIdentifier()
  const prose: Record<string, string> = {
    en: 'All human beings are born free and equal',
    es: 'Todos los seres humanos nacen libres e iguales',
    sw: 'Watu wote wamezaliwa huru, hadhi na haki zao ni sawa',
    yo: 'Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba',
    ru: 'Все люди рождаются свободными и равными',
    ar: 'يولد جميع الناس أحرارًا متساوين في الكرامة',
    hi: 'सभी मनुष्यों को गौरव और अधिकारों के मामले में',
    ja: 'すべての人間は、生まれながらにして自由であり',
  }
  for (const [written, reply] of Object.entries(prose))
    for (const language of Object.keys(prose))
      assert.equal(
        isLanguageConsistent(makeTranscript({ reply, language }), identify),
        written === language,
        `${written} for ${language}`,
      )
  const french = makeTranscript({ reply: 'Tous les êtres humains naissent libres et égaux en dignité', language: 'es' })
  assert.equal(isLanguageConsistent(french, identify), false, 'a language nobody expected')
})

test('the judge loads the identifiers once, and only when a reply needs them', async () => {
  let loads = 0
  const judgeLater = createLanguageJudge(async () => {
    loads++
    return () => ({
      language: 'es',
      probability: 1,
      reason: 'agreement',
      group: [],
      probabilities: new Map(),
      scripts: new Map(),
    })
  })
  assert.equal(await judgeLater(makeTranscript({ reply: 'arriba', language: 'es', lexicon: moves })), true)
  assert.equal(loads, 0)
  const reply = 'todos los seres humanos'
  assert.equal(await judgeLater(makeTranscript({ reply, language: 'es' })), true)
  assert.equal(await judgeLater(makeTranscript({ reply, language: 'en' })), false)
  assert.equal(loads, 1)
  const reward = languageConsistency(judgeLater)
  assert.equal(await reward.score(makeTranscript({ reply, language: 'en' })), 0)
  assert.equal(await reward.score(makeTranscript({ reply: '42', language: 'en' })), null)
})
