/**
 * How a reply is given, whatever it says: form by tags or a grammar, length and budgets in letters, words or tokens, repetition,
 * silence and refusals, calls of tools, costs that the task measured. In every script: letters are grapheme clusters, words those
 * of Intl.Segmenter.
 */
export * from './behaviour-rewards.js'
export * from './grammar.js'
export * from './refusal.js'
export * from './repetition.js'
export * from './tags.js'
export * from './tool-calls.js'
export * from './units.js'
