import { MyriadError, messageOf } from '../core/index.js'
import { canonicalTag, languageInfo } from './languages.js'
import { createScriptCounter } from './scripts.js'

/** What a text says about its language. */
export interface Identification {
  /** Canonical tag, or null: not enough to say. */
  language: string | null
  /** What decided, or why nothing did. */
  reason: 'agreement' | 'one identifier' | 'script' | 'too short' | 'not prose' | 'disagreement' | 'unknown script'
  /** Characters by script. */
  scripts: ReadonlyMap<string, number>
}

export interface IdentifyOptions {
  /** Languages to expect. Others are named only when both identifiers agree on one. */
  candidates?: readonly string[]
}

export type IdentifyLanguage = (text: string, options?: IdentifyOptions) => Identification

/** One identifier's opinion. */
interface Opinion {
  language: string | null
  reliable: boolean
}

/** The two identifiers, each of which knows languages the other does not. */
export interface Identifiers {
  eld: {
    detect(text: string): Opinion
    best(text: string, candidates: readonly string[]): string | null
    knows: ReadonlySet<string>
  }
  cld: { detect(text: string): Opinion }
}

/**
 * Loads the identifiers eld (60 languages, its smallest model) and cld3 (107) and answers a function that asks both.
 * Takes some 200 ms and 100 MB, so load it when a text needs it, once.
 *
 * Measured behind the rules (software messages in 87 languages, 10 words): the two agreeing is right in 98 to 99 percent.
 * cld3 answers even for digits and emoji, and takes all Yoruba for Vietnamese; eld names one of its 60 languages
 * whatever it reads. Hence: agreement is a gate, candidates are a prior, and silence is allowed.
 *
 * @throws MyriadError 'io' when a package cannot be loaded.
 * @example
 * const identify = await loadLanguageIdentifier()
 * identify('Watu wote wamezaliwa huru', { candidates: ['en', 'sw', 'ja'] }).language // 'sw'
 */
export async function loadLanguageIdentifier(): Promise<IdentifyLanguage> {
  try {
    const [{ eld }, cld3] = await Promise.all([import('eld/extrasmall'), import('cld3-asm')])
    const own = eld.newInstance()
    // From 0 bytes: its default of 140 would leave every short text undecided.
    const cld = (await cld3.loadModule()).create(0, 1000)
    return createLanguageIdentifier({
      eld: {
        knows: new Set(Object.values(own.info().Languages)),
        detect: (text) => {
          const result = own.detect(text)
          return { language: result.language || null, reliable: result.isReliable() }
        },
        best: (text, candidates) => {
          const scores = own.detect(text).getScores()
          let best: string | null = null
          for (const tag of candidates) if (tag in scores && (best === null || scores[tag] > scores[best])) best = tag
          return best
        },
      },
      cld: {
        detect: (text) => {
          const { language, probability } = cld.findLanguage(text)
          return { language: language === 'und' ? null : language, reliable: probability > 0.9 }
        },
      },
    })
  } catch (error) {
    throw new MyriadError('io', `the language identifiers cannot be loaded: ${messageOf(error)}; run "npm ci"`, {
      cause: error,
    })
  }
}

/** Fewer letters than this carry too little; syllables and logograms carry more each. */
const leastLetters = { alphabet: 10, syllabary: 3 }
const dense: ReadonlySet<string> = new Set(['Hani', 'Hira', 'Kana', 'Hang', 'Yiii', 'Ethi'])
/** Languages cld3 claims and does not recognise. */
const blindSpots: ReadonlySet<string> = new Set(['yo'])

