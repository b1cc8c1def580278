import type { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { defaultSplitPattern, splitWords } from './bpe-pattern.js'
import { toByteSymbols } from './byte-level.js'

// Enough for the words of a run; a language model's rollouts repeat themselves.
const cachedWords = 65_536
const cachedTexts = 8_192
const cachedTextLength = 64

interface EncoderSource {
  model: { type?: string; fuse_unk?: unknown }
  normalizer?: unknown
  pre_tokenizer?: unknown
}

/**
 * The way from text to ids. The library is exact but slow on short strings (some 80 µs), and this is in the rollout
 * loop, so the ids of a word are remembered where words are encoded each for itself, which is so in BPE.
 */
export function createEncoder(
  library: HuggingFaceTokenizer,
  json: EncoderSource,
  plainAdded: readonly { content: string }[],
  idOf: ReadonlyMap<string, number>,
): (text: string) => number[] {
  const byLibrary = (text: string): number[] => library.encode(text, { add_special_tokens: false }).ids
  const { model, pre_tokenizer: preTokenizer } = library
  const wordwise =
    json.model.type === 'BPE' &&
    json.model.fuse_unk !== true &&
    !json.normalizer &&
    preTokenizer !== null &&
    model !== null
  if (!wordwise) return cached(byLibrary)

  const split = isDefaultSplit(json.pre_tokenizer)
    ? defaultSplitter()
    : {
        words: (text: string) => preTokenizer.pre_tokenize(text, { section_index: 0 }),
        symbols: (word: string) => word,
      }
  const words = new Map<string, readonly number[]>()
  const idsOfWord = (word: string): readonly number[] => {
    let ids = words.get(word)
    if (ids === undefined) {
      const tokens: string[] = model.encode([split.symbols(word)])
      ids = tokens.map((token) => idOf.get(token) ?? missing(token))
      if (words.size >= cachedWords) words.clear()
      words.set(word, ids)
    }
    return ids
  }
  const byWords = (text: string): number[] => {
    const ids: number[] = []
    for (const word of split.words(text)) for (const id of idsOfWord(word)) ids.push(id)
    return ids
  }
  // Added tokens that are not special (<think>, runs of spaces) are found before words are.
  return cached((text) => (plainAdded.some(({ content }) => text.includes(content)) ? byLibrary(text) : byWords(text)))
}

function missing(token: string): never {
  throw new RangeError(`the tokenizer's model answered "${token}", which is not in its vocabulary`)
}

function defaultSplitter(): { words(text: string): string[]; symbols(word: string): string } {
  const pattern = new RegExp(defaultSplitPattern, 'gu')
  return { words: (text) => splitWords(text, pattern), symbols: toByteSymbols }
}

/** Is this the split that `trainBpe` writes? Other patterns are in Oniguruma's dialect and stay with the library. */
function isDefaultSplit(preTokenizer: unknown): boolean {
  const ours = {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: defaultSplitPattern }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    ],
  }
  return JSON.stringify(preTokenizer) === JSON.stringify(ours)
}

/** Remembers short texts: separators of a chat format, moves, numbers. */
function cached(encode: (text: string) => number[]): (text: string) => number[] {
  const texts = new Map<string, readonly number[]>()
  return (text) => {
    if (text.length === 0) return []
    if (text.length > cachedTextLength) return encode(text)
    let ids = texts.get(text)
    if (ids === undefined) {
      ids = encode(text)
      if (texts.size >= cachedTexts) texts.clear()
      texts.set(text, ids)
    }
    return [...ids]
  }
}
