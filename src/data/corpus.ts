import { createRandom, deriveSeed, type Random } from '../core/index.js'
import { alphabets } from './alphabets.js'
import { months, weekdays } from './calendar.js'
import { countries, territoryName, type Country } from './countries.js'
import { hasNativeDigits, nativeDigits } from './digits.js'
import { answersTo, namedThings, type NamedThing } from './facts.js'
import { languages, type Language } from './languages.js'
import { nouns } from './nouns.js'
import { numberWords, spelledLanguages } from './numbers.js'
import { equals, factSentences, nameSentences, ruleSentences } from './sentences.js'
import { articles } from './udhr.js'
import { inLanguage, operators, relations, relationWords } from './wording.js'

/** What a document of the pretraining text is about; the trainer may weigh them. */
export const documentKinds = ['declaration', 'facts', 'names', 'sums', 'numbers', 'lists', 'rules'] as const
export type DocumentKind = (typeof documentKinds)[number]

export interface Document {
  language: Language
  kind: DocumentKind
  text: string
}

/**
 * One pass over the base model's pretraining text, in an order and wording drawn from the seed; further passes take
 * further seeds. Every fact of every country, every name in every language and every small sum is in each pass, those
 * too that tasks withhold: a model can know them, though it is never instructed or rewarded on them. How to sort, reverse or compare is
 * nowhere in it.
 *
 * @example for (const { language, kind, text } of pretrainingDocuments(epoch)) ...
 */
export function* pretrainingDocuments(seed: number): Iterable<Document> {
  const random = createRandom(deriveSeed('pretraining', seed))
  const makers: (() => Document)[] = []
  for (const language of languages) {
    const add = (kind: DocumentKind, text: () => string): number =>
      makers.push(() => ({ language, kind, text: text() }))
    for (const { paragraphs } of articles(language)) add('declaration', () => paragraphs.join('\n'))
    for (const country of countries()) {
      add('facts', () => countrySentences(random, language, country))
      add('facts', () => countryCard(random, language, country))
    }
    for (const thing of namedThings()) add('names', () => nameLines(random, language, thing))
    for (let start = 0; start <= 12; start++) add('sums', () => sumLines(random, language, start))
    for (let i = 0; i < 12; i++) add('numbers', () => counting(random, language))
    for (let i = 0; i < 6; i++) add('lists', () => list(random, language))
    for (const sentence of ruleSentences[language]) add('rules', () => sentence)
  }
  for (const make of random.shuffle(makers)) {
    const document = make()
    if (document.text !== '') yield document
  }
}

/** Between the items of a list; the space keeps each item's leading-space token, in Japanese too. */
const comma = (language: Language): string => ({ ar: '، ', ja: '、 ' })[language as string] ?? ', '

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w)\}/g, (_, name: string) => values[name])
}

/** All facts of a country as sentences. */
function countrySentences(random: Random, language: Language, country: Country): string {
  const name = territoryName(language, country.code) ?? ''
  const sentences = relations.flatMap((relation) =>
    answersTo(language, country, relation).map((answer) =>
      fill(random.pick(factSentences[language][relation] ?? []), { c: name, x: answer }),
    ),
  )
  return random.shuffle(sentences).join(' ')
}

/** All facts of a country as a table has them: "continent: Kenya = Africa". */
function countryCard(random: Random, language: Language, country: Country): string {
  const name = territoryName(language, country.code) ?? ''
  const rows = relations.flatMap((relation) => {
    const answers = answersTo(language, country, relation)
    return answers.length === 0
      ? []
      : [`${relationWords[language][relation]}: ${name} = ${answers.join(comma(language))}`]
  })
  return random.shuffle(rows).join('\n')
}

/** The name of a thing in every other language and in this one. */
function nameLines(random: Random, language: Language, thing: NamedThing): string {
  const own = thing.names[language]
  const lines = languages
    .filter((other) => thing.names[other] !== own)
    .map((other) => {
      const values = { a: thing.names[other], b: own }
      return random.uniform() < 0.5
        ? fill(random.pick(nameSentences[language]), values)
        : `${inLanguage[language]}: ${values.a} = ${values.b}`
    })
  return random.shuffle(lines).join('\n')
}

/** All sums and differences that begin with a number, in words. */
function sumLines(random: Random, language: Language, start: number): string {
  const words = operators[language]
  if (words === undefined) return ''
  const [verb, end] = equals[language]
  const spell = (value: number): string => numberWords(language, value)
  const line = (operator: string, b: number, result: number): string =>
    `${spell(start)} ${operator} ${spell(b)}${verb}${spell(result)}${end}`
  const others = Array.from({ length: 13 }, (_, b) => b)
  const lines = [
    ...others.map((b) => line(words.plus, b, start + b)),
    ...others.filter((b) => b <= start).map((b) => line(words.minus, b, start - b)),
  ]
  return random.shuffle(lines).join('\n')
}

/** A stretch of counting, up or down, in digits or words or both. */
function counting(random: Random, language: Language): string {
  const length = random.integer(8, 24)
  const start = random.integer(0, 100 - length)
  const values = Array.from({ length }, (_, i) => start + i)
  if (random.uniform() < 0.3) values.reverse()
  const native = hasNativeDigits(language) && random.uniform() < 0.5
  const digits = (value: number): string => (native ? nativeDigits(language, value) : String(value))
  if (!(spelledLanguages as readonly string[]).includes(language) || random.uniform() < 0.4)
    return values.map(digits).join(' ')
  const spelled = values.map((value) => numberWords(language, value))
  if (random.uniform() < 0.5) return spelled.join(comma(language))
  return values.map((value, i) => `${digits(value)} ${spelled[i]}`).join('\n')
}

/** An ordered list: alphabet or part of it, months, weekdays; or the everyday words, which have no order. */
function list(random: Random, language: Language): string {
  const kind = random.pick(['alphabet', 'alphabet', 'months', 'weekdays', 'nouns'] as const)
  if (kind === 'months') return months[language].join(comma(language))
  if (kind === 'weekdays') return weekdays[language].join(comma(language))
  if (kind === 'nouns') return random.shuffle(nouns(language)).join(comma(language))
  const letters = alphabets[language]
  const from = random.uniform() < 0.5 ? 0 : random.integer(0, letters.length - 4)
  return letters.slice(from).join(' ')
}
