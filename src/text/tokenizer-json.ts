/** A special or otherwise added token of a tokenizer.json. */
export interface AddedToken {
  id: number
  content: string
  single_word: boolean
  lstrip: boolean
  rstrip: boolean
  normalized: boolean
  special: boolean
}

/** The tokenizer.json of a byte-level BPE, in the format of Hugging Face tokenizers. */
export interface TokenizerJson {
  version: '1.0'
  truncation: null
  padding: null
  added_tokens: AddedToken[]
  normalizer: null
  pre_tokenizer: {
    type: 'Sequence'
    pretokenizers: [
      { type: 'Split'; pattern: { Regex: string }; behavior: 'Isolated'; invert: false },
      { type: 'ByteLevel'; add_prefix_space: false; trim_offsets: true; use_regex: false },
    ]
  }
  post_processor: null
  decoder: { type: 'ByteLevel'; add_prefix_space: true; trim_offsets: true; use_regex: true }
  model: {
    type: 'BPE'
    dropout: null
    unk_token: null
    continuing_subword_prefix: null
    end_of_word_suffix: null
    fuse_unk: false
    byte_fallback: false
    ignore_merges: false
    vocab: Record<string, number>
    merges: [string, string][]
  }
}

/** Puts a trained byte-level vocabulary into the format. `tokens` are all tokens by id, the special ones first. */
export function byteLevelTokenizerJson(trained: {
  tokens: readonly string[]
  specialTokens: readonly string[]
  merges: readonly [string, string][]
  pattern: string
}): TokenizerJson {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: trained.specialTokens.map((content, id) => ({ id, content, ...flags })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: trained.pattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(trained.tokens.map((token, id) => [token, id])),
      merges: [...trained.merges],
    },
  }
}
