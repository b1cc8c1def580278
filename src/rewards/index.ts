/**
 * How well it was done. A reward looks at a finished episode and answers a number, named parts, or null where it does not
 * apply; rewards are plain values that compose by weight, and a configuration names them. Metrics (chrF, exact match,
 * language consistency) are pure functions that tasks and evaluation use as well.
 */
export * from './answers.js'
export * from './strings/index.js'
export * from './behaviour/index.js'
export * from './code/index.js'
export * from './combine.js'
export * from './declaration.js'
export * from './hygiene/index.js'
export * from './judge/index.js'
export * from './language/index.js'
export * from './learned/index.js'
export * from './outcome.js'
export * from './references.js'
export * from './registry.js'
export * from './retrieval/index.js'
export * from './sample.js'
export * from './semantic/index.js'
export * from './types.js'
export * from './verifiable/index.js'
