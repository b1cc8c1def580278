import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { tokenBytes } from './byte-level.js'
import { compilePattern, patternSchema } from './split-pattern.js'

/** One step from tokens to text: tokens in, fewer or rewritten tokens out; joined they are the text. */
export type DecodeStep = (tokens: string[]) => string[]

type Config = Readonly<Record<string, unknown>>

const sequenceSchema = z.looseObject({ decoders: z.array(z.looseObject({ type: z.string() })) })
const replaceSchema = z.looseObject({ pattern: patternSchema, content: z.string() })
const stripSchema = z.looseObject({ content: z.string(), start: z.int().default(0), stop: z.int().default(0) })
const wordPieceSchema = z.looseObject({ prefix: z.string().default('##'), cleanup: z.boolean().default(true) })
const suffixSchema = z.looseObject({ suffix: z.string().default('</w>') })
const metaspaceSchema = z.looseObject({
  replacement: z.string().default('▁'),
  prepend_scheme: z.enum(['first', 'never', 'always']).optional(),
  add_prefix_space: z.boolean().optional(),
})

/** The kinds of `decoder` in a tokenizer.json, and what each does. */
const kinds: Readonly<Record<string, (config: Config) => DecodeStep>> = {
  Sequence: (config) => {
    const steps = sequenceSchema.parse(config).decoders.map(createDecodeStep)
    return (tokens) => steps.reduce((current, step) => step(current), tokens)
  },
  ByteLevel: () => {
    const utf8 = new TextEncoder()
    return (tokens) => [fromUtf8(tokens.map((token) => tokenBytes(token) ?? utf8.encode(token)))]
  },
  ByteFallback: () => byteFallback,
  Fuse: () => (tokens) => [tokens.join('')],
  Replace: (config) => {
    const { pattern, content } = replaceSchema.parse(config)
    if ('String' in pattern) {
      const literal = pattern.String
      return (tokens) =>
        tokens.map((token) => (token.includes(literal) ? token.replaceAll(literal, () => content) : token))
    }
    const compiled = compilePattern(pattern)
    return (tokens) => tokens.map((token) => token.replaceAll(compiled, () => content))
  },
  Strip: (config) => {
    const { content, start, stop } = stripSchema.parse(config)
    return (tokens) => tokens.map((token) => strip(token, content, start, stop))
  },
  Metaspace: (config) => {
    const { replacement, prepend_scheme: named, add_prefix_space: old } = metaspaceSchema.parse(config)
    const prepended = (named ?? (old === false ? 'never' : 'always')) !== 'never'
    // The space put before the text is taken off again.
    return (tokens) => tokens.map((token, i) => token.replaceAll(replacement, i === 0 && prepended ? '' : ' '))
  },
  WordPiece: (config) => {
    const { prefix, cleanup } = wordPieceSchema.parse(config)
    return (tokens) =>
      tokens.map((token, i) => {
        const spaced = i === 0 ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`
        return cleanup ? cleanUp(spaced) : spaced
      })
  },
  BPEDecoder: (config) => {
    const { suffix } = suffixSchema.parse(config)
    return (tokens) => tokens.map((token, i) => token.replaceAll(suffix, i === tokens.length - 1 ? '' : ' '))
  },
}

/** @throws MyriadError 'checkpoint' when the kind is unknown. */
export function createDecodeStep(config: Config): DecodeStep {
  const kind = kinds[String(config.type)]
  if (!kind)
    throw new MyriadError(
      'checkpoint',
      `decoder ${JSON.stringify(config.type)} is not supported; these are: ${Object.keys(kinds).join(', ')}`,
    )
  return kind(config)
}

/** Bytes as text; what is no UTF-8 becomes U+FFFD, and a byte order mark stays. */
export function fromUtf8(pieces: readonly Uint8Array[]): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(pieces))
}

const byteToken = /^<0x[0-9A-Fa-f]{2}>$/

/** Runs of byte tokens become the characters they spell; a run that spells none becomes one U+FFFD a byte. */
function byteFallback(tokens: string[]): string[] {
  const result: string[] = []
  const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
  let run: number[] = []
  const flush = (): void => {
    if (run.length === 0) return
    try {
      result.push(strict.decode(Uint8Array.from(run)))
    } catch {
      result.push('\ufffd'.repeat(run.length))
    }
    run = []
  }
  for (const token of tokens) {
    if (token.length === 6 && byteToken.test(token)) run.push(Number.parseInt(token.slice(3, 5), 16))
    else {
      flush()
      result.push(token)
    }
  }
  flush()
  return result
}

function strip(token: string, content: string, start: number, stop: number): string {
  const characters = Array.from(token)
  let from = 0
  while (from < start && characters[from] === content) from++
  let to = characters.length
  while (to > from && characters.length - to < stop && characters[to - 1] === content) to--
  return characters.slice(from, to).join('')
}

/** English typesetting, as BERT's decoder does it. */
function cleanUp(text: string): string {
  return text
    .replaceAll(' .', '.')
    .replaceAll(' ?', '?')
    .replaceAll(' !', '!')
    .replaceAll(' ,', ',')
    .replaceAll(" ' ", "'")
    .replaceAll(" n't", "n't")
    .replaceAll(" 'm", "'m")
    .replaceAll(' do not', " don't")
    .replaceAll(" 's", "'s")
    .replaceAll(" 've", "'ve")
    .replaceAll(" 're", "'re")
}
