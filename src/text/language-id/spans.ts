import { canonicalTag } from '../languages.js'
import { createScriptCounter } from '../scripts.js'
import { createLanguageIdentifier, createScriptsOf } from './identify.js'
import { loadIdentifiers } from './identifiers.js'
import { posterior } from './posterior.js'
import type { Identifiers } from './types.js'

/** A stretch of a text in one language. */
export interface LanguageSpan {
  /** Where it begins and ends, in UTF-16 units; the end is behind it. Spans do not overlap and are in order. */
  start: number
  end: number
  /** Canonical tag; null for words whose language cannot be told. */
  language: string | null
  /** Mean over its words; 0 when null. */
  probability: number
  /** Words in it, without numbers, links and code. */
  words: number
  /** Letters in these words. */
  letters: number
}

export interface SpanOptions {
  /** Languages to expect. Without them those of the whole text, of its scripts and of its clauses are. */
  candidates?: readonly string[]
  /** Chance that the next word is in another language. Default 0.1. */
  switchRate?: number
  /** Of longer texts only the beginning is read. In UTF-16 units; default 20,000. */
  longest?: number
}

export type IdentifySpans = (text: string, options?: SpanOptions) => LanguageSpan[]

/**
 * Loads what `loadLanguageIdentifier` loads, and answers a function that finds where a text changes its language.
 *
 * @throws MyriadError 'io' when a package cannot be loaded
 * @example
 * const spans = (await loadSpanIdentifier())('I told her que no quiero ir', { candidates: ['en', 'es'] })
 * spans.map(({ language }) => language) // ['en', 'es']
 */
export async function loadSpanIdentifier(): Promise<IdentifySpans> {
  return createSpanIdentifier(await loadIdentifiers())
}

interface Word {
  start: number
  end: number
  text: string
  script: string
  letters: number
}

