import { MyriadError } from '../../core/index.js'
import { canonicalTag, languageInfo } from '../languages.js'
import { createScriptCounter } from '../scripts.js'
import { confusableWith } from './confusable.js'
import { loadIdentifiers } from './identifiers.js'
import { posterior } from './posterior.js'
import { lettersOfWords, looksLikeCode, looksLikeNames, proseOf } from './prose.js'
import type { Identification, IdentificationReason, Identifiers, IdentifyLanguage } from './types.js'

/**
 * Loads the identifiers eld (60 languages, its smallest model) and cld3 (107) and answers a function that asks both, and
 * where they leave a doubt the letters of the Universal Declaration. Takes some 200 ms and 100 MB, so load it when a text
 * needs it, once.
 *
 * The two agreeing is right in 98 to 99 percent (docs/languages.md). cld3 answers even for digits and emoji; eld names one
 * of its 60 languages whatever it reads. Hence: agreement is a gate, candidates are a prior, and silence is allowed.
 *
 * @throws MyriadError 'io' when a package cannot be loaded.
 * @example
 * const identify = await loadLanguageIdentifier()
 * identify('Watu wote wamezaliwa huru', { candidates: ['en', 'sw', 'ja'] }).language // 'sw'
 */
export async function loadLanguageIdentifier(): Promise<IdentifyLanguage> {
  return createLanguageIdentifier(await loadIdentifiers())
}

/** Fewer letters than this carry too little; syllables and logograms carry more each. */
const leastLetters = { alphabet: 10, syllabary: 3 }
const dense: ReadonlySet<string> = new Set(['Hani', 'Hira', 'Kana', 'Hang', 'Yiii', 'Ethi'])
/** Mean log probability of a letter below which no language writes so; larger alphabets leave too much unseen. */
const leastLikely: Readonly<Record<string, number>> = { Latn: -4, Cyrl: -4.6 }

/** The rules by which two identifiers, letters and the script of a text decide. Pure, given the identifiers. */
export function createLanguageIdentifier(identifiers: Identifiers): IdentifyLanguage {
  const { eld, cld } = identifiers
  const countScripts = createScriptCounter()
  const scriptsOf = createScriptsOf()
  const known = new Set([...eld.knows, ...cld.knows])
  const knownByScript = new Map<string, string[]>()
  for (const language of known) {
    const [usual] = scriptsOf(language)
    for (const script of ['Hira', 'Kana', 'Hani'].includes(usual) ? scriptsOf(language) : [usual])
      knownByScript.set(script, [...(knownByScript.get(script) ?? []), language])
  }

  return (text, { candidates, least = 0.5, groups = false } = {}) => {
    const prose = proseOf(text)
    const scripts = countScripts(prose)
    const none = (reason: IdentificationReason, probabilities = new Map<string, number>()): Identification => ({
      language: null,
      probability: 0,
      reason,
      group: [],
      probabilities,
      scripts,
    })
    const onlyOne = (language: string, probability: number): Identification => ({
      ...none('script', new Map([[language, probability]])),
      language,
      probability,
      group: confusableWith(language),
    })
    const script = mainScript(scripts)
    if (script === null) return none('too short')
    if (looksLikeCode(text)) return none('not prose')

    const fits = (tag: string): boolean => scriptsOf(tag).length === 0 || scriptsOf(tag).includes(script)
    const expected = candidates && new Set(candidates.map(canonicalTag).filter(fits))
    const readers = new Set([...(knownByScript.get(script) ?? []), ...(expected ?? [])])
    const byScript = soleReader(script, readers, expected)
    const letters = Math.min(
      [...scripts.values()].reduce((a, b) => a + b, 0),
      lettersOfWords(prose),
    )
    const tooShort = letters < (dense.has(script) ? leastLetters.syllabary : leastLetters.alphabet)
    if (byScript !== null && (!tooShort || expected?.has(byScript))) return onlyOne(byScript, 1)
    // Too little for an identifier: an expected language that no other expected one shares its script with is likeliest.
    if (tooShort && script !== 'Latn' && expected?.size === 1) return onlyOne([...expected][0], 0.9)
    if (tooShort) return none('too short')
    if (looksLikeNames(prose)) return none('names')

    const first = new Map([...eld.scores(prose)].filter(([tag]) => fits(tag)))
    const second = cldOpinion(prose, fits)
    const pool = poolOf(first, second, expected, fits, script)
    if (pool.length === 0) return none('unknown script')
    const [firstBest] = [...first].sort((a, b) => b[1] - a[1])[0] ?? [null]
    const agreed = firstBest !== null && firstBest === second?.language ? firstBest : null
    const letterScores = new Map<string, number>()
    let likeliest = -Infinity
    const own = wordsIn(script, prose)
    // Agreement stands, unless the language is taken for others that are known or expected.
    const doubted =
      agreed === null || confusableWith(agreed).some((tag) => tag !== agreed && (known.has(tag) || expected?.has(tag)))
    for (const language of doubted ? pool : [agreed]) {
      const mean = identifiers.letters(own, language, script)
      if (mean === null) continue
      letterScores.set(language, mean * letters)
      likeliest = Math.max(likeliest, mean)
    }
    if (letterScores.size > 0 && likeliest < (leastLikely[script] ?? -Infinity)) return none('nonsense')
    if (!doubted) letterScores.clear()

    const probabilities = posterior(
      pool,
      { letters, eld: first, cld: second, letterScores },
      identifiers,
      expected ?? null,
      script === 'Latn',
    )
    const best = bestOf(probabilities, groups, expected ?? null)
    const unexpected = expected !== undefined && !expected.has(best.language)
    if (best.probability < least || (unexpected && agreed !== best.language)) return none('disagreement', probabilities)
    const reason = agreed === best.language ? 'agreement' : 'one identifier'
    return { ...none(reason, probabilities), ...best, group: confusableWith(best.language) }
  }

  function cldOpinion(prose: string, fits: (tag: string) => boolean): { language: string; probability: number } | null {
    const opinion = cld.detect(prose)
    return opinion && fits(opinion.language) ? opinion : null
  }

  /** Languages in question: what the identifiers say, what is taken for that, and what is expected. */
  function poolOf(
    first: ReadonlyMap<string, number>,
    second: { language: string } | null,
    expected: ReadonlySet<string> | undefined,
    fits: (tag: string) => boolean,
    script: string,
  ): string[] {
    const best = [...first].sort((a, b) => b[1] - a[1]).slice(0, 4)
    const named = [...best.map(([tag]) => tag), ...(second ? [second.language] : [])]
    const taken = named
      .slice(0, 1)
      .concat(named.slice(-1))
      .flatMap((tag) => confusableWith(tag))
    const pool = [
      ...named,
      ...taken.filter((tag) => known.has(tag) && !(tag === 'sr' && script === 'Latn')),
      ...(expected ?? []),
    ].filter(fits)
    // Where a variant is expected (`zh-Hant`), the plain tag of the identifiers means it.
    const variants = new Map([...(expected ?? [])].map((tag) => [tag.split('-')[0], tag]))
    return [...new Set(pool.map((tag) => variants.get(tag) ?? tag))]
  }
}

