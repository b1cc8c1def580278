import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { createDecoder } from './decoder.js'
import { createEncoder } from './encoder.js'
import { legacyTokenizer } from './legacy-tokenizer.js'
import { ggufOfTokenizer, readGgufTokenizer } from './gguf-tokenizer.js'
import { createTokenModel, describeIssue } from './token-model.js'
import type { Tokenizer } from './types.js'

/** A token that plain text can never be encoded to. */
export interface SpecialToken {
  id: number
  content: string
  /** White space before (left) or after (right) it is swallowed. */
  stripLeft: boolean
  stripRight: boolean
}

/** What a tokenizer folder holds beyond the contract: special tokens and the model's own chat template. */
export interface TextTokenizer extends Tokenizer {
  /** By content, e.g. `<|end|>`. */
  readonly specialTokens: ReadonlyMap<string, SpecialToken>
  /** Contents of the named special tokens, as chat templates ask for them. */
  readonly named: { readonly bos?: string; readonly eos?: string; readonly pad?: string; readonly unk?: string }
  readonly chatTemplate: string | null
  /**
   * As `encode`, of a text that stands after a special token: vocabularies that put a space before the beginning of a text
   * (Llama's) may not put one here.
   */
  encodeAfter(text: string): number[]
  /** How one token is written in the vocabulary; undefined where the id does not exist. */
  tokenOf(id: number): string | undefined
  /** The id of a token as the vocabulary writes it (` a` is `Ġa` in byte-level vocabularies). */
  idOf(token: string): number | undefined
}

const addedTokenSchema = z
  .object({
    id: z.int().nonnegative(),
    content: z.string().min(1),
    single_word: z.boolean().default(false),
    lstrip: z.boolean().default(false),
    rstrip: z.boolean().default(false),
    normalized: z.boolean().optional(),
    special: z.boolean().default(false),
  })
  .transform((token) => ({ ...token, normalized: token.normalized ?? !token.special }))
// Checked by hand, as a schema for each of a quarter of a million tokens takes a second.
const vocabularySchema = z.custom<Readonly<Record<string, number>> | readonly (readonly [string, number])[]>(
  isVocabulary,
  'expected tokens and their ids, or pairs of a token and its score',
)
const partSchema = z.looseObject({ type: z.string() }).nullish()
const tokenizerSchema = z.looseObject({
  added_tokens: z.array(addedTokenSchema).default([]),
  model: z.looseObject({
    type: z.string().nullish(),
    vocab: vocabularySchema,
    unk_token: z.string().nullish(),
    unk_id: z.int().nullish(),
  }),
  normalizer: partSchema,
  pre_tokenizer: partSchema,
  decoder: partSchema,
})
const namedTokenSchema = z.union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)])
const configSchema = z.looseObject({
  bos_token: namedTokenSchema.nullish(),
  eos_token: namedTokenSchema.nullish(),
  pad_token: namedTokenSchema.nullish(),
  unk_token: namedTokenSchema.nullish(),
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish()
    .transform((t) => (Array.isArray(t) ? (t.find((x) => x.name === 'default')?.template ?? null) : (t ?? null))),
})
const generationSchema = z.looseObject({ eos_token_id: z.union([z.int(), z.array(z.int())]).nullish() })

/** The files of a tokenizer folder, parsed as JSON. */
export interface TokenizerFiles {
  tokenizer: unknown
  /** tokenizer_config.json */
  config?: unknown
  /** generation_config.json: its eos_token_id also ends a reply. */
  generation?: unknown
  /** chat_template.jinja: goes before the one in the config. */
  chatTemplate?: string
}

/**
 * Loads a tokenizer from a Hugging Face model folder: tokenizer.json, and where present tokenizer_config.json,
 * generation_config.json and chat_template.jinja; of older folders vocab.json and merges.txt, or vocab.txt; or the tokenizer
 * inside a GGUF file.
 *
 * @throws MyriadError 'io' when tokenizer.json cannot be read, 'checkpoint' when a file is damaged (says which and what).
 * @example
 * const tokenizer = await loadTokenizer('models/base')
 * tokenizer.decode(tokenizer.encode('habari dunia')) // 'habari dunia'
 */