/** The rules by which two identifiers and the script of a text decide. Pure, given the identifiers. */
export function createLanguageIdentifier({ eld, cld }: Identifiers): IdentifyLanguage {
  const countScripts = createScriptCounter()
  const scriptsOfLanguage = remember((tag: string) => languageInfo(tag).scripts)

  return (text, { candidates } = {}) => {
    const prose = stripNonProse(text)
    const scripts = countScripts(prose)
    const main = [...scripts].sort((a, b) => b[1] - a[1])[0]
    const answer = (language: string | null, reason: Identification['reason']): Identification => ({
      language,
      reason,
      scripts,
    })
    if (main === undefined) return answer(null, 'too short')
    if (looksLikeCode(text)) return answer(null, 'not prose')

    const tags = candidates?.map(canonicalTag)
    const fitting = tags?.filter((tag) => scriptsOfLanguage(tag).includes(main[0]))
    const letters = [...scripts.values()].reduce((a, b) => a + b, 0)
    const tooShort = letters < (dense.has(main[0]) ? leastLetters.syllabary : leastLetters.alphabet)
    // One expected language in a script that few others use needs no identifier; Latin letters prove nothing.
    const byScript = fitting?.length === 1 && main[0] !== 'Latn' ? fitting[0] : null
    if (tooShort) return byScript ? answer(byScript, 'script') : answer(null, 'too short')

    const first = eld.detect(prose)
    const second = canonicalOpinion(cld.detect(prose))
    if (first.language !== null && first.language === second.language) return answer(first.language, 'agreement')
    if (fitting !== undefined && fitting.length === 0) return answer(null, 'unknown script')
    return decide(first, second, fitting ?? null, prose, byScript, answer)
  }

  function decide(
    first: Opinion,
    second: Opinion,
    fitting: readonly string[] | null,
    prose: string,
    byScript: string | null,
    answer: (language: string | null, reason: Identification['reason']) => Identification,
  ): Identification {
    const expected = (tag: string | null): tag is string => tag !== null && (fitting === null || fitting.includes(tag))
    // Each is believed alone about languages that the other does not know. What eld makes of a language it lacks is
    // often Yoruba, and of Yoruba cld3 makes Vietnamese: so cld3 goes first, and eld's Yoruba must be sure or so confirmed.
    const firstIsSure = first.reliable && expected(first.language) && !blindSpots.has(first.language)
    if (expected(second.language) && second.reliable && !eld.knows.has(second.language) && !firstIsSure)
      return answer(second.language, 'one identifier')
    if (expected(first.language) && blindSpots.has(first.language) && first.reliable && !expected(second.language))
      return answer(first.language, 'one identifier')
    if (fitting === null) return answer(null, 'disagreement')

    const best = eld.best(prose, fitting)
    if (best !== null && best === second.language) return answer(best, 'agreement')
    if (expected(first.language) && first.reliable && !expected(second.language))
      return answer(first.language, 'one identifier')
    if (expected(second.language) && second.reliable && !expected(first.language))
      return answer(second.language, 'one identifier')
    return byScript ? answer(byScript, 'script') : answer(null, 'disagreement')
  }
}

function canonicalOpinion({ language, reliable }: Opinion): Opinion {
  if (language === null) return { language, reliable }
  // cld3 has romanized Hindi and others as `hi-Latn`, and old codes such as `iw`.
  return { language: canonicalTag(language), reliable }
}

/** Links, addresses, numbers and codes such as `A4` say nothing about language. */
function stripNonProse(text: string): string {
  return text
    .normalize('NFC')
    .replace(/\b(?:https?:\/\/|www\.)\S+/gi, ' ')
    .replace(/[\w.+-]+@[\w-]+\.[\w.]+/g, ' ')
    .replace(/[\p{L}\p{M}]*\p{N}[\p{L}\p{M}\p{N}]*/gu, ' ')
    .replace(/[^\p{L}\p{M}\p{Zs}\n'’ʼ‘ー-]+/gu, ' ')
    .trim()
}

/** Brackets, operators and semicolons in plenty: source text or JSON. */
function looksLikeCode(text: string): boolean {
  const symbols = text.match(/[{}[\]();=<>\\|$#&_+*/]/g)?.length ?? 0
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  return symbols >= 4 && symbols * 6 > letters
}

function remember<T>(read: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = read(key)))
    return value
  }
}