const scriptPatterns = new Map<string, RegExp>()

/** The words of a text that are in a script. */
function wordsIn(script: string, prose: string): string {
  let pattern = scriptPatterns.get(script)
  if (pattern === undefined) {
    const name = ['Hira', 'Kana', 'Hani'].includes(script)
      ? '[\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hani}]'
      : `\\p{Script=${script}}`
    scriptPatterns.set(script, (pattern = new RegExp(name, 'u')))
  }
  return prose
    .split(/\s+/u)
    .filter((word) => pattern.test(word))
    .join(' ')
}

/** The script of most letters; kana in a text of Han characters make it Japanese. */
function mainScript(scripts: ReadonlyMap<string, number>): string | null {
  const [main] = [...scripts].sort((a, b) => b[1] - a[1])
  if (main === undefined) return null
  const kana = (scripts.get('Hira') ?? 0) + (scripts.get('Kana') ?? 0)
  return main[0] === 'Hani' && kana * 10 > main[1] ? 'Hira' : main[0]
}

/** The one language known or expected in a script; Latin letters alone never prove anything. */
function soleReader(
  script: string,
  readers: ReadonlySet<string>,
  expected: ReadonlySet<string> | undefined,
): string | null {
  if (script === 'Latn') return null
  const of = expected !== undefined && expected.size > 0 ? expected : readers
  const bases = new Set([...of].map((tag) => tag.split('-')[0]))
  // An expected language in a script that others share may still be wrong: the identifiers are asked.
  if (bases.size !== 1 || (of === expected && readers.size > 1)) return null
  return [...of][0]
}

function bestOf(
  probabilities: ReadonlyMap<string, number>,
  groups: boolean,
  expected: ReadonlySet<string> | null,
): { language: string; probability: number } {
  const [[language, probability]] = probabilities
  if (!groups) return { language, probability }
  const close = confusableWith(language, 'close')
  const members = [...probabilities].filter(([tag]) => tag === language || close.includes(tag.split('-')[0]))
  const [likeliest] = members.find(([tag]) => expected?.has(tag)) ?? [language]
  return { language: likeliest, probability: members.reduce((sum, [, value]) => sum + value, 0) }
}

/** Scripts of languages, remembered; empty, meaning any, for one that CLDR has not heard of. `hi-Latn` is in Latin letters. */
export function createScriptsOf(): (tag: string) => readonly string[] {
  const seen = new Map<string, readonly string[]>()
  return (tag) => {
    let scripts = seen.get(tag)
    if (scripts === undefined) {
      try {
        scripts = languageInfo(tag).scripts
      } catch (error) {
        if (!(error instanceof MyriadError)) throw error
        scripts = []
      }
      seen.set(tag, scripts)
    }
    return scripts
  }
}
