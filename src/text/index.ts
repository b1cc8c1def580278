/**
 * Text and its tokens: a trainer for byte-level BPE, tokenizers loaded from Hugging Face's tokenizer.json, and chat
 * formats that turn messages into the ids a policy reads; a message can never forge a special token. Beside them what is
 * known about languages: names, scripts, digits, comparing texts, telling one language from another.
 */
export { defaultSplitPattern } from './bpe-pattern.js'
export * from './bpe-trainer.js'
export * from './chat.js'
export * from './counting/index.js'
export * from './default-chat.js'
export * from './gguf-tokenizer.js'
export * from './identify-language.js'
export * from './languages.js'
export * from './normalize.js'
export * from './numbers.js'
export * from './read-chat-template.js'
export * from './save-tokenizer.js'
export * from './scripts.js'
export type { AddedToken, TokenizerJson } from './tokenizer-json.js'
export * from './tokenizer.js'
export * from './types.js'
