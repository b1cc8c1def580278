import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  alphabets,
  answersTo,
  articles,
  asciiDigits,
  countries,
  countryByCode,
  documentKinds,
  knownAnswers,
  languageName,
  languages,
  months,
  namedThings,
  nativeDigits,
  nounCount,
  nouns,
  numberWords,
  parseWhole,
  phrases,
  pretrainingDocuments,
  relations,
  spelledLanguages,
  territoryName,
  weekdays,
} from './index.js'

describe('the Universal Declaration', () => {
  it('has the preamble and thirty articles in every language, clean and in NFC', () => {
    for (const language of languages) {
      assert.deepEqual(
        articles(language).map((article) => article.number),
        Array.from({ length: 31 }, (_, i) => i),
      )
      for (const text of articles(language).flatMap((article) => article.paragraphs)) {
        assert.equal(text, text.normalize('NFC'))
        assert.doesNotMatch(text, /[<>&@\u00ad\u200b]|&\d|\s{2}/, text)
      }
    }
    assert.deepEqual(articles('en')[3].paragraphs, [
      'Everyone has the right to life, liberty and the security of person.',
    ])
  })

  it('has short paragraphs that are parallel', () => {
    const nationality = phrases().find((phrase) => phrase.id === '15.1')
    assert.equal(nationality?.texts.en, 'Everyone has the right to a nationality.')
    assert.equal(nationality?.texts.ja, 'すべて人は、国籍をもつ権利を有する。')
    assert.equal(nationality?.texts.ru, 'Каждый человек имеет право на гражданство.')
    assert.ok(phrases().every((phrase) => phrase.length <= 100))
  })
})

describe('countries', () => {
  it('have a continent and a name in every language', () => {
    assert.ok(countries().length > 190)
    for (const country of countries())
      for (const language of languages) {
        assert.ok(territoryName(language, country.code), `${country.code} in ${language}`)
        assert.equal(answersTo(language, country, 'continent').length, 1)
      }
  })

  it('have the facts one finds in an atlas', () => {
    const kenya = countryByCode('KE')
    assert.ok(kenya)
    assert.deepEqual(answersTo('sw', kenya, 'continent'), ['Afrika'])
    assert.deepEqual(answersTo('en', kenya, 'language'), ['Swahili', 'English'])
    assert.deepEqual(
      answersTo('ja', kenya, 'neighbour').sort(),
      ['ウガンダ', 'エチオピア', 'ソマリア', 'タンザニア', '南スーダン'].sort(),
    )
    assert.deepEqual(answersTo('en', kenya, 'capital'), ['Nairobi'])
    assert.deepEqual(answersTo('ru', kenya, 'capital'), [], 'capitals are known in English only')
  })

  it('corrects the two Koreas in Yoruba', () => {
    assert.match(territoryName('yo', 'KP') ?? '', /Ariwa/)
    assert.match(territoryName('yo', 'KR') ?? '', /Guusu/)
  })

  it('borders are mutual: the package gives Sri Lanka one with India that India does not have', () => {
    assert.deepEqual(countryByCode('LK')?.neighbours, [])
    for (const country of countries())
      for (const code of country.neighbours)
        assert.ok(countryByCode(code)?.neighbours.includes(country.code), `${country.code} and ${code}`)
  })

  it('names things in all languages, without brackets', () => {
    assert.ok(namedThings().length > 90)
    for (const thing of namedThings())
      for (const language of languages) assert.match(thing.names[language], /^[^()（）]+$/u)
    assert.equal(languageName('yo', 'ja'), 'Èdè Jàpáànù')
  })
})

