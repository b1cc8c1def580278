import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { classOf, createBertNormalizer } from './bert-text.js'
import { toByteSymbols } from './byte-level.js'
import { readCharsmap } from './charsmap.js'
import { normalForm } from './normal-forms.js'
import { compilePattern, patternSchema } from './split-pattern.js'
import { marks } from './unicode-tables.js'

/** Rewrites text before it is split. */
export type Normalizer = (text: string) => string

type Config = Readonly<Record<string, unknown>>

const sequenceSchema = z.looseObject({ normalizers: z.array(z.looseObject({ type: z.string() })) })
const prependSchema = z.looseObject({ prepend: z.string() })
const replaceSchema = z.looseObject({ pattern: patternSchema, content: z.string() })
const stripSchema = z.looseObject({ strip_left: z.boolean().default(true), strip_right: z.boolean().default(true) })
const precompiledSchema = z.looseObject({ precompiled_charsmap: z.string().nullish() })

/** The kinds of `normalizer` in a tokenizer.json, and what each does. */
const kinds: Readonly<Record<string, (config: Config) => Normalizer>> = {
  Sequence: (config) => {
    const steps = sequenceSchema.parse(config).normalizers.map(createNormalizer)
    return (text) => steps.reduce((rewritten, step) => step(rewritten), text)
  },
  NFC: () => (text) => normalForm(text, 'NFC'),
  NFD: () => (text) => normalForm(text, 'NFD'),
  NFKC: () => (text) => normalForm(text, 'NFKC'),
  NFKD: () => (text) => normalForm(text, 'NFKD'),
  Lowercase: () => lowercase,
  StripAccents: () => (text) => text.replaceAll(anyMarks, ''),
  Strip: (config) => {
    const { strip_left: left, strip_right: right } = stripSchema.parse(config)
    return (text) => (right ? trimEnd : same)((left ? trimStart : same)(text))
  },
  Prepend: (config) => {
    const { prepend } = prependSchema.parse(config)
    return (text) => (text === '' ? '' : prepend + text)
  },
  Replace: (config) => {
    const { pattern, content } = replaceSchema.parse(config)
    if ('String' in pattern) return (text) => text.replaceAll(pattern.String, () => content)
    const compiled = compilePattern(pattern)
    return (text) => text.replaceAll(compiled, () => content)
  },
  Precompiled: (config) => {
    const table = precompiledSchema.parse(config).precompiled_charsmap
    return table ? readCharsmap(table) : same
  },
  Nmt: () => (text) => text.replaceAll(nmtRemoved, '').replaceAll(nmtSpaces, ' '),
  BertNormalizer: createBertNormalizer,
  ByteLevel: () => toByteSymbols,
}

/** @throws MyriadError 'checkpoint' when the kind is unknown. */
export function createNormalizer(config: Config | null | undefined): Normalizer {
  if (!config) return same
  const kind = kinds[String(config.type)]
  if (!kind)
    throw new MyriadError(
      'checkpoint',
      `normalizer ${JSON.stringify(config.type)} is not supported; these are: ${Object.keys(kinds).join(', ')}`,
    )
  return kind(config)
}

const anyMarks = classOf(marks, '+')

function same(text: string): string {
  return text
}

// White space is Unicode's property: JavaScript's \s and trim() count U+FEFF in and U+0085 out.
const spaceAtStart = /^\p{White_Space}+/u
const spaceAtEnd = /\p{White_Space}+$/u

/** Without white space (Unicode's property) at the start. */
export function trimStart(text: string): string {
  return text.replace(spaceAtStart, '')
}

/** Without white space (Unicode's property) at the end. */
export function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && spaceAtEnd.test(text[end - 1])) end--
  return text.slice(0, end)
}

/** Lower case by character: a sigma at the end of a word is like any other. */
export function lowercase(text: string): string {
  return text.replaceAll('Σ', 'σ').toLowerCase()
}

// SentencePiece's nmt rules: what is removed, and what becomes a space.
const nmtRemoved = setOf([1, 8], [0x0b, 0x0b], [0x0e, 0x1f], [0x7f, 0x7f], [0x8f, 0x8f], [0x9f, 0x9f])
const nmtSpaces = setOf(
  ...[9, 0x0a, 0x0c, 0x0d, 0x1680, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd].map((code): [number, number] => [
    code,
    code,
  ]),
  [0x200b, 0x200f],
)

function setOf(...ranges: readonly (readonly [number, number])[]): RegExp {
  const escape = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`
  return new RegExp(`[${ranges.map(([first, last]) => `${escape(first)}-${escape(last)}`).join('')}]`, 'g')
}
