import { createRequire } from 'node:module'
import { cached, foldMarks } from './locale.js'

const require = createRequire(import.meta.url)

interface Rule {
  base: number
  divisor: number
  text: string
}
interface RuleSets {
  sets: ReadonlyMap<string, readonly Rule[]>
  /** What stands before a number below zero, as "minus". */
  minus: readonly string[]
}

// "1000", "1000/100" (another radix), "1000>" (a smaller power of it): UTS 35, part 3, rule-based number formats.
const baseForm = /^(\d+)(?:\/(\d+))?(>*)$/

function toRule([key, text]: readonly [string, string]): Rule[] {
  const found = baseForm.exec(key)
  if (!found) return []
  const base = Number(found[1])
  const radix = Number(found[2] ?? 10)
  const power = base < 1 ? 0 : Math.floor(Math.log(base) / Math.log(radix) + 1e-9) - found[3].length
  return [{ base, divisor: radix ** Math.max(0, power), text: text.replace(/;$/, '').replace(/^'/, '') }]
}

const rules = cached((language): RuleSets | null => {
  const [base] = language.split('-')
  const names = [language, ...(base === 'zh' && /hant|tw|hk/i.test(language) ? ['zh-Hant'] : []), base]
  for (const name of names) {
    if (!/^[a-z]{2,3}(-[A-Za-z]+)?$/.test(name)) continue
    let file: { rbnf: { rbnf: { SpelloutRules?: Readonly<Record<string, unknown>> } } }
    try {
      file = require(`cldr-rbnf/rbnf/${name}.json`) as typeof file
    } catch {
      continue // CLDR spells no numbers out in this language
    }
    const sets = new Map<string, Rule[]>()
    const minus = new Set<string>()
    for (const [set, entries] of Object.entries(file.rbnf.rbnf.SpelloutRules ?? {})) {
      if (!Array.isArray(entries)) continue
      const pairs = entries as [string, string][]
      sets.set(set, pairs.flatMap(toRule))
      for (const [key, text] of pairs) if (key === '-x') minus.add(foldMarks(text.replace(/→.*$/u, '')))
    }
    return { sets, minus: [...minus].filter((word) => /\p{L}/u.test(word)) }
  }
  return null
})

function spell({ sets }: RuleSets, language: string, name: string, value: number, depth: number): string {
  const set = sets.get(name)
  if (!set || depth > 40) throw new RangeError(name)
  let at = set.findLastIndex(({ base }) => base <= value)
  if (at < 0) throw new RangeError(name)
  // The roll-back rule: an exact multiple takes the rule before one that has a rest to say.
  const first = set[at]
  if (
    at > 0 &&
    value % first.divisor === 0 &&
    first.base % first.divisor !== 0 &&
    /→/u.test(first.text) &&
    /←/u.test(first.text)
  )
    at--
  const { divisor, text } = set[at]
  const quotient = Math.floor(value / divisor)
  const rest = value % divisor
  const inner = (given: string, number: number): string =>
    given.startsWith('#') || given.startsWith('0')
      ? String(number)
      : spell({ sets, minus: [] }, language, given || name, number, depth + 1)
  return text
    .replace(/\[([^\]]*)\]/gu, (_, inside: string) => (rest === 0 ? '' : inside))
    .replace(/→→→/gu, '→→')
    .replace(/←([^←]*)←/gu, (_, given: string) => inner(given, quotient))
    .replace(/→([^→]*)→/gu, (_, given: string) => inner(given, rest))
    .replace(/=([%#0][^=]*)=/gu, (_, given: string) => inner(given, value))
    .replace(/\$\(cardinal,([^)]*)\)\$/gu, (_, forms: string) => {
      const form = (category: string): string | undefined => new RegExp(`${category}\\{([^}]*)\\}`).exec(forms)?.[1]
      return form(new Intl.PluralRules(language).select(quotient)) ?? form('other') ?? ''
    })
}

/** Spelling without what varies from hand to hand: white space, hyphens, accents on Latin letters, hamza. */
function plain(words: string): string {
  return foldMarks(words).replace(/[\s\p{Pd},.。।]+/gu, '')
}

/** Largest number that is spelled: CLDR's rules reach a little further. */
const MOST_SPELLED = 1e15

/**
 * Is this how a language spells a whole number, in any of the cardinal forms CLDR has for it (genders, cases, styles)?
 * White space, hyphens and accents do not matter. False for languages CLDR has no rules for.
 *
 * @example isSpelled('arobaini na mbili', 42, 'sw') // true
 */
export function isSpelled(words: string, value: number, language: string): boolean {
  if (!Number.isSafeInteger(value) || Math.abs(value) > MOST_SPELLED || words.length > 400) return false
  const said = plain(words)
  if (said === '') return false
  const known = spellings(`${language} ${Math.abs(value)}`)
  if (value >= 0) return known.has(said)
  return minusWords(language).some((word) => said.startsWith(plain(word)) && known.has(said.slice(plain(word).length)))
}

function spellings(key: string): ReadonlySet<string> {
  const [language, number] = key.split(' ')
  const file = rules(language)
  const found = new Set<string>()
  if (!file) return found
  for (const name of file.sets.keys()) {
    if (!/^%spellout-(?:cardinal|numbering(?!-(?:year|days)))/.test(name)) continue
    try {
      found.add(plain(spell(file, language, name, Number(number), 0)))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error // this style does not reach this number
    }
  }
  return found
}

/** Words before a number below zero ("minus", "минус"), by CLDR, folded. */
export const minusWords = cached((language): readonly string[] => {
  const found = new Set(['minus', 'negative', ...(rules('en')?.minus ?? []), ...(rules(language)?.minus ?? [])])
  return [...found].filter((word) => word !== '')
})
