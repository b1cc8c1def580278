import { countries, languageName, territoryName, type Country } from './countries.js'
import { languages, type Language } from './languages.js'
import { months } from './calendar.js'
import { once } from './package-json.js'
import { relationWords, type Relation } from './wording.js'

/** Right answers to "RELATION of COUNTRY" in a language; empty where the data has none. */
export function answersTo(language: Language, country: Country, relation: Relation): string[] {
  if (relationWords[language][relation] === undefined) return []
  const named = {
    continent: () => [territoryName(language, country.continent)],
    language: () => country.languages.map((code) => languageName(language, code)),
    neighbour: () => country.neighbours.map((code) => territoryName(language, code)),
    capital: () => [country.capital || undefined],
  }[relation]()
  return named.filter((name) => name !== undefined)
}

const answerLists = once((key: `${Language} ${Relation}`): readonly string[] => {
  const [language, relation] = key.split(' ') as [Language, Relation]
  return [...new Set(countries().flatMap((country) => answersTo(language, country, relation)))]
})

/** Every answer that is right for some country, each once. */
export function knownAnswers(language: Language, relation: Relation): readonly string[] {
  return answerLists(`${language} ${relation}`)
}

/** The same thing named in every language. */
export interface NamedThing {
  /** Stable id: `country KE`, `language fr`, `month 0`. */
  id: string
  kind: 'country' | 'language' | 'month'
  names: Readonly<Record<Language, string>>
}

const load = once((_: 'all'): readonly NamedThing[] => {
  const known = countries().slice(0, 60)
  const spoken = [...new Set(known.flatMap((country) => country.languages))]
  const things = [
    ...known.map(({ code }) => thing('country', code, (language) => territoryName(language, code))),
    ...spoken.map((code) => thing('language', code, (language) => languageName(language, code))),
    ...months.en.map((_, i) => thing('month', String(i), (language) => months[language][i])),
  ]
  return things.filter((found) => found !== null)
})

function thing(
  kind: NamedThing['kind'],
  code: string,
  name: (language: Language) => string | undefined,
): NamedThing | null {
  const names: Partial<Record<Language, string>> = {}
  for (const language of languages) {
    const found = name(language)
    if (found === undefined || found.length > 24) return null
    names[language] = found
  }
  return { id: `${kind} ${code}`, kind, names: names as Record<Language, string> }
}

/**
 * Things with a short name in all languages, the best known first within their kind: the 60 most populous countries,
 * their official languages, the months.
 */
export function namedThings(): readonly NamedThing[] {
  return load('all')
}
