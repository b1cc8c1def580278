import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { punctuation } from './bert-text.js'
import { toByteSymbols } from './byte-level.js'
import { behaviorSchema, compilePattern, patternSchema, splitBy } from './split-pattern.js'

/** Pieces of a text, in order. */
export interface Pieces {
  readonly words: string[]
  /** Does the first piece begin where the text began? */
  readonly atStart: boolean
}

export interface PreTokenizer {
  /** Splits each piece further. */
  split(pieces: Pieces): Pieces
  /** Is every piece still to be written in byte symbols? Left to the model, so that words can be remembered as they are. */
  readonly toBytes: boolean
}

type Config = Readonly<Record<string, unknown>>

const sequenceSchema = z.looseObject({ pretokenizers: z.array(z.looseObject({ type: z.string() })) })
const splitSchema = z.looseObject({
  pattern: patternSchema,
  behavior: behaviorSchema,
  invert: z.boolean().default(false),
})
const byteLevelSchema = z.looseObject({
  add_prefix_space: z.boolean().default(true),
  use_regex: z.boolean().default(true),
})
const metaspaceSchema = z.looseObject({
  replacement: z.string().default('▁'),
  prepend_scheme: z.enum(['first', 'never', 'always']).optional(),
  // Older files say it so.
  add_prefix_space: z.boolean().optional(),
  split: z.boolean().default(true),
})
const digitsSchema = z.looseObject({ individual_digits: z.boolean().default(false) })
const punctuationSchema = z.looseObject({ behavior: behaviorSchema.default('Isolated') })
const delimiterSchema = z.looseObject({ delimiter: z.string() })
const fixedLengthSchema = z.looseObject({ length: z.int().positive() })

// The split of GPT-2.
const byteLevelPattern =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu
const wordCharacters = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}'
const wordOrSigns = new RegExp(`[${wordCharacters}]+|[^${wordCharacters}\\p{White_Space}]+`, 'gu')
const whiteSpace = /\p{White_Space}/gu

/** The kinds of `pre_tokenizer` in a tokenizer.json, and what each does. */
const kinds: Readonly<Record<string, (config: Config) => PreTokenizer>> = {
  Sequence: (config) => sequence(sequenceSchema.parse(config).pretokenizers.map(createPreTokenizer)),
  Split: (config) => {
    const { pattern, behavior, invert } = splitSchema.parse(config)
    if ('String' in pattern && pattern.String === '') return each((text) => Array.from(text))
    const compiled = compilePattern(pattern)
    return each((text) => splitBy(text, compiled, behavior, invert))
  },
  ByteLevel: (config) => {
    const { add_prefix_space: addSpace, use_regex: useRegex } = byteLevelSchema.parse(config)
    const split = each((text) => {
      const spaced = addSpace && !text.startsWith(' ') ? ` ${text}` : text
      return useRegex ? splitBy(spaced, byteLevelPattern, 'Isolated') : [spaced]
    })
    return { ...split, toBytes: true }
  },
  Metaspace: (config) => {
    const { replacement, prepend_scheme: named, add_prefix_space: old, split } = metaspaceSchema.parse(config)
    const scheme = named ?? (old === false ? 'never' : 'always')
    const beforeEach = compilePattern({ String: replacement })
    return each((text, atStart) => {
      const replaced = text.replaceAll(' ', replacement)
      const prepend = (scheme === 'always' || (scheme === 'first' && atStart)) && !replaced.startsWith(replacement)
      const whole = prepend ? replacement + replaced : replaced
      return split ? splitBy(whole, beforeEach, 'MergedWithNext') : [whole]
    })
  },
  BertPreTokenizer: () => sequence([removing(whiteSpace), each((text) => splitBy(text, punctuation, 'Isolated'))]),
  Whitespace: () => shortening(each((text) => splitBy(text, wordOrSigns, 'Removed', true))),
  WhitespaceSplit: () => removing(whiteSpace),
  CharDelimiterSplit: (config) => removing(compilePattern({ String: delimiterSchema.parse(config).delimiter })),
  Punctuation: (config) => {
    const { behavior } = punctuationSchema.parse(config)
    return each((text) => splitBy(text, punctuation, behavior))
  },
  Digits: (config) => {
    const behavior = digitsSchema.parse(config).individual_digits ? 'Isolated' : 'Contiguous'
    return each((text) => splitBy(text, /\p{N}/gu, behavior))
  },
  FixedLength: (config) => {
    const characters = new RegExp(`[^]{1,${fixedLengthSchema.parse(config).length}}`, 'gu')
    return each((text) => splitBy(text, characters, 'Isolated'))
  },
}

/** @throws MyriadError 'checkpoint' when the kind is unknown. */
export function createPreTokenizer(config: Config | null | undefined): PreTokenizer {
  if (!config) return { split: (pieces) => pieces, toBytes: false }
  const kind = kinds[String(config.type)]
  if (!kind)
    throw new MyriadError(
      'checkpoint',
      `pre_tokenizer ${JSON.stringify(config.type)} is not supported; these are: ${Object.keys(kinds).join(', ')}`,
    )
  return kind(config)
}

function each(split: (text: string, atStart: boolean) => string[]): PreTokenizer {
  return {
    split({ words, atStart }) {
      if (words.length === 1) return { words: split(words[0], atStart), atStart }
      const result: string[] = []
      words.forEach((word, i) => {
        for (const piece of split(word, atStart && i === 0)) result.push(piece)
      })
      return { words: result, atStart }
    },
    toBytes: false,
  }
}

/** Splits that leave text out: the first piece may then begin later than the text. */
function removing(delimiter: RegExp): PreTokenizer {
  return shortening(each((text) => splitBy(text, delimiter, 'Removed')))
}

function shortening(step: PreTokenizer): PreTokenizer {
  return {
    ...step,
    split(pieces) {
      const result = step.split(pieces)
      const kept = result.words.length > 0 && pieces.words[0].startsWith(result.words[0])
      return { words: result.words, atStart: pieces.atStart && kept }
    },
  }
}

function sequence(steps: readonly PreTokenizer[]): PreTokenizer {
  return {
    split: (pieces) =>
      steps.reduce((current, step, i) => {
        const next = step.split(current)
        const symbols = step.toBytes && i < steps.length - 1
        return symbols ? { ...next, words: next.words.map(toByteSymbols) } : next
      }, pieces),
    toBytes: steps.at(-1)?.toBytes ?? false,
  }
}
