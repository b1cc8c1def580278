import { confusableWith } from './confusable.js'
import type { Identifiers } from './types.js'

/** How much each opinion counts; fitted on one half of the sentences of docs/languages.md, reported on the other. */
export interface PosteriorWeights {
  eld: number
  cld: number
  letters: number
  /** Score of eld, below its best, of a language it does not know. */
  eldUnknown: number
  /** Log probability by cld3 of a language it does not know. */
  cldUnknown: number
  /** Least probability by cld3 of a language it knows. */
  cldLeast: number
  /** Log probability of the letters, below the best, of a language without a model; and the least of one with. */
  lettersUnknown: number
  lettersLeast: number
  /** Log of what an unexpected language is worth where some are expected. */
  unexpected: number
}

export const posteriorWeights: PosteriorWeights = {
  eld: 0.35,
  cld: 0.5,
  letters: 0.105,
  eldUnknown: -2.9,
  cldUnknown: -0.03,
  cldLeast: 0.00015,
  lettersUnknown: -14,
  lettersLeast: -41,
  unexpected: -4,
}

/** What the opinions on one text are, for the languages in question. */
export interface Opinions {
  /** Letters of the text. */
  letters: number
  eld: ReadonlyMap<string, number>
  cld: { language: string; probability: number } | null
  /** Log probability of the text's letters by language; left out where there is no model. */
  letterScores: ReadonlyMap<string, number>
}

/** Languages cld3 claims and takes for another more often than not. */
const cldBlind: Readonly<Record<string, string>> = { yo: 'vi' }

/** Probabilities of languages, the best first: a log-linear mixture of the opinions. */
export function posterior(
  pool: readonly string[],
  { letters, eld, cld, letterScores }: Opinions,
  { eld: first, cld: second }: Pick<Identifiers, 'eld' | 'cld'>,
  expected: ReadonlySet<string> | null,
  latin: boolean,
  weights: PosteriorWeights = posteriorWeights,
): Map<string, number> {
  const bestEld = eld.size > 0 ? Math.max(...eld.values()) : 0
  const worstEld = eld.size > 0 ? Math.min(...[...eld.values()].sort((a, b) => b - a).slice(0, 8)) - bestEld : 0
  const bestLetters = letterScores.size > 0 ? Math.max(...letterScores.values()) : 0
  const root = Math.sqrt(letters) / 10

  const eldKnows = (language: string): boolean => first.knows.has(baseOf(language)) && !(language === 'sr' && latin)
  const cldKnows = (language: string): boolean => second.knows.has(baseOf(language)) && !(language === 'sr' && latin)
  const eldScore = (language: string): number => Math.max(worstEld, (eld.get(baseOf(language)) ?? -Infinity) - bestEld)
  const cldScore = (language: string): number => {
    if (cld === null) return 0
    if (cld.language === language || cld.language === baseOf(language)) return Math.log(Math.max(cld.probability, 1e-3))
    if (cldBlind[baseOf(language)] === cld.language) return weights.cldUnknown
    return Math.log(Math.max((1 - cld.probability) / 3, weights.cldLeast))
  }
  /** A language an identifier does not know scores as what it is taken for does, a little less. */
  const byKnown = (
    language: string,
    knows: (language: string) => boolean,
    score: (language: string) => number,
    unknown: number,
  ): number => {
    if (knows(language)) return score(language)
    const taken = confusableWith(language).filter(knows).map(score)
    return Math.max(unknown, ...taken)
  }

  const logs = pool.map((language) => {
    const byEld = eld.size === 0 ? 0 : byKnown(language, eldKnows, eldScore, weights.eldUnknown)
    const byCld = byKnown(language, cldKnows, cldScore, weights.cldUnknown)
    const score = letterScores.get(language)
    const byLetters =
      letterScores.size === 0
        ? 0
        : score === undefined
          ? weights.lettersUnknown
          : Math.max(score - bestLetters, weights.lettersLeast)
    const prior = expected === null || expected.has(language) ? 0 : weights.unexpected
    return weights.eld * root * byEld + weights.cld * byCld + weights.letters * byLetters + prior
  })
  const top = Math.max(...logs)
  const sum = logs.reduce((total, log) => total + Math.exp(log - top), 0)
  return new Map(
    pool.map((language, i): [string, number] => [language, Math.exp(logs[i] - top) / sum]).sort((a, b) => b[1] - a[1]),
  )
}

function baseOf(tag: string): string {
  return tag.split('-')[0]
}
