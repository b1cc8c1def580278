import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { createDecoder } from './decoder.js'
import { createEncoder } from './encoder.js'
import { ggufOfTokenizer, readGgufTokenizer } from './gguf-tokenizer.js'
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
  /** How one token is written in the vocabulary; undefined where the id does not exist. */
  tokenOf(id: number): string | undefined
  /** The id of a token as the vocabulary writes it (` a` is `Ġa` in byte-level vocabularies). */
  idOf(token: string): number | undefined
}

const addedTokenSchema = z.object({
  id: z.int().nonnegative(),
  content: z.string().min(1),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  special: z.boolean().default(false),
})
const vocabularySchema = z.union([z.record(z.string(), z.int()), z.array(z.tuple([z.string(), z.number()]))])
const tokenizerSchema = z.looseObject({
  added_tokens: z.array(z.looseObject(addedTokenSchema.shape)).default([]),
  model: z.looseObject({ type: z.string().optional(), vocab: vocabularySchema, unk_token: z.string().nullish() }),
  normalizer: z.looseObject({ type: z.string() }).nullish(),
  pre_tokenizer: z.looseObject({ type: z.string() }).nullish(),
  post_processor: z.looseObject({ type: z.string() }).nullish(),
  decoder: z.looseObject({ type: z.string() }).nullish(),
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
 * generation_config.json and chat_template.jinja; or the tokenizer inside a GGUF file.
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
  const tokenizer = await readJson(path)
  if (tokenizer === undefined) throw new MyriadError('io', `${path}: no such file; is this a model folder?`)
  return createTokenizer(
    {
      tokenizer,
      config: await readJson(join(folder, 'tokenizer_config.json')),
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

  const added = json.added_tokens.map((token) => addedTokenSchema.parse(token))
  const specials = new Map(
    added
      .filter((token) => token.special)
      .map(({ id, content, lstrip, rstrip }) => [content, { id, content, stripLeft: lstrip, stripRight: rstrip }]),
  )
  const idOfToken = new Map(vocabularyEntries(json.model.vocab))
  for (const { content, id } of added) idOfToken.set(content, id)
  const tokenOfId = new Map(Array.from(idOfToken, ([token, id]) => [id, token]))

  // The library's tokenizer is built without the special tokens: text that spells one is then ordinary text.
  const plainAdded = added.filter((token) => !token.special)
  const library = buildLibrary(json, specials, config, source)

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
    encode: createEncoder(library, json, plainAdded, idOfToken),
    decode: createDecoder(library, json.decoder, tokenOfId, specials, plainAdded),
  }
}

function buildLibrary(
  json: z.infer<typeof tokenizerSchema>,
  specials: ReadonlyMap<string, SpecialToken>,
  config: z.infer<typeof configSchema>,
  source: string,
): HuggingFaceTokenizer {
  // A special token may also stand in the vocabulary. Its place is kept under a name that no text can spell
  // (U+FFFF is a noncharacter, and byte symbols are all below it); the unknown token keeps its name, the model needs it.
  const unknown = json.model.unk_token
  const hide = (token: string): string => (specials.has(token) && token !== unknown ? `\uffff${token}` : token)
  const { vocab } = json.model
  const hidden = Array.isArray(vocab)
    ? vocab.map(([token, score], id) => [id === json.model.unk_id ? token : hide(token), score])
    : Object.fromEntries(Object.entries(vocab).map(([token, id]) => [hide(token), id]))
  try {
    return new HuggingFaceTokenizer(
      {
        normalizer: null,
        pre_tokenizer: null,
        decoder: null,
        ...json,
        // It would add begin and end tokens; only chat formats do that.
        post_processor: null,
        added_tokens: json.added_tokens.filter((token) => token.special !== true),
        model: { ...json.model, vocab: hidden },
      },
      { ...config, clean_up_tokenization_spaces: false, additional_special_tokens: [] },
    )
  } catch (error) {
    throw new MyriadError('checkpoint', `${source}: tokenizer.json cannot be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function vocabularyEntries(vocab: z.infer<typeof vocabularySchema>): [string, number][] {
  return Array.isArray(vocab) ? vocab.map(([token], id) => [token, id]) : Object.entries(vocab)
}

function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new MyriadError('checkpoint', `${where}: ${issue.path.join('.') || 'the document'}: ${issue.message}`)
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