describe('number words', () => {
  it('are those a speaker says', () => {
    assert.equal(numberWords('en', 342), 'three hundred forty-two')
    assert.equal(numberWords('es', 21), 'veintiuno')
    assert.equal(numberWords('es', 342), 'trescientos cuarenta y dos')
    assert.equal(numberWords('sw', 342), 'mia tatu na arobaini na mbili')
    assert.equal(numberWords('ru', 342), 'триста сорок два')
    assert.equal(numberWords('ru', 2000), 'две тысячи')
    assert.equal(numberWords('ru', 5000), 'пять тысяч')
    assert.equal(numberWords('hi', 342), 'तीन सौ बयालीस')
    assert.equal(numberWords('ja', 342), '三百四十二')
    assert.equal(numberWords('ar', 12), 'اثنا عشر')
  })

  it('tell all numbers below a thousand apart', () => {
    for (const language of spelledLanguages)
      assert.equal(
        new Set(Array.from({ length: 1000 }, (_, value) => numberWords(language, value))).size,
        1000,
        language,
      )
  })

  it('refuse what they cannot spell', () => {
    assert.throws(() => numberWords('yo', 3), /known: en, es/)
    assert.throws(() => numberWords('en', -1), /not an integer/)
    assert.throws(() => numberWords('en', 1.5), /not an integer/)
  })
})

describe('digits', () => {
  it('go both ways in every script', () => {
    for (const value of [0, 7, 42, 99, 305]) {
      for (const language of languages) assert.equal(parseWhole(nativeDigits(language, value)), value)
      assert.equal(parseWhole(String(value).replace(/\d/g, (digit) => '๐๑๒๓๔๕๖๗๘๙'[Number(digit)])), value, 'Thai')
    }
    assert.equal(asciiDigits('٤२９𝟗'), '4299')
  })

  it('are not found in other text', () => {
    for (const text of ['', ' ', 'four', '4 2', '-3', '1.5', '1'.repeat(40), '½', '四'])
      assert.equal(parseWhole(text), null, text)
  })
})

describe('lists', () => {
  it('are complete and without repetition', () => {
    for (const language of languages) {
      assert.equal(new Set(months[language]).size, 12)
      assert.equal(new Set(weekdays[language]).size, 7)
      assert.equal(new Set(nouns(language)).size, nounCount)
      const letters = alphabets[language]
      assert.ok(letters.length >= 10 && letters.length <= 16 && new Set(letters).size === letters.length)
      for (const letter of letters) assert.equal([...letter.normalize('NFC')].length, 1)
    }
  })

  it('keep the order a collation of the language gives', () => {
    for (const language of languages) {
      const collator = new Intl.Collator(language)
      assert.deepEqual([...alphabets[language]].sort(collator.compare), alphabets[language], language)
    }
  })
})

describe('pretraining text', () => {
  const documents = [...pretrainingDocuments(1)]

  it('is the same for a seed and another for another seed', () => {
    assert.deepEqual([...pretrainingDocuments(1)], documents)
    assert.notDeepEqual([...pretrainingDocuments(2)], documents)
  })

  it('has every kind in every language, except sums in Yoruba', () => {
    for (const language of languages)
      for (const kind of documentKinds)
        assert.equal(
          documents.some((document) => document.language === language && document.kind === kind),
          !(language === 'yo' && kind === 'sums'),
          `${kind} in ${language}`,
        )
  })

  it('states every fact of every country', () => {
    for (const language of languages) {
      const text = documents
        .filter((document) => document.language === language && document.kind === 'facts')
        .map((document) => document.text)
      for (const country of countries()) {
        const name = territoryName(language, country.code) ?? ''
        const own = text.filter((document) => document.includes(name)).join('\n')
        for (const relation of relations)
          for (const answer of answersTo(language, country, relation))
            assert.ok(own.includes(answer), `${name}: ${answer}`)
      }
    }
    assert.ok(knownAnswers('en', 'capital').length > 180)
  })

  it('is well-formed Unicode in NFC without unfilled templates', () => {
    for (const { text } of documents) {
      assert.equal(text, text.normalize('NFC'))
      assert.doesNotMatch(text, /\p{Surrogate}|\ufffd/u)
      assert.doesNotMatch(text, /undefined|\{\w\}/)
    }
  })
})