export async function loadTokenizer(folder: string): Promise<TextTokenizer> {
  const gguf = ggufOfTokenizer(folder)
  if (gguf !== undefined) return createTokenizer(await readGgufTokenizer(gguf), gguf)
  const path = join(folder, 'tokenizer.json')
  const config = await readJson(join(folder, 'tokenizer_config.json'))
  const tokenizer = (await readJson(path)) ?? (await legacyTokenizer(folder, config))
  return createTokenizer(
    {
      tokenizer,
      config,
      generation: await readJson(join(folder, 'generation_config.json')),
      chatTemplate: await readText(join(folder, 'chat_template.jinja')),
    },
    folder,
  )
}

/** A tokenizer from files already read, or from the JSON of `trainBpe`. `source` names them in errors. */
export function createTokenizer(files: TokenizerFiles, source = 'tokenizer'): TextTokenizer {
  const json = parse(tokenizerSchema, files.tokenizer, `${source}: tokenizer.json`)
  const config = parse(configSchema, files.config ?? {}, `${source}: tokenizer_config.json`)
  const generation = parse(generationSchema, files.generation ?? {}, `${source}: generation_config.json`)

  const added = json.added_tokens
  const specials = new Map(
    added
      .filter((token) => token.special)
      .map(({ id, content, lstrip, rstrip }) => [content, { id, content, stripLeft: lstrip, stripRight: rstrip }]),
  )
  const plain = vocabularyOf(json.model.vocab)
  const idOfToken = new Map(plain)
  for (const { content, id } of added) idOfToken.set(content, id)
  const tokenOfId = new Map(Array.from(idOfToken, ([token, id]) => [id, token]))

  const unknown = json.model.unk_id ?? plain.get(json.model.unk_token ?? '')
  // The model's vocabulary is that of plain text: no text can be encoded to a special token, whatever it spells.
  for (const content of specials.keys()) plain.delete(content)
  const encode = within(source, () => {
    const { vocab } = json.model
    const scores = Array.isArray(vocab) ? vocab.map(([, score]: [string, number]) => score) : undefined
    return createEncoder(json, added, createTokenModel(json.model, { idOf: plain, scores, unknown }))
  })
  const decode = within(source, () => createDecoder(json.decoder, tokenOfId, specials, added))

  const idOfNamed = (name: string, content: string | null | undefined): number | undefined => {
    if (content === null || content === undefined) return undefined
    const id = idOfToken.get(content)
    if (id === undefined)
      throw new MyriadError('checkpoint', `${source}: tokenizer_config.json: ${name} "${content}" is not a token`)
    return id
  }
  const stops = new Set<number>()
  const eos = idOfNamed('eos_token', config.eos_token)
  if (eos !== undefined) stops.add(eos)
  for (const id of [generation.eos_token_id ?? []].flat()) stops.add(id)
  const stopTokens = [...stops]

  return {
    vocabularySize: [...tokenOfId.keys()].reduce((a, b) => Math.max(a, b), -1) + 1,
    stopTokens,
    padToken: idOfNamed('pad_token', config.pad_token) ?? stopTokens[0] ?? 0,
    specialTokens: specials,
    named: {
      bos: config.bos_token ?? undefined,
      eos: config.eos_token ?? undefined,
      pad: config.pad_token ?? undefined,
      unk: config.unk_token ?? undefined,
    },
    chatTemplate: files.chatTemplate ?? config.chat_template,
    tokenOf: (id) => tokenOfId.get(id),
    idOf: (token) => idOfToken.get(token),
    encode: (text) => encode(text, true),
    encodeAfter: (text) => encode(text, false),
    decode,
  }
}

/** Errors of a part of tokenizer.json say which file it stands in. */
function within<T>(source: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    const reason = error instanceof z.ZodError ? describeIssue(error) : messageOf(error)
    throw new MyriadError('checkpoint', `${source}: tokenizer.json cannot be used: ${reason}`, { cause: error })
  }
}

function isVocabulary(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value))
    return value.every((entry) => Array.isArray(entry) && typeof entry[0] === 'string' && typeof entry[1] === 'number')
  return Object.values(value).every((id) => Number.isSafeInteger(id))
}

function vocabularyOf(vocab: z.infer<typeof vocabularySchema>): Map<string, number> {
  const idOf = new Map<string, number>()
  if (Array.isArray(vocab)) vocab.forEach(([token]: [string, number], id) => idOf.set(token, id))
  else for (const [token, id] of Object.entries(vocab)) idOf.set(token, id)
  return idOf
}

function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new MyriadError('checkpoint', `${where}: ${describeIssue(result.error)}`)
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new MyriadError('io', `${path}: cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

async function readJson(path: string): Promise<unknown> {
  const text = await readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new MyriadError('checkpoint', `${path}: damaged: ${messageOf(error)}`, { cause: error })
  }
}
