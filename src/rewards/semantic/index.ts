/**
 * Meaning as a reward: embeddings of texts by any model the engine reads, similarity within and across languages, retrieval with
 * hubs discounted, aligned words against omissions and additions, trained estimators of quality.
 */
export * from './alignment.js'
export * from './character-ngrams.js'
export * from './embedder.js'
export * from './model-embedder.js'
export * from './semantic-rewards.js'
export { POOLINGS, poolStates, readSentenceConfig, type Pooling, type SentenceConfig } from './sentence-config.js'
export * from './similarity.js'
export { readSpecialTokens, type SpecialTokens, type TokenRow } from './special-tokens.js'
export {
  byLength,
  encoderBatch,
  encoderFeeds,
  idsOf,
  openTextModel,
  type TextModel,
  type TextModelOptions,
} from './text-model.js'
export * from './vectors.js'
