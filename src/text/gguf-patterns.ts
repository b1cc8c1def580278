/**
 * How a byte-level vocabulary cuts text into words before merging, by the name that GGUF files keep for it
 * (`tokenizer.ggml.pre`), as the `pre_tokenizer`, `normalizer` and `ignore_merges` of the tokenizer.json it came from.
 */
export interface GgufSplit {
  normalizer: { type: 'NFC' } | null
  preTokenizer: Record<string, unknown>
  ignoreMerges: boolean
}

const byteLevel = (useRegex: boolean): Record<string, unknown> => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
})

const sequence = (...pretokenizers: unknown[]): Record<string, unknown> => ({ type: 'Sequence', pretokenizers })

const split = (regex: string): Record<string, unknown> => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior: 'Isolated',
  invert: false,
})

/** GPT-2's own pattern, which the ByteLevel pre-tokenizer has built in. */
const gpt2: GgufSplit = { normalizer: null, preTokenizer: byteLevel(true), ignoreMerges: false }

/** GPT-2's, every digit a word of its own, of whatever script. */
const digits: GgufSplit = {
  normalizer: null,
  preTokenizer: sequence(split(String.raw`\p{N}`), byteLevel(true)),
  ignoreMerges: false,
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const ending = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`
const words = (number: string): string =>
  String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|${number}| ?[^\s\p{L}\p{N}]+[\r\n]*|${ending}`

const llama3: GgufSplit = {
  normalizer: null,
  preTokenizer: sequence(split(words(String.raw`\p{N}{1,3}`)), byteLevel(false)),
  ignoreMerges: true,
}

const qwen2: GgufSplit = {
  normalizer: { type: 'NFC' },
  preTokenizer: sequence(split(words(String.raw`\p{N}`)), byteLevel(false)),
  ignoreMerges: false,
}

const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const before = String.raw`[^\r\n\p{L}\p{N}]?`

/** Mistral's Tekken: words change where small letters are followed by capitals. */
const tekken: GgufSplit = {
  normalizer: null,
  preTokenizer: sequence(
    split(
      `${before}${upper}*${lower}+|${before}${upper}+${lower}*` +
        String.raw`|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${ending}`,
    ),
    byteLevel(false),
  ),
  ignoreMerges: true,
}

export const ggufSplits: Readonly<Record<string, GgufSplit>> = {
  'gpt-2': gpt2,
  'phi-2': gpt2,
  olmo: gpt2,
  mpt: gpt2,
  smollm: digits,
  starcoder: digits,
  refact: digits,
  'command-r': digits,
  'llama-bpe': llama3,
  llama3,
  'llama-v3': llama3,
  'smaug-bpe': llama3,
  dbrx: llama3,
  qwen2,
  'deepseek-r1-qwen': qwen2,
  tekken,
}
