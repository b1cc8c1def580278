/**
 * Text and its tokens: a trainer for byte-level BPE, tokenizers loaded from Hugging Face's tokenizer.json, and chat
 * formats that turn messages into the ids a policy reads. Text of a message can never forge a special token.
 */
export { defaultSplitPattern } from './bpe-pattern.js'
export * from './bpe-trainer.js'
export * from './chat.js'
export * from './default-chat.js'
export * from './save-tokenizer.js'
export type { AddedToken, TokenizerJson } from './tokenizer-json.js'
export * from './tokenizer.js'
export * from './types.js'
