import type { Language } from './languages.js'
import { MyriadError } from '../core/index.js'
import { once, readPackageJson } from './package-json.js'

/** Languages whose number words CLDR spells out: all but Yoruba. */
export const spelledLanguages = ['en', 'es', 'sw', 'ru', 'ar', 'hi', 'ja'] as const satisfies readonly Language[]

type Rules = { base: number; text: string }[]

const rulesOf = once((language: string) => {
  const file = readPackageJson<{ rbnf: { rbnf: { SpelloutRules: Record<string, unknown> } } }>(
    `cldr-rbnf/rbnf/${language}.json`,
  )
  const sets = new Map<string, Rules>()
  for (const [name, entries] of Object.entries(file.rbnf.rbnf.SpelloutRules)) {
    if (!Array.isArray(entries)) continue // `_rbnfRulesFile` is a string among the arrays
    const rules = (entries as [string, string][])
      .filter(([base]) => /^\d+$/.test(base))
      .map(([base, text]) => ({ base: Number(base), text: text.replace(/;$/, '').replace(/^'/, '') }))
    sets.set(name, rules)
  }
  return sets
})

/** The largest power of ten not above the rule's base: a rule splits a number into multiples of it and a rest. */
const divisorOf = (base: number): number => (base < 1 ? 1 : 10 ** Math.floor(Math.log10(base) + 1e-12))

function spell(sets: ReadonlyMap<string, Rules>, language: string, setName: string, value: number): string {
  const rule = sets.get(setName)?.findLast((candidate) => candidate.base <= value)
  if (rule === undefined)
    throw new MyriadError('runtime', `numberWords: CLDR has no rule ${setName} for ${value} in ${language}`)
  const divisor = divisorOf(rule.base)
  const quotient = Math.floor(value / divisor)
  const rest = value % divisor
  // [..] is left out when nothing remains; ←x← spells the quotient, →x→ the rest, =x= the number itself.
  return rule.text
    .replace(/\[([^\]]*)\]/g, (_, inside: string) => (rest === 0 ? '' : inside))
    .replace(/←([^←]*)←/g, (_, name: string) => spell(sets, language, name || setName, quotient))
    .replace(/→([^→]*)→/g, (_, name: string) => spell(sets, language, name || setName, rest))
    .replace(/=(%[^=]*)=/g, (_, name: string) => spell(sets, language, name, value))
    .replace(/\$\(cardinal,([^)]*)\)\$/g, (_, forms: string) => {
      const category = new Intl.PluralRules(language).select(quotient)
      const form = (name: string): string | undefined => new RegExp(`${name}\\{([^}]*)\\}`).exec(forms)?.[1]
      return form(category) ?? form('other') ?? ''
    })
}

/**
 * A whole number in words, by CLDR's rule-based number formats (Unicode Technical Standard 35, part 3), cardinal as in
 * counting.
 *
 * @param value integer in 0..999,999
 * @throws MyriadError 'usage' outside the range or for a language without rules (Yoruba)
 * @example numberWords('sw', 342) // 'mia tatu na arobaini na mbili'
 */
export function numberWords(language: Language, value: number): string {
  if (!(spelledLanguages as readonly string[]).includes(language))
    throw new MyriadError(
      'usage',
      `numberWords: no number words for "${language}"; known: ${spelledLanguages.join(', ')}`,
    )
  if (!Number.isInteger(value) || value < 0 || value > 999_999)
    throw new MyriadError('usage', `numberWords: ${value} is not an integer in 0..999999`)
  return spelled(`${language} ${value}`)
}

const spelled = once((key: `${Language} ${number}`): string => {
  const [language, value] = key.split(' ')
  const words = spell(rulesOf(language), language, '%spellout-numbering', Number(value))
    .replace(/[\u00ad\u200b]/g, '')
    .normalize('NFC')
  // CLDR writes two Arabic numerals with a hamza that standard orthography does not have, and eleven in the feminine.
  return language === 'ar' ? words.replaceAll('إثن', 'اثن').replaceAll('إحدى عشر', 'أحد عشر') : words
})
