/**
 * What to learn from groups of trajectories, as pure functions on plain data: advantage estimators, aggregation weights,
 * losses with their gradients, handling of overlong replies, and `grpo`, which composes them.
 */
export * from './advantages.js'
export * from './clipped.js'
export * from './compose.js'
export * from './cross-entropy.js'
export * from './grpo.js'
export * from './objective.js'
export * from './overlong.js'
export * from './sum-losses.js'
export * from './types.js'
export * from './weights.js'
