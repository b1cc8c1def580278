/** What was looked up and what an answer stands on: rankings against gold documents, evidence, citations, quotations, searches. */
export * from './citations.js'
export * from './evidence.js'
export * from './metrics.js'
export * from './retrieval-rewards.js'