/** Not looked into: links, addresses, code between backticks, formulas between dollars, tags. */
const foreign =
  /```[\s\S]*?(?:```|$)|`[^`\n]{1,400}`|\$\$[\s\S]{1,2000}?\$\$|\$[^$\n]{1,200}\$|\b(?:https?:\/\/|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}|<\/?[a-z][^<>]{0,200}>|\\[a-z]+/gi

/** More languages than this are not told apart word by word. */
const mostLanguages = 12

/**
 * Words are split by script; the words of each script are a chain whose states are the languages written in it. What a word
 * says of a language is the mixture of `posterior` for the word and for the five words around it; a change costs
 * `switchRate`. The probabilities are those of the forward-backward algorithm (Rabiner 1989). Pure, given the identifiers.
 */
export function createSpanIdentifier(identifiers: Identifiers): IdentifySpans {
  const identify = createLanguageIdentifier(identifiers)
  const countScripts = createScriptCounter()
  const scriptsOf = createScriptsOf()
  const fits = (tag: string, script: string): boolean =>
    scriptsOf(tag).length === 0 ||
    scriptsOf(tag).includes(script) ||
    (script === 'Jpan' && scriptsOf(tag).includes('Hira'))

  return (text, { candidates, switchRate = 0.1, longest = 20_000 } = {}) => {
    const words = wordsOf(text.slice(0, longest))
    const told: { language: string | null; probability: number }[] = words.map(() => ({
      language: null,
      probability: 0,
    }))
    const byScript = new Map<string, number[]>()
    words.forEach(({ script }, i) => {
      const places = byScript.get(script)
      if (places) places.push(i)
      else byScript.set(script, [i])
    })
    for (const [script, places] of byScript) {
      const own = places.map((i) => words[i])
      const languages = languagesOf(own, script, candidates?.map(canonicalTag))
      if (languages.length === 0) continue
      const chain = languages.length === 1 ? own.map(() => [1]) : smooth(emissions(own, languages, script), switchRate)
      places.forEach((place, k) => {
        const best = chain[k].indexOf(Math.max(...chain[k]))
        if (chain[k][best] >= 0.5) told[place] = { language: languages[best], probability: chain[k][best] }
      })
    }
    return merge(words, told)
  }

  function wordsOf(text: string): Word[] {
    const prose = text.replace(foreign, (match) => ' '.repeat(match.length))
    const words: Word[] = []
    for (const { segment, index, isWordLike } of new Intl.Segmenter('en', { granularity: 'word' }).segment(prose)) {
      if (!isWordLike || !/\p{L}/u.test(segment) || /\p{N}/u.test(segment)) continue
      const [main] = [...countScripts(segment)].sort((a, b) => b[1] - a[1])
      if (main === undefined) continue
      const letters = segment.match(/\p{L}/gu)?.length ?? 0
      words.push({ start: index, end: index + segment.length, text: segment, script: main[0], letters })
    }
    // Han characters beside kana are Japanese, whatever stands further off: a run of both is one script.
    for (let i = 0; i < words.length;) {
      let end = i
      while (end < words.length && eastern.has(words[end].script) && touches(words, i, end, prose)) end++
      const run = words.slice(i, end)
      if (run.some(({ script }) => script !== 'Hani')) for (const word of run) word.script = 'Jpan'
      i = Math.max(end, i + 1)
    }
    return words
  }

  function languagesOf(words: readonly Word[], script: string, candidates: readonly string[] | undefined): string[] {
    const expected = candidates?.filter((tag) => fits(tag, script)) ?? []
    if (expected.length > 0) return expected.slice(0, mostLanguages)
    const whole = words.map(({ text }) => text).join(' ')
    const found = new Set<string>()
    const look = (part: string): void => {
      const { language } = identify(part)
      if (language !== null) found.add(language)
    }
    look(whole)
    const step = Math.max(4, Math.ceil(words.length / 60))
    for (let i = 0; i < words.length; i += step)
      look(
        words
          .slice(i, i + step + 2)
          .map(({ text }) => text)
          .join(' '),
      )
    return [...found].slice(0, mostLanguages)
  }

  /** Log probability of each language by word and surroundings: [words, languages]. */
  function emissions(words: readonly Word[], languages: readonly string[], script: string): number[][] {
    const seen = new Map<string, number[]>()
    const of = (part: string): number[] => {
      let logs = seen.get(part)
      if (logs === undefined) seen.set(part, (logs = opinion(part, languages, script)))
      return logs
    }
    return words.map(({ text }, i) => {
      const alone = of(text)
      const around = of(
        words
          .slice(Math.max(0, i - 2), i + 3)
          .map(({ text: word }) => word)
          .join(' '),
      )
      return languages.map((_, k) => 0.6 * alone[k] + 0.4 * around[k])
    })
  }

  function opinion(part: string, languages: readonly string[], script: string): number[] {
    const letters = part.match(/\p{L}/gu)?.length ?? 1
    const letterScores = new Map<string, number>()
    for (const language of languages) {
      const mean = identifiers.letters(part, language, script === 'Jpan' ? 'Hira' : script)
      if (mean !== null) letterScores.set(language, mean * letters)
    }
    const eld = new Map([...identifiers.eld.scores(part)].filter(([tag]) => languages.includes(tag)))
    const heard = letters < 6 ? null : identifiers.cld.detect(part)
    const cld = heard && languages.includes(heard.language) ? heard : null
    const found = posterior(languages, { letters, eld, cld, letterScores }, identifiers, null, script === 'Latn', {
      eld: 0.8,
      cld: 0.5,
      letters: 0.35,
      eldUnknown: -6,
      cldUnknown: -1,
      cldLeast: 0.01,
      lettersUnknown: -8,
      lettersLeast: -12,
      unexpected: 0,
    })
    return languages.map((language) => Math.log(Math.max(found.get(language) ?? 0, 1e-6)))
  }
}

const eastern: ReadonlySet<string> = new Set(['Hani', 'Hira', 'Kana'])

/** Whether nothing but spaces and marks within a sentence stands between the words. */
function touches(words: readonly Word[], from: number, at: number, text: string): boolean {
  return at === from || !/[.!?。！？\n]/u.test(text.slice(words[at - 1].end, words[at].start))
}

/** Forward-backward over a chain that changes its state with a given chance: probabilities, [words, states]. */
function smooth(logs: readonly (readonly number[])[], switchRate: number): number[][] {
  const states = logs[0].length
  const change = switchRate / Math.max(1, states - 1)
  const step = (from: readonly number[]): number[] => {
    const sum = from.reduce((a, b) => a + b, 0)
    return from.map((value) => value * (1 - switchRate) + (sum - value) * change)
  }
  const normal = (values: readonly number[]): number[] => {
    const sum = values.reduce((a, b) => a + b, 0)
    return values.map((value) => value / sum)
  }
  const chances = logs.map((row) => {
    const top = Math.max(...row)
    return row.map((value) => Math.exp(value - top))
  })
  const forward: number[][] = []
  for (let i = 0; i < chances.length; i++) {
    const before = i === 0 ? chances[0].map(() => 1 / states) : step(forward[i - 1])
    forward.push(normal(before.map((value, k) => value * chances[i][k])))
  }
  let backward = chances[0].map(() => 1)
  const both: number[][] = []
  for (let i = chances.length - 1; i >= 0; i--) {
    both[i] = normal(forward[i].map((value, k) => value * backward[k]))
    backward = normal(step(backward.map((value, k) => value * chances[i][k])))
  }
  return both
}

function merge(
  words: readonly Word[],
  told: readonly { language: string | null; probability: number }[],
): LanguageSpan[] {
  const spans: LanguageSpan[] = []
  words.forEach(({ start, end, letters }, i) => {
    const { language, probability } = told[i]
    const last = spans.at(-1)
    if (last !== undefined && last.language === language) {
      last.probability = (last.probability * last.words + probability) / (last.words + 1)
      last.words++
      last.letters += letters
      last.end = end
    } else spans.push({ start, end, language, probability, words: 1, letters })
  })
  return spans
}
