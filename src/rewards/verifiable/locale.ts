const cached = <Value>(make: (language: string) => Value): ((language: string) => Value) => {
  const known = new Map<string, Value>()
  return (language) => {
    let value = known.get(language)
    if (value === undefined) known.set(language, (value = make(language)))
    return value
  }
}

/** A tag that Intl has data for: the one given, or English. */
export const intlTag = cached((language): string => {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language)[0] ?? 'en'
  } catch {
    return 'en' // no BCP 47 tag: nothing is known about how it writes numbers
  }
})

export interface NumberMarks {
  decimal: '.' | ','
  group: string
  /** Groups of digits are parted by white space. */
  spaced: boolean
}

/** How a language writes numbers in ASCII digits, by CLDR. */
export const numberMarks = cached((language): NumberMarks => {
  const parts = new Intl.NumberFormat(intlTag(language), { numberingSystem: 'latn' }).formatToParts(1234567.8)
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? ''
  return { decimal: part('decimal') === ',' ? ',' : '.', group: part('group'), spaced: /\s/u.test(part('group')) }
})

const samples = [1, 2, 3, 5, 11, 100]

/** Words that multiply a number ("million", "लाख", "万", Swahili "elfu"), by CLDR: lower case, to the power of ten. */
export const multipliers = cached((language): ReadonlyMap<string, number> => {
  const words = new Map<string, number>()
  for (const tag of new Set(['en', intlTag(language)])) {
    const format = new Intl.NumberFormat(tag, {
      notation: 'compact',
      compactDisplay: 'long',
      numberingSystem: 'latn',
      useGrouping: false,
    })
    for (let power = 3; power <= 14; power++)
      for (const sample of samples) {
        const parts = format.formatToParts(sample * 10 ** power)
        const word = parts.find(({ type }) => type === 'compact')?.value
        const shown = Number(parts.flatMap(({ type, value }) => (type === 'integer' ? [value] : [])).join(''))
        const times = Math.log10((sample * 10 ** power) / shown)
        if (word && Number.isInteger(Math.round(times * 1e9) / 1e9)) words.set(fold(word), Math.round(times))
      }
  }
  return words
})

/** Letters as they are compared: one case, compatibility forms as plain ones, no direction marks, joiners or soft hyphens. */
export function fold(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    .toLowerCase()
    .replace(/\s+/gu, ' ')
    .trim()
}

/** As `fold`, and without tone marks and accents on Latin letters, hamza on alef, nukta and the like left as they are. */
export function foldMarks(text: string): string {
  return fold(text)
    .normalize('NFD')
    .replace(/(?<=[a-z][\u0300-\u036f]*)[\u0300-\u036f]/gu, '')
    .normalize('NFC')
    .replace(/[أإآٱ]/gu, 'ا')
}

/** Words for "percent", by CLDR, folded. */
export const percentWords = cached((language): readonly string[] => {
  const words = new Set(['percent', 'per cent', 'pct'])
  for (const tag of ['en', intlTag(language)])
    for (const value of samples)
      for (const { type, value: word } of new Intl.NumberFormat(tag, {
        style: 'unit',
        unit: 'percent',
        unitDisplay: 'long',
      }).formatToParts(value))
        if (type === 'unit' && /\p{L}/u.test(word)) words.add(fold(word))
  return [...words].sort((a, b) => b.length - a.length)
})

const literals = (tag: string, type: 'conjunction' | 'disjunction'): string[] =>
  [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ].flatMap((items) =>
    new Intl.ListFormat(tag, { type })
      .formatToParts(items)
      .flatMap((part) => (part.type === 'literal' ? [part.value] : [])),
  )

/** What stands between the members of a list ("and", "y", "और", "、"), by CLDR: words only, and "or" for alternatives. */
export const listWords = cached((language): { and: readonly string[]; or: readonly string[] } => {
  const words = (type: 'conjunction' | 'disjunction'): string[] => {
    const found = ['en', intlTag(language)]
      .flatMap((tag) => literals(tag, type))
      .map((word) => word.replace(/^[,،、，]/u, ''))
    return [...new Set(found.map(fold))].filter((word) => /^[\p{L}\p{M}]+$/u.test(word))
  }
  return { and: words('conjunction'), or: words('disjunction') }
})

/** Is this list word written onto the next one, as Arabic و is? */
export const joinsNext = (word: string): boolean => word === 'و'

export { cached }
