import type { Language } from './languages.js'
import { once, readPackageJson } from './package-json.js'

/** A sovereign country and facts that no language's wording is part of. */
export interface Country {
  /** ISO 3166-1 alpha-2. */
  code: string
  population: number
  /** UN M49 code of its continent: 002 Africa, 003 North America, 005 South America, 009 Oceania, 142 Asia, 150 Europe. */
  continent: Continent
  /** CLDR codes of its official languages, the most spoken first. */
  languages: readonly string[]
  /** Codes of the countries it has a land border with. */
  neighbours: readonly string[]
  /** In English, as the package gives it; empty when it has none. */
  capital: string
}

export const continents = ['002', '003', '005', '009', '142', '150'] as const
export type Continent = (typeof continents)[number]

interface WorldCountry {
  cca2: string
  cca3: string
  unMember: boolean
  region: string
  subregion: string
  capital: string[]
  borders: string[]
}

interface Territory {
  _population: string
  languagePopulation?: Record<string, { _officialStatus?: string; _populationPercent: string }>
}

function continentOf(country: WorldCountry): Continent | null {
  if (country.region === 'Americas') return country.subregion === 'South America' ? '005' : '003'
  const found = { Africa: '002', Oceania: '009', Asia: '142', Europe: '150' } as const
  return found[country.region as keyof typeof found] ?? null
}

const load = once((_: 'all'): readonly Country[] => {
  const world = readPackageJson<WorldCountry[]>('world-countries/countries.json')
  const territories = readPackageJson<{ supplemental: { territoryInfo: Record<string, Territory> } }>(
    'cldr-core/supplemental/territoryInfo.json',
  ).supplemental.territoryInfo
  const members = world.filter((country) => country.unMember)
  const byCode3 = new Map(members.map((country) => [country.cca3, country]))
  // The package has a border on one side only where there is none on land (Sri Lanka and India): both must state it.
  const neighboursOf = (country: WorldCountry): string[] =>
    country.borders
      .map((border) => byCode3.get(border))
      .filter((other) => other !== undefined)
      .filter((other) => other.borders.includes(country.cca3))
      .map((other) => other.cca2)
  return members
    .flatMap((country): Country[] => {
      const territory = territories[country.cca2]
      const continent = continentOf(country)
      if (territory === undefined || continent === null) return []
      const official = Object.entries(territory.languagePopulation ?? {})
        .filter(([, info]) => info._officialStatus === 'official' || info._officialStatus === 'de_facto_official')
        .sort((a, b) => Number(b[1]._populationPercent) - Number(a[1]._populationPercent))
        .map(([code]) => code)
      return [
        {
          code: country.cca2,
          population: Number(territory._population),
          continent,
          languages: official,
          neighbours: neighboursOf(country),
          capital: country.capital[0] ?? '',
        },
      ]
    })
    .sort((a, b) => b.population - a.population)
})

/**
 * The members of the United Nations, the most populous first: continent, borders and capital by `world-countries`,
 * population and official languages by CLDR's territory information.
 */
export function countries(): readonly Country[] {
  return load('all')
}

/** The country of a code, or undefined. */
export function countryByCode(code: string): Country | undefined {
  return byCode('all').get(code)
}

const byCode = once((_: 'all') => new Map(countries().map((country) => [country.code, country])))

const territoryNames = once((language: Language) => displayNames(language, 'territories'))
const languageNames = once((language: Language) => displayNames(language, 'languages'))

function displayNames(language: Language, kind: 'territories' | 'languages'): Readonly<Record<string, string>> {
  const file = readPackageJson<{
    main: Record<string, { localeDisplayNames: Record<string, Record<string, string>> }>
  }>(`cldr-localenames-full/main/${language}/${kind}.json`)
  const names = Object.entries(file.main[language].localeDisplayNames[kind])
  // CLDR 48 has the two Koreas the wrong way round in Yoruba: àríwá is north, gúúsù south.
  if (language === 'yo' && kind === 'territories') names.push(['KP', 'Ariwa Kọria'], ['KR', 'Guusu Kọria'])
  return Object.fromEntries(names.map(([code, name]) => [code, tidy(name)]))
}

/** Names as people write them in running text: NFC, plain hyphen, no bracketed addition, no invisible marks. */
function tidy(name: string): string {
  return name
    .normalize('NFC')
    .replace(/\s*[(（].*$/u, '')
    .replace(/[\u200b\u200e\u200f\u00ad]/g, '')
    .replace(/\s*[–—]\s*|\s+-\s+/g, '-')
    .trim()
}

/** The name of a country or continent (ISO 3166-1 alpha-2 or UN M49 code) in a language by CLDR, or undefined. */
export function territoryName(language: Language, code: string): string | undefined {
  return territoryNames(language)[code]
}

/** The name of a language (CLDR code) in a language by CLDR, or undefined. */
export function languageName(language: Language, code: string): string | undefined {
  return languageNames(language)[code]
}
