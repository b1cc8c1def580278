export * from './bleu.js'
export type { BleuTokenizer } from './bleu-tokenizers.js'
export * from './chrf.js'
