import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'

const tokenSchema = z.looseObject({ content: z.string(), special: z.boolean().default(false) })
const namedSchema = z.union([z.string(), tokenSchema.transform((token) => token.content)]).nullish()
const configSchema = z.looseObject({
  tokenizer_class: z.string().optional(),
  added_tokens_decoder: z.record(z.string(), tokenSchema).default({}),
  bos_token: namedSchema,
  eos_token: namedSchema,
  unk_token: namedSchema,
  pad_token: namedSchema,
  add_prefix_space: z.boolean().default(false),
  do_lower_case: z.boolean().default(true),
  strip_accents: z.boolean().nullish(),
  tokenize_chinese_chars: z.boolean().default(true),
})
type Config = z.infer<typeof configSchema>
type Vocabulary = Record<string, number>

const vocabularySchema = z.record(z.string(), z.int())
const qwenSplit =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const byteLevel = (config: Config): object => ({
  type: 'ByteLevel',
  add_prefix_space: config.add_prefix_space,
  use_regex: true,
})
/** Normalizer and pre-tokenizer of the classes that kept vocab.json and merges.txt. */
const mergedClasses: Readonly<Record<string, (config: Config) => object>> = {
  GPT2Tokenizer: (config) => ({ pre_tokenizer: byteLevel(config) }),
  RobertaTokenizer: (config) => ({ pre_tokenizer: byteLevel(config) }),
  Qwen2Tokenizer: () => ({
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: qwenSplit }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      ],
    },
  }),
}
const sentencePieceFiles = ['tokenizer.model', 'spiece.model', 'sentencepiece.bpe.model', 'spm.model']

/**
 * A tokenizer.json from the files that came before it: vocab.json and merges.txt (GPT-2, RoBERTa, Qwen2), or vocab.txt
 * (BERT). The class named in tokenizer_config.json decides how text is split.
 *
 * @param config tokenizer_config.json, parsed; GPT-2's or BERT's defaults without it.
 * @throws MyriadError 'io' when there is none of these files, 'checkpoint' when the class is not known or a file is damaged;
 * both say how to make a tokenizer.json.
 */
export async function legacyTokenizer(folder: string, config: unknown): Promise<unknown> {
  const has = (name: string): boolean => existsSync(join(folder, name))
  const remedy =
    'make one in Python: from transformers import AutoTokenizer; ' +
    `AutoTokenizer.from_pretrained(${JSON.stringify(folder)}).save_pretrained(${JSON.stringify(folder)})`
  const parsed = configSchema.safeParse(config ?? {})
  if (!parsed.success)
    throw new MyriadError('checkpoint', `${join(folder, 'tokenizer_config.json')}: ${parsed.error.issues[0].message}`)
  const named = parsed.data.tokenizer_class?.replace(/Fast$/, '')

  if (has('vocab.json') && has('merges.txt')) {
    const parts = mergedClasses[named ?? 'GPT2Tokenizer']?.(parsed.data)
    if (!parts)
      throw new MyriadError(
        'checkpoint',
        `${folder}: there is no tokenizer.json, and vocab.json with merges.txt is read for ` +
          `${Object.keys(mergedClasses).join(', ')}, not for ${named}; ${remedy}`,
      )
    const vocab = await readVocabulary(join(folder, 'vocab.json'))
    return {
      ...parts,
      added_tokens: addedTokens(parsed.data, vocab, ['<|endoftext|>']),
      decoder: { type: 'ByteLevel' },
      model: { type: 'BPE', vocab, merges: await readMerges(join(folder, 'merges.txt')) },
    }
  }
  if (has('vocab.txt') && (named ?? 'BertTokenizer') === 'BertTokenizer') {
    const lines = (await readFile(join(folder, 'vocab.txt'), 'utf8')).split(/\r?\n/)
    const vocab = Object.fromEntries(lines.flatMap((token, id) => (token === '' ? [] : [[token, id]])))
    const unknown = parsed.data.unk_token ?? '[UNK]'
    const { do_lower_case: lowercase, strip_accents, tokenize_chinese_chars: handle_chinese_chars } = parsed.data
    return {
      added_tokens: addedTokens(parsed.data, vocab, ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']),
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars, strip_accents, lowercase },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: { type: 'WordPiece', unk_token: unknown, continuing_subword_prefix: '##', vocab },
    }
  }
  const sentencePiece = sentencePieceFiles.find(has)
  if (sentencePiece !== undefined)
    throw new MyriadError(
      'checkpoint',
      `${folder}: there is a SentencePiece model (${sentencePiece}) but no tokenizer.json; ${remedy}`,
    )
  throw new MyriadError(
    'io',
    `${join(folder, 'tokenizer.json')}: no such file, nor vocab.json with merges.txt, nor vocab.txt; is this a model folder?`,
  )
}

/** The tokens that the configuration lists or names, and the class's own where the vocabulary has them. */
function addedTokens(config: Config, vocab: Vocabulary, usual: readonly string[]): object[] {
  const listed = Object.entries(config.added_tokens_decoder).map(([id, token]) => ({ ...token, id: Number(id) }))
  const known = new Set(listed.map((token) => token.content))
  const names = [config.bos_token, config.eos_token, config.unk_token, config.pad_token, ...usual]
  const more = [...new Set(names)].filter((name) => typeof name === 'string' && name in vocab && !known.has(name))
  return [...listed, ...more.map((name) => ({ id: vocab[name as string], content: name, special: true }))]
}

async function readVocabulary(path: string): Promise<Vocabulary> {
  try {
    return vocabularySchema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    throw new MyriadError('checkpoint', `${path}: damaged: ${messageOf(error)}`, { cause: error })
  }
}

async function readMerges(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split(/\r?\n/)
  if (lines[0].startsWith('#version')) lines.shift()
  const merges = lines.filter((line) => line !== '')
  const damaged = merges.findIndex((line) => line.split(' ').length !== 2)
  if (damaged >= 0)
    throw new MyriadError('checkpoint', `${path}: damaged: ${JSON.stringify(merges[damaged])} is not a pair of tokens`)
  return merges
}
