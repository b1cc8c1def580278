import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { findGguf, readGgufHeader, type GgufHeader } from '../core/gguf.js'
import { ggufSplits } from './gguf-patterns.js'
import type { TokenizerFiles } from './tokenizer.js'

/** What belongs to a tokenizer in a Hugging Face model folder. */
const portableFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'generation_config.json',
  'chat_template.jinja',
]

/** ggml's types of tokens. */
const kind = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

const id = z.union([z.number(), z.bigint().transform(Number)])
const metadataSchema = z.looseObject({
  'tokenizer.ggml.model': z.string(),
  'tokenizer.ggml.pre': z.string().optional(),
  'tokenizer.ggml.tokens': z.array(z.string()),
  'tokenizer.ggml.token_type': z.array(z.number()).optional(),
  'tokenizer.ggml.scores': z.array(z.number()).optional(),
  'tokenizer.ggml.merges': z.array(z.string()).optional(),
  'tokenizer.ggml.bos_token_id': id.optional(),
  'tokenizer.ggml.eos_token_id': id.optional(),
  'tokenizer.ggml.eot_token_id': id.optional(),
  'tokenizer.ggml.unknown_token_id': id.optional(),
  'tokenizer.ggml.padding_token_id': id.optional(),
  'tokenizer.ggml.add_bos_token': z.boolean().optional(),
  'tokenizer.ggml.add_eos_token': z.boolean().optional(),
  'tokenizer.ggml.add_space_prefix': z.boolean().optional(),
  'tokenizer.chat_template': z.string().optional(),
})

/**
 * The GGUF file whose tokenizer a path means: a file's own, or the only one in a folder that has no tokenizer.json.
 */
export function ggufOfTokenizer(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() && existsSync(join(path, 'tokenizer.json')))
    return undefined
  return findGguf(path)
}

/**
 * The tokenizer inside a GGUF file, as the files of a Hugging Face model folder.
 *
 * Byte-level BPE (`gpt2`) keeps its merges; of SentencePiece BPE (`llama`) the merges are found again from the scores, as
 * transformers does.
 *
 * @throws MyriadError 'checkpoint' when the file has no tokenizer, or one of a kind that is not read
 */
export async function readGgufTokenizer(file: string): Promise<TokenizerFiles> {
  return ggufTokenizerFiles(await readGgufHeader(file))
}

/**
 * The texts of a tokenizer's files by name, to be written beside a model: those of a folder as they are, of a GGUF file as
 * {@link readGgufTokenizer} makes them. Files that are not there are left out.
 */
export async function tokenizerFilesOf(path: string): Promise<Record<string, string>> {
  const gguf = ggufOfTokenizer(path)
  if (gguf === undefined) {
    const texts = portableFiles.map(async (name) => [name, await readIfThere(join(path, name))] as const)
    return Object.fromEntries(
      (await Promise.all(texts)).filter((entry): entry is [string, string] => entry[1] !== null),
    )
  }
  const files = await readGgufTokenizer(gguf)
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
  return {
    'tokenizer.json': `${JSON.stringify(files.tokenizer)}\n`,
    'tokenizer_config.json': json(files.config),
    'generation_config.json': json(files.generation),
    ...(files.chatTemplate !== undefined && { 'chat_template.jinja': files.chatTemplate }),
  }
}

/** {@link readGgufTokenizer} of a header already read. */
export function ggufTokenizerFiles({ file, metadata }: Pick<GgufHeader, 'file' | 'metadata'>): TokenizerFiles {
  const parsed = metadataSchema.safeParse(metadata)
  if (!parsed.success)
    throw new MyriadError(
      'checkpoint',
      `${file} holds no tokenizer: ${parsed.error.issues[0].path.join('.')} is missing`,
    )
  const source = parsed.data
  const tokens = source['tokenizer.ggml.tokens']
  const types = source['tokenizer.ggml.token_type'] ?? tokens.map(() => kind.normal)
  const named = (name: 'bos' | 'eos' | 'eot' | 'unknown' | 'padding'): string | undefined => {
    const index = source[`tokenizer.ggml.${name}_token_id`]
    return index === undefined ? undefined : tokens[index]
  }
  const model = source['tokenizer.ggml.model']
  const build = { gpt2: byteLevelJson, llama: sentencePieceJson }[model]
  if (build === undefined)
    throw new MyriadError(
      'checkpoint',
      `${file}: tokenizers of the kind "${model}" are not read from GGUF files; read are gpt2, llama. ` +
        'Put the model’s tokenizer.json beside the file',
    )
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false }
  const addedTokens = tokens.flatMap((content, index) => {
    const special = types[index] === kind.control || types[index] === kind.unknown
    // Runs of spaces (Gemma) are words of the vocabulary like any other.
    const added = special || (types[index] === kind.userDefined && content.trim() !== '')
    return added && content !== '' ? [{ id: index, content, special, ...flags }] : []
  })
  const ends = [source['tokenizer.ggml.eos_token_id'], source['tokenizer.ggml.eot_token_id']]
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: addedTokens,
      post_processor: null,
      ...build(file, source, types),
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: named('bos'),
      eos_token: named('eos'),
      unk_token: named('unknown'),
      pad_token: named('padding'),
      add_bos_token: source['tokenizer.ggml.add_bos_token'] ?? model === 'llama',
      add_eos_token: source['tokenizer.ggml.add_eos_token'] ?? false,
      clean_up_tokenization_spaces: false,
    },
    generation: { eos_token_id: [...new Set(ends.filter((end) => end !== undefined))] },
    chatTemplate: source['tokenizer.chat_template'],
  }
}

