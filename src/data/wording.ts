import { languages, type ByLanguage, type Language } from './languages.js'

/** Facts of a country that can be asked for in every language; the capital is known in English only. */
export const relations = ['continent', 'language', 'neighbour', 'capital'] as const
export type Relation = (typeof relations)[number]

/** The word a fact is asked by. */
export const relationWords: ByLanguage<Readonly<Partial<Record<Relation, string>>>> = {
  en: { continent: 'continent', language: 'language', neighbour: 'neighbour', capital: 'capital' },
  es: { continent: 'continente', language: 'idioma', neighbour: 'vecino' },
  sw: { continent: 'bara', language: 'lugha', neighbour: 'jirani' },
  yo: { continent: 'kọ́ńtínẹ́ǹtì', language: 'èdè', neighbour: 'aládùúgbò' },
  ru: { continent: 'континент', language: 'язык', neighbour: 'сосед' },
  ar: { continent: 'قارة', language: 'لغة', neighbour: 'جار' },
  hi: { continent: 'महाद्वीप', language: 'भाषा', neighbour: 'पड़ोसी' },
  ja: { continent: '大陸', language: '言語', neighbour: '隣国' },
}

/** "In this language", by which a translation is asked for. */
export const inLanguage: ByLanguage<string> = {
  en: 'in English',
  es: 'en español',
  sw: 'kwa Kiswahili',
  yo: 'ní Yorùbá',
  ru: 'по-русски',
  ar: 'بالعربية',
  hi: 'हिन्दी में',
  ja: '日本語で',
}

/** The words between two numbers; Yoruba has none because its number words are not in CLDR. */
export const operators: Readonly<Partial<Record<Language, { plus: string; minus: string }>>> = {
  en: { plus: 'plus', minus: 'minus' },
  es: { plus: 'más', minus: 'menos' },
  sw: { plus: 'jumlisha', minus: 'toa' },
  ru: { plus: 'плюс', minus: 'минус' },
  ar: { plus: 'زائد', minus: 'ناقص' },
  hi: { plus: 'जमा', minus: 'घटा' },
  ja: { plus: '足す', minus: '引く' },
}

/** All languages a relation can be asked in. */
export function languagesOf(relation: Relation): readonly Language[] {
  return languages.filter((language) => relationWords[language][relation] !== undefined)
}
