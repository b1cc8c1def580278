import {
  answersTo,
  countries,
  countryByCode,
  knownAnswers,
  languages,
  relations,
  relationWords,
  territoryName,
  type Country,
  type Language,
  type Relation,
} from '../data/index.js'
import { normalizeAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

/**
 * Facts of countries: continent, an official language, a neighbour with a land border, the capital (in English). The key
 * is country and relation, whichever language they are asked in; the withheld ones stand in the pretraining text, so a
 * model can know them, but it was never rewarded or instructed on them.
 */
export const facts = singleTurn<{ country: string; relation: Relation }>({
  id: 'facts',
  description: 'continent, official language, neighbour or capital of a country',
  difficulty: { easiest: 'the 40 most populous countries', hardest: 'the 120 most populous countries' },
  languages,
  maxReplyTokens: 32,
  lexicon: () => Object.fromEntries(languages.map((language) => [language, vocabulary(language)])),
  generate(random, { language, difficulty }) {
    for (;;) {
      const country = countries()[random.integer(0, scale(difficulty, 40, 120) - 1)]
      const relation = random.pick(relations.filter((name) => relationWords[language as Language][name] !== undefined))
      if (answersTo(language as Language, country, relation).length > 0)
        return { data: { country: country.code, relation }, key: `${relation} ${country.code}` }
    }
  },
  prompt: ({ country, relation }, language) =>
    `${relationWords[language as Language][relation]} ${territoryName(language as Language, country)}`,
  score(reply, { country, relation }, language) {
    const said = plain(reply)
    const right = answersTo(language as Language, found(country), relation).map(plain)
    const success = right.includes(said)
    return {
      reward: Number(success),
      success,
      wellFormed: success || plainAnswers(language as Language, relation).has(said),
    }
  },
  guess: (random, { relation }, language) => random.pick(knownAnswers(language as Language, relation)),
  answer: ({ country, relation }, language) => answersTo(language as Language, found(country), relation)[0],
})

function found(code: string): Country {
  const country = countryByCode(code)
  if (country === undefined) throw new RangeError(`facts: no country "${code}"`)
  return country
}

/** Yoruba writes "Èdè" (language) before names of languages or leaves it away. */
const plain = (name: string): string => normalizeAnswer(name).replace(/^[èe]dè /u, '')

/** Whatever answers the relation for some country, as it is compared. */
function plainAnswers(language: Language, relation: Relation): Set<string> {
  return new Set(knownAnswers(language, relation).map(plain))
}

function vocabulary(language: Language): readonly string[] {
  const names = relations
    .filter((relation) => relationWords[language][relation] !== undefined)
    .flatMap((relation) => knownAnswers(language, relation))
  return [...new Set(names)]
}
