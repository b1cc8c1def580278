import {
  answersTo,
  countries,
  countryByCode,
  knownAnswers,
  territoryName,
  type Country,
  type Language,
  type Relation,
} from '../data/index.js'
import { normalizeAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

const quizLanguages = ['en', 'es', 'sw', 'ru'] as const satisfies readonly Language[]
type QuizLanguage = (typeof quizLanguages)[number]

const asked = ['continent', 'language', 'neighbour'] as const satisfies readonly Relation[]
type Asked = (typeof asked)[number]

const questions: Readonly<Record<QuizLanguage, Readonly<Record<Asked, (country: string) => string>>>> = {
  en: {
    continent: (country) => `On which continent is ${country}?`,
    language: (country) => `Name an official language of ${country}.`,
    neighbour: (country) => `Name a country that borders ${country}.`,
  },
  es: {
    continent: (country) => `¿En qué continente está ${country}?`,
    language: (country) => `Di un idioma oficial de este país: ${country}.`,
    neighbour: (country) => `Di un país que limita con este: ${country}.`,
  },
  sw: {
    continent: (country) => `${country} iko katika bara gani?`,
    language: (country) => `Taja lugha rasmi ya nchi hii: ${country}.`,
    neighbour: (country) => `Taja nchi inayopakana na ${country}.`,
  },
  ru: {
    continent: (country) => `На каком континенте находится эта страна: ${country}?`,
    language: (country) => `Назови официальный язык этой страны: ${country}.`,
    neighbour: (country) => `Назови страну, с которой граничит эта страна: ${country}.`,
  },
}

/**
 * The facts of {@link facts}, asked in sentences and answered in any: right is a reply that names a right answer and no wrong
 * one. For models that talk. The key is country and relation, whatever the language.
 */
export const quiz = singleTurn<{ country: string; relation: Asked }>({
  id: 'quiz',
  description: 'continent, official language or neighbour of a country; the reply may be a sentence',
  difficulty: { easiest: 'the 40 most populous countries', hardest: 'the 120 most populous countries' },
  languages: quizLanguages,
  maxReplyTokens: 32,
  lexicon: () =>
    Object.fromEntries(
      quizLanguages.map((language) => [
        language,
        [...new Set(asked.flatMap((relation) => knownAnswers(language, relation)))],
      ]),
    ),
  generate(random, { language, difficulty }) {
    for (;;) {
      const country = countries()[random.integer(0, scale(difficulty, 40, 120) - 1)]
      const relation = random.pick(asked)
      if (answersTo(language as Language, country, relation).length > 0)
        return { data: { country: country.code, relation }, key: `${relation} ${country.code}` }
    }
  },
  prompt: ({ country, relation }, language) => questions[language as QuizLanguage][relation](nameOf(language, country)),
  score(reply, { country, relation }, language) {
    const right = new Set(answersTo(language as Language, found(country), relation).map(normalizeAnswer))
    const own = normalizeAnswer(nameOf(language, country))
    const said = named(reply, [...new Set(knownAnswers(language as Language, relation).map(normalizeAnswer))])
    // A sentence may well repeat the country that was asked about.
    const answers = said.filter((name) => name !== own || right.has(name))
    const success = answers.length > 0 && answers.every((name) => right.has(name))
    return { reward: Number(success), success, wellFormed: answers.length > 0 }
  },
  guess: (random, { relation }, language) => random.pick(knownAnswers(language as Language, relation)),
  answer: ({ country, relation }, language) => answersTo(language as Language, found(country), relation)[0],
})

function found(code: string): Country {
  const country = countryByCode(code)
  if (country === undefined) throw new RangeError(`quiz: no country "${code}"`)
  return country
}

function nameOf(language: string, country: string): string {
  const name = territoryName(language as Language, country)
  if (name === undefined) throw new RangeError(`quiz: "${country}" has no name in "${language}"`)
  return name
}

/** Which of the names stand in a text as whole words. A name within a longer one that stands there does not count. */
function named(text: string, names: readonly string[]): string[] {
  let rest = ` ${normalizeAnswer(text)} `
  const hits: string[] = []
  for (const name of [...names].sort((a, b) => b.length - a.length)) {
    const pattern = new RegExp(
      `(?<![\\p{L}\\p{M}])${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\p{L}\\p{M}])`,
      'gu',
    )
    if (!pattern.test(rest)) continue
    hits.push(name)
    rest = rest.replace(pattern, ' | ')
  }
  return hits
}
