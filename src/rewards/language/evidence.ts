import { createScriptCounter, languageInfo, normalizeText } from '../../text/index.js'

/** What a reply shows of its language before any identifier is asked. */
export interface LanguageEvidence {
  /** By words of a lexicon or by script; null: these say nothing. */
  verdict: boolean | null
  /** Prose long enough for an identifier, whose answer goes before the verdict; empty when the verdict stands. */
  rest: string
}

export interface LanguageQuestion {
  /** The policy's replies. */
  replies: readonly string[]
  /** What the problem said: its words carry no evidence. */
  given: readonly string[]
  /** The language asked for. */
  language: string
  /** Languages the reply might be in. */
  languages: readonly string[]
  /** Words of right replies, by language (see `Task.lexicon`). */
  lexicon?: Readonly<Record<string, readonly string[] | null>>
}

export type EvidenceJudge = (question: LanguageQuestion) => LanguageEvidence

/** Prose shorter than this is left to lexicon and script: identifiers guess on it. In letters. */
const enoughLetters = 12

/**
 * Makes the judge of words and scripts. It remembers lexicons (by identity) and the scripts of languages it has seen.
 *
 * 0. Where the lexicon says that replies carry no language (null), nothing is judged: a wrong form is a matter of format.
 * 1. Digits, punctuation and what the problem itself contains say nothing.
 * 2. A word of the asked language's lexicon is right; a word that only other languages' lexicons have is wrong. As many
 *    wrong words as right ones make the reply inconsistent.
 * 3. Of the other words, most letters must be in a script of the language.
 * 4. If those are enough for an identifier, it decides. Otherwise a right word, or a script that no other expected
 *    language uses, makes the reply consistent; and without either the reply says nothing.
 */
export function createEvidenceJudge(): EvidenceJudge {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' })
  const countScripts = createScriptCounter()
  const scriptsByLanguage = new Map<string, readonly string[]>()
  const lexicons = new WeakMap<object, ReadonlyMap<string, ReadonlySet<string>>>()

  const scriptsOf = (language: string): readonly string[] => {
    let scripts = scriptsByLanguage.get(language)
    if (scripts === undefined) scriptsByLanguage.set(language, (scripts = languageInfo(language).scripts))
    return scripts
  }
  const wordsOf = (text: string): string[] => {
    const words: string[] = []
    for (const { segment, isWordLike } of segmenter.segment(normalizeText(text, { foldCase: true })))
      if (isWordLike && /\p{L}/u.test(segment)) words.push(segment)
    return words
  }
  const lexiconSets = (lexicon: NonNullable<LanguageQuestion['lexicon']>): ReadonlyMap<string, ReadonlySet<string>> => {
    let sets = lexicons.get(lexicon)
    if (sets === undefined) {
      sets = new Map(Object.entries(lexicon).map(([tag, words]) => [tag, new Set((words ?? []).flatMap(wordsOf))]))
      lexicons.set(lexicon, sets)
    }
    return sets
  }

  return ({ replies, given, language, languages, lexicon }) => {
    // Judged only when wrong, such replies would count as wrong in every instance that counts.
    if (lexicon?.[language] === null) return { verdict: null, rest: '' }
    const words = replies.flatMap(wordsOf)
    if (words.length === 0) return { verdict: null, rest: '' }
    const sets = lexicon === undefined ? new Map<string, ReadonlySet<string>>() : lexiconSets(lexicon)
    const own = sets.get(language)
    const others = [...sets].filter(([tag]) => tag !== language).map(([, set]) => set)
    const known = new Set(given.flatMap(wordsOf))

    let right = 0
    let wrong = 0
    const rest: string[] = []
    for (const word of words) {
      if (own?.has(word)) right++
      else if (known.has(word)) continue
      else if (others.some((set) => set.has(word))) wrong++
      else rest.push(word)
    }
    if (wrong > 0 && wrong >= right) return { verdict: false, rest: '' }
    if (rest.length === 0) return { verdict: right > 0 ? true : null, rest: '' }

    const scripts = countScripts(rest.join(' '))
    const allowed = scriptsOf(language)
    let letters = 0
    let fitting = 0
    for (const [script, count] of scripts) {
      letters += count
      if (allowed.includes(script)) fitting += count
    }
    if (letters === 0) return { verdict: right > 0 ? true : null, rest: '' }
    if (2 * fitting <= letters) return { verdict: false, rest: '' }
    // Letters of a script that no other expected language uses are as good as words.
    const shared = languages.some(
      (tag) => tag !== language && scriptsOf(tag).some((script) => allowed.includes(script)),
    )
    // A single letter is a symbol and no word.
    const inWords = rest.some((word) => [...word].length > 1)
    const verdict = right > 0 || (!shared && inWords) ? true : null
    return { verdict, rest: letters >= enoughLetters && inWords ? rest.join(' ') : '' }
  }
}
