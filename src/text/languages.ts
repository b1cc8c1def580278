import { MyriadError } from '../core/index.js'
import { readCldrCore } from './cldr.js'
import { languageFamily } from './language-families.js'
import { resourceClass } from './language-resources.js'

/** What CLDR knows of a language. */
export interface LanguageInfo {
  /** Canonical BCP 47 tag (`swh` becomes `sw`). */
  tag: string
  /** In English, e.g. `Yoruba`. */
  name: string
  /** In the language itself, e.g. `Èdè Yorùbá`; the English name where CLDR has none. */
  nativeName: string
  /** Scripts of its texts (ISO 15924), the usual one first; Japanese has three. */
  scripts: readonly string[]
  direction: 'ltr' | 'rtl'
  /** Numbering system (`latn`, `deva`, ...) of the script's own digits; `latn` where it has none. */
  numberingSystem: string
  /** Those ten digits, from zero. */
  digits: readonly string[]
  /** How much locale data Unicode has gathered; null for a language it lists without data. */
  coverage: 'modern' | 'moderate' | 'basic' | null
  /** In English, as `Indo-European`; null for isolates. */
  family: string | null
  /** How well supplied with data it was in 2020, 0 to 5 (Joshi et al., arXiv 2004.09095); null where it is not listed. */
  resources: number | null
}

interface NumberingSystems {
  supplemental: { numberingSystems: Record<string, { _type: string; _digits?: string }> }
}
interface LanguageData {
  supplemental: { languageData: Record<string, { _scripts?: string[] }> }
}
interface ScriptMetadata {
  scriptMetadata: Record<string, { rtl: string }>
}
interface CoverageLevels {
  effectiveCoverageLevels: Record<string, 'modern' | 'moderate' | 'basic'>
}

/**
 * Looks a language up in CLDR and `Intl`.
 *
 * @throws MyriadError 'usage' when the tag is not well-formed BCP 47 or CLDR has never heard of the language.
 * @example languageInfo('yo').nativeName // 'Èdè Yorùbá'
 */
export function languageInfo(tag: string): LanguageInfo {
  const locale = canonical(tag)
  const base = locale.language
  const { languageData } = readCldrCore<LanguageData>('supplemental/languageData.json').supplemental
  const likely = locale.maximize().script
  const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
  const name = names.of(locale.toString())
  if (name === undefined || (likely === undefined && languageData[base] === undefined))
    throw new MyriadError('usage', `language "${tag}" is not known to CLDR; use a BCP 47 tag such as "sw" or "zh-Hant"`)

  const written = locale.script ? [locale.script] : [likely, ...(languageData[base]?._scripts ?? [])]
  const scripts = [...new Set(written.filter((script) => script !== undefined).flatMap(unicodeScripts))]
  const { scriptMetadata } = readCldrCore<ScriptMetadata>('scriptMetadata.json')
  const numberingSystem = numberingSystemOf(locale, scripts[0])
  const { effectiveCoverageLevels } = readCldrCore<CoverageLevels>('coverageLevels.json')
  return {
    tag: locale.toString(),
    name,
    nativeName: new Intl.DisplayNames([locale.toString(), 'en'], { type: 'language' }).of(locale.toString()) ?? name,
    scripts,
    direction: scriptMetadata[scripts[0]]?.rtl === 'YES' ? 'rtl' : 'ltr',
    numberingSystem,
    digits: Array.from(numberingSystems()[numberingSystem]?._digits ?? '0123456789'),
    coverage: effectiveCoverageLevels[locale.toString()] ?? effectiveCoverageLevels[base] ?? null,
    family: languageFamily(base),
    resources: resourceClass(base),
  }
}

/** Every base language CLDR has locale data for, sorted: what the registry surely knows. */
export function listLanguages(): string[] {
  const { effectiveCoverageLevels } = readCldrCore<CoverageLevels>('coverageLevels.json')
  return [...new Set(Object.keys(effectiveCoverageLevels).map((tag) => tag.split('-')[0]))].sort()
}

/** The canonical form of a tag: `swh` is `sw`, `zh-hant` is `zh-Hant`. */
export function canonicalTag(tag: string): string {
  return canonical(tag).toString()
}

function canonical(tag: string): Intl.Locale {
  try {
    return new Intl.Locale(tag)
  } catch (error) {
    throw new MyriadError('usage', `"${tag}" is not a language tag; use BCP 47, such as "sw" or "zh-Hant"`, {
      cause: error,
    })
  }
}

/** CLDR names some combinations of scripts, and variants; the characters of a text are in these. */
function unicodeScripts(script: string): string[] {
  const parts: Record<string, string[]> = {
    Jpan: ['Hira', 'Kana', 'Hani'],
    Kore: ['Hang', 'Hani'],
    Hans: ['Hani'],
    Hant: ['Hani'],
    Hanb: ['Hani', 'Bopo'],
    Hrkt: ['Hira', 'Kana'],
    Aran: ['Arab'],
    Latf: ['Latn'],
    Latg: ['Latn'],
    Cyrs: ['Cyrl'],
    Syre: ['Syrc'],
    Syrj: ['Syrc'],
    Syrn: ['Syrc'],
  }
  return parts[script] ?? [script]
}

function numberingSystems(): Record<string, { _type: string; _digits?: string }> {
  return readCldrCore<NumberingSystems>('supplemental/numberingSystems.json').supplemental.numberingSystems
}

// Languages in Arabic script whose digits have the eastern shapes though their default is Latin.
const easternDigits: readonly string[] = ['fa', 'ks', 'ps', 'ur']

function numberingSystemOf(locale: Intl.Locale, script: string): string {
  const usual = new Intl.NumberFormat(locale.toString()).resolvedOptions().numberingSystem
  if (usual !== 'latn') return usual
  if (script === 'Arab' && easternDigits.includes(locale.language)) return 'arabext'
  const own = script.toLowerCase()
  return numberingSystems()[own]?._type === 'numeric' ? own : 'latn'
}