type Source = z.infer<typeof metadataSchema>
type Parts = Record<'normalizer' | 'pre_tokenizer' | 'decoder' | 'model', unknown>

const bpe = { type: 'BPE', dropout: null, continuing_subword_prefix: null, end_of_word_suffix: null }

function byteLevelJson(file: string, source: Source): Parts {
  const pre = source['tokenizer.ggml.pre'] ?? ''
  const split = ggufSplits[pre]
  if (split === undefined)
    throw new MyriadError(
      'checkpoint',
      `${file}: how its tokenizer splits words ("tokenizer.ggml.pre" is ${JSON.stringify(pre)}) is not known; known are ` +
        `${Object.keys(ggufSplits).join(', ')}. Put the model’s tokenizer.json beside the file`,
    )
  return {
    normalizer: split.normalizer,
    pre_tokenizer: split.preTokenizer,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      ...bpe,
      unk_token: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: split.ignoreMerges,
      vocab: vocabularyOf(source['tokenizer.ggml.tokens']),
      merges: (source['tokenizer.ggml.merges'] ?? []).map((merge) => {
        const space = merge.indexOf(' ', 1)
        return [merge.slice(0, space), merge.slice(space + 1)]
      }),
    },
  }
}

function sentencePieceJson(file: string, source: Source, types: readonly number[]): Parts {
  const scores = source['tokenizer.ggml.scores']
  const tokens = source['tokenizer.ggml.tokens'].map((token, index) =>
    types[index] === kind.userDefined && token.trim() === '' ? token.replaceAll(' ', '▁') : token,
  )
  if (scores === undefined) throw new MyriadError('checkpoint', `${file} lacks the metadata "tokenizer.ggml.scores"`)
  const unknown = source['tokenizer.ggml.unknown_token_id'] ?? types.indexOf(kind.unknown)
  const prefix = source['tokenizer.ggml.add_space_prefix'] ?? true
  const space = { type: 'Replace', pattern: { String: ' ' }, content: '▁' }
  return {
    normalizer: prefix ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, space] } : space,
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      ...bpe,
      unk_token: tokens[unknown] ?? null,
      fuse_unk: true,
      byte_fallback: types.includes(kind.byte),
      ignore_merges: false,
      vocab: vocabularyOf(tokens),
      merges: mergesOf(tokens, scores, types),
    },
  }
}

function vocabularyOf(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, index) => [token, index]))
}

/**
 * The merges of a SentencePiece BPE: every way to make a token of two others, best score of the whole first; ways to make
 * the same token in the order of their left parts' ids.
 */
function mergesOf(tokens: readonly string[], scores: readonly number[], types: readonly number[]): [string, string][] {
  const idOf = new Map(tokens.map((token, index) => [token, index]))
  const usable = (index: number | undefined): index is number =>
    index !== undefined && types[index] !== kind.control && types[index] !== kind.byte && types[index] !== kind.unknown
  const found: { left: number; right: number; score: number }[] = []
  tokens.forEach((token, index) => {
    if (!usable(index)) return
    const characters = [...token]
    for (let cut = 1; cut < characters.length; cut++) {
      const left = idOf.get(characters.slice(0, cut).join(''))
      const right = idOf.get(characters.slice(cut).join(''))
      if (usable(left) && usable(right)) found.push({ left, right, score: scores[index] })
    }
  })
  found.sort((a, b) => b.score - a.score || a.left - b.left || a.right - b.right)
  return found.map(({ left, right }) => [tokens[left], tokens[right]])
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new MyriadError('io', `${path}: cannot be read: ${messageOf(error)}`, { cause: error })
  }
}
