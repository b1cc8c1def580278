/** Why a language was named, or why none was. */
export type IdentificationReason =
  /** Both identifiers name it. */
  | 'agreement'
  /** One names it, and the other does not know it or is outweighed. */
  | 'one identifier'
  /** No other language that is known or expected is written so. */
  | 'script'
  /** Too few letters, or too few different words. */
  | 'too short'
  /** Program text, markup, JSON. */
  | 'not prose'
  /** Nothing but capitalised words. */
  | 'names'
  /** Letters in an order that the language it looks most like does not have. */
  | 'nonsense'
  /** No language is probable enough. */
  | 'disagreement'
  /** Nothing known or expected is written in this script. */
  | 'unknown script'

/** What a text says about its language. */
export interface Identification {
  /** Canonical tag, or null: not enough to say. */
  language: string | null
  /** Of the language, or of its group where groups were asked for; 0 when null. */
  probability: number
  /** What decided, or why nothing did. */
  reason: IdentificationReason
  /** Languages that the one named is taken for, itself included (see `confusableGroups`); empty when it stands alone. */
  group: readonly string[]
  /** Of the languages that came into question, the best first; sums to 1, or empty when nothing was weighed. */
  probabilities: ReadonlyMap<string, number>
  /** Characters by script. */
  scripts: ReadonlyMap<string, number>
}

export interface IdentifyOptions {
  /** Languages to expect. Others are named only when both identifiers agree on one. */
  candidates?: readonly string[]
  /** Least probability to name a language at. Default 0.5. */
  least?: number
  /** Add up the languages that a sentence does not tell apart, and name its likeliest (an expected one, if any). Default false. */
  groups?: boolean
}

export type IdentifyLanguage = (text: string, options?: IdentifyOptions) => Identification

/** The two identifiers, each of which knows languages the other does not, and the letter models. */
export interface Identifiers {
  /** Scores of all the languages it knows that got any: mean of n-grams, above 0. */
  eld: { scores(text: string): ReadonlyMap<string, number>; knows: ReadonlySet<string> }
  /** One language with a probability, or null. */
  cld: { detect(text: string): { language: string; probability: number } | null; knows: ReadonlySet<string> }
  /** Mean log probability per letter of a text under a language's letters; null without a model. */
  letters(text: string, language: string, script: string): number | null
}
