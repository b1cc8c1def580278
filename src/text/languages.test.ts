import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalTag, languageInfo, listLanguages } from './languages.js'
import { normalizeText } from './normalize.js'
import { digitValue, parseNumber, toAsciiDigits, toNativeDigits } from './numbers.js'
import { createScriptCounter, scriptsOf } from './scripts.js'

test('the registry knows names, scripts, direction and digits of the base languages', () => {
  const facts = (tag: string): unknown[] => {
    const { name, nativeName, scripts, direction, numberingSystem } = languageInfo(tag)
    return [name, nativeName, scripts.join(' '), direction, numberingSystem]
  }
  assert.deepEqual(facts('en'), ['English', 'English', 'Latn', 'ltr', 'latn'])
  assert.deepEqual(facts('es'), ['Spanish', 'español', 'Latn', 'ltr', 'latn'])
  assert.deepEqual(facts('sw'), ['Swahili', 'Kiswahili', 'Latn', 'ltr', 'latn'])
  assert.deepEqual(facts('yo'), ['Yoruba', 'Èdè Yorùbá', 'Latn', 'ltr', 'latn'])
  assert.deepEqual(facts('ru'), ['Russian', 'русский', 'Cyrl', 'ltr', 'latn'])
  assert.deepEqual(facts('ar'), ['Arabic', 'العربية', 'Arab', 'rtl', 'arab'])
  assert.deepEqual(facts('hi'), ['Hindi', 'हिन्दी', 'Deva', 'ltr', 'deva'])
  assert.deepEqual(facts('ja'), ['Japanese', '日本語', 'Hira Kana Hani', 'ltr', 'latn'])
  assert.deepEqual(facts('ur'), ['Urdu', 'اردو', 'Arab', 'rtl', 'arabext'])
  assert.deepEqual(languageInfo('sr-Latn').scripts, ['Latn'])
  assert.deepEqual(languageInfo('hi').digits, [...'०१२३४५६७८९'])
})

test('families are those of ISO 639-5, resource classes those of Joshi et al.', () => {
  const facts = (tag: string): unknown[] => [languageInfo(tag).family, languageInfo(tag).resources]
  assert.deepEqual(facts('sw'), ['Niger-Congo', 2])
  assert.deepEqual(facts('yo'), ['Niger-Congo', 2])
  assert.deepEqual(facts('en'), ['Indo-European', 5])
  assert.deepEqual(facts('hi'), ['Indo-European', 4])
  assert.deepEqual(facts('ja'), ['Japonic', 5])
  assert.deepEqual(facts('am'), ['Afro-Asiatic', 2])
  assert.deepEqual(facts('ko'), [null, 4])
  assert.deepEqual(facts('fi'), ['Uralic', 4])
  assert.deepEqual(facts('zh-Hant'), ['Sino-Tibetan', 5])
  assert.deepEqual(facts('sq'), ['Indo-European', 1])
  assert.deepEqual(facts('vi'), ['Austroasiatic', 4])
  const without = listLanguages().filter((tag) => tag !== 'und' && languageInfo(tag).family === null)
  assert.deepEqual(without, ['ko'], 'all but isolates have a family')
})

test('every language of CLDR can be looked up', () => {
  const tags = listLanguages().filter((tag) => tag !== 'und')
  assert.ok(tags.length > 150)
  for (const tag of tags) {
    const info = languageInfo(tag)
    assert.ok(info.name.length > 0 && info.nativeName.length > 0 && info.scripts.length > 0, tag)
    assert.equal(info.digits.length, 10)
  }
})

test('tags are canonical; nonsense is refused with advice', () => {
  assert.equal(canonicalTag('swh'), 'sw')
  assert.equal(canonicalTag('ZH-hant'), 'zh-Hant')
  assert.throws(() => languageInfo('not a tag'), { code: 'usage', message: /not a language tag/ })
  assert.throws(() => languageInfo('qqx'), { code: 'usage', message: /not known to CLDR/ })
})

test('texts are compared in one Unicode form, one space, no direction marks', () => {
  assert.equal(normalizeText(' e\u0301\u00a0 x\n\u200f'), 'é x')
  assert.equal(normalizeText('STRASSE', { foldCase: true }), normalizeText('straße', { foldCase: true }))
  assert.equal(normalizeText('ΟΔΟΣ', { foldCase: true }), normalizeText('οδος', { foldCase: true }))
  assert.equal(normalizeText('Ọ̀YỌ́', { foldCase: true }), 'ọ̀yọ́')
})

test('digits of every script have their value', () => {
  for (const system of Intl.supportedValuesOf('numberingSystem')) {
    const digits = Array.from(
      new Intl.NumberFormat('en', { numberingSystem: system, useGrouping: false }).format(9876543210),
    )
    if (digits.length !== 10 || !digits.every((character) => /\p{Nd}/u.test(character))) continue
    assert.deepEqual(digits.map(digitValue), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], system)
    assert.equal(toAsciiDigits(toNativeDigits('1984', system)), '1984')
  }
  assert.equal(digitValue('x'), null)
  assert.equal(digitValue('²'), null)
})

test('numbers as people write them', () => {
  const cases: [string, number | null][] = [
    ['42', 42],
    [' ٤٢ ', 42],
    ['४२', 42],
    ['-7', -7],
    ['−۷', -7],
    ['+3', 3],
    ['1,234,567', 1234567],
    ['12,34,567', 1234567],
    ['١٬٢٣٤٫٥', 1234.5],
    ['3.14', 3.14],
    ['3,14', 3.14],
    ['1 234', 1234],
    ['007', 7],
    ['４２', 42],
    ['', null],
    ['abc', null],
    ['4 2', null],
    ['1.2.3', null],
    ['1٢', null],
    ['--1', null],
    ['1e5', null],
    ['½', null],
    ['42 apples', null],
  ]
  for (const [text, value] of cases) assert.equal(parseNumber(text), value, text)
  assert.equal(parseNumber('1.234,5', { language: 'de' }), 1234.5)
  assert.equal(parseNumber('1.234', { language: 'de' }), 1234)
  assert.equal(parseNumber('1,234', { language: 'de' }), 1.234)
  assert.equal(parseNumber('1 234,5', { language: 'ru' }), 1234.5)
  assert.equal(parseNumber('١٬٢٣٤٫٥', { language: 'ar-EG' }), 1234.5)
})

test('a number a language writes is read back', () => {
  for (const language of ['en', 'es', 'sw', 'yo', 'ru', 'ar-EG', 'hi', 'ja', 'fa', 'de-CH', 'fr', 'bn', 'my'])
    for (const value of [0, 7, 42, 999, 1234, 1234567, 0.5, 12.25])
      assert.equal(
        parseNumber(new Intl.NumberFormat(language).format(value), { language }),
        value,
        `${language} ${value}`,
      )
})

test('scripts are counted, what is common to all is not', () => {
  assert.deepEqual(scriptsOf('これは本 (book) 42!'), new Map(Object.entries({ Hira: 3, Hani: 1, Latn: 4 })))
  assert.deepEqual(scriptsOf('१२ 👍 ...').get('Deva'), 2)
  const count = createScriptCounter()
  assert.deepEqual(count('אב ab'), count('אב ab'))
})
