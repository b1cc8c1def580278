/** Languages that are taken for one another. */
export interface ConfusableGroup {
  /** Canonical tags. */
  languages: readonly string[]
  /** `close`: a sentence does not tell them apart. `unknown`: an identifier lacks some, and answers another of them. */
  kind: 'close' | 'unknown'
  why: string
  /**
   * Percent of sentences of ten words that were answered by another of the group (among the three commonest mistakes), by language, no languages being
   * expected (benchmarks/results/language-id.json); only languages that the sentences have.
   */
  confusion: Readonly<Record<string, number>>
}

/** Languages that cannot be told apart by a sentence, or that an identifier answers by another's name. */
export const confusableGroups: readonly ConfusableGroup[] = [
  {
    languages: ['hr', 'bs', 'sr', 'cnr'],
    kind: 'close',
    why: 'one language by grammar; only its Cyrillic sets Serbian apart, and Serbian in Latin letters is never named unexpected',
    confusion: { bs: 32, hr: 46, sr: 2, 'sr-Latn': 98 },
  },
  { languages: ['id', 'ms'], kind: 'close', why: 'both are Malay and share most words', confusion: { id: 19, ms: 28 } },
  {
    languages: ['no', 'nb', 'nn', 'da'],
    kind: 'close',
    why: 'Bokmål grew out of written Danish; no identifier here knows Nynorsk',
    confusion: { da: 4, nn: 1, no: 7 },
  },
  {
    languages: ['zh', 'yue', 'wuu', 'gan', 'hak', 'nan', 'lzh'],
    kind: 'close',
    why: 'in Han characters all are answered as Chinese',
    confusion: { zh: 0 },
  },
  { languages: ['zu', 'xh'], kind: 'close', why: 'Nguni languages; eld knows neither', confusion: { xh: 5, zu: 0 } },
  { languages: ['st', 'nso', 'tn'], kind: 'close', why: 'cld3 knows Southern Sotho, eld none', confusion: { nso: 56 } },
  { languages: ['rw', 'rn'], kind: 'close', why: 'one continuum; neither is known', confusion: {} },
  { languages: ['gl', 'pt'], kind: 'unknown', why: 'eld lacks Galician', confusion: { gl: 3, pt: 1 } },
  {
    languages: ['es', 'ast', 'an', 'gl'],
    kind: 'unknown',
    why: 'Asturian and Aragonese are lacking',
    confusion: { an: 84, ast: 89, es: 3, gl: 1 },
  },
  { languages: ['ca', 'oc'], kind: 'unknown', why: 'Occitan is lacking', confusion: { ca: 0, oc: 71 } },
  {
    languages: ['it', 'co', 'fur'],
    kind: 'unknown',
    why: 'Friulian is lacking, eld lacks Corsican',
    confusion: { co: 3, fur: 65, it: 0 },
  },
  {
    languages: ['nl', 'af', 'fy', 'nds', 'li'],
    kind: 'unknown',
    why: 'eld knows Dutch only',
    confusion: { af: 0, nl: 1 },
  },
  {
    languages: ['hi', 'mr', 'ne', 'mai', 'bho', 'awa', 'mag'],
    kind: 'unknown',
    why: 'eld lacks Nepali; Maithili and its neighbours are lacking',
    confusion: { hi: 1, mai: 78, mr: 0, ne: 0 },
  },
  { languages: ['bn', 'as'], kind: 'unknown', why: 'Assamese is lacking', confusion: { as: 100, bn: 0 } },
  {
    languages: ['tr', 'az', 'crh'],
    kind: 'unknown',
    why: 'Crimean Tatar is lacking',
    confusion: { az: 0, crh: 86, tr: 0 },
  },
  { languages: ['is', 'fo'], kind: 'unknown', why: 'Faroese is lacking', confusion: { is: 0 } },
  {
    languages: ['fa', 'ar', 'ckb', 'ps', 'ug'],
    kind: 'unknown',
    why: 'Sorani and Uyghur are lacking',
    confusion: { ar: 0, ckb: 100, fa: 0, ug: 96 },
  },
  {
    languages: ['ru', 'tt', 'ba', 'ky', 'kk'],
    kind: 'unknown',
    why: 'Tatar and Bashkir are lacking',
    confusion: { kk: 0, ru: 0, tt: 93 },
  },
  { languages: ['fr', 'wa'], kind: 'unknown', why: 'Walloon is lacking', confusion: { fr: 0, wa: 14 } },
  {
    languages: ['sr', 'mk', 'bg'],
    kind: 'unknown',
    why: 'eld lacks Macedonian',
    confusion: { bg: 0, mk: 0, sr: 1, 'sr-Latn': 0 },
  },
]

const partners = { close: index('close'), all: index() }

function index(kind?: ConfusableGroup['kind']): ReadonlyMap<string, readonly string[]> {
  const all = new Map<string, string[]>()
  for (const { languages, kind: own } of confusableGroups)
    if (kind === undefined || own === kind)
      for (const language of languages) all.set(language, [...new Set([...(all.get(language) ?? []), ...languages])])
  return all
}

/**
 * The languages a language is taken for, itself included; empty when it stands alone. `close`: only those that a sentence
 * does not tell apart.
 *
 * @example confusableWith('hr', 'close') // ['hr', 'bs', 'sr', 'cnr']
 */
export function confusableWith(language: string, kind: 'close' | 'all' = 'all'): readonly string[] {
  return partners[kind].get(baseOf(language)) ?? []
}

/** Whether two tags name one language, or languages that a sentence does not tell apart; scripts and regions do not matter. */
export function isConfusable(a: string, b: string): boolean {
  return baseOf(a) === baseOf(b) || confusableWith(a, 'close').includes(baseOf(b))
}

function baseOf(tag: string): string {
  return tag.split('-', 1)[0]
}
