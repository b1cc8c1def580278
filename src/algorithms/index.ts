/**
 * What to learn from groups of trajectories, as pure functions on plain data: advantage estimators, aggregation weights,
 * losses with their gradients, handling of overlong replies, and `grpo`, which composes them. Every family of objectives is a
 * namespace of its own, and `algorithmByName` makes any method.
 */
export * from './advantages.js'
export * from './clipped.js'
export * from './compose.js'
export * from './cross-entropy.js'
export * from './grpo.js'
export * from './objective.js'
export * from './overlong.js'
export * from './registry.js'
export * from './sum-losses.js'
export * from './types.js'
export * from './weights.js'
export * as afterTraining from './after-training/index.js'
export * as credit from './credit/index.js'
export * as distillation from './distillation/index.js'
export * as exploration from './exploration/index.js'
export * as labelFree from './label-free/index.js'
export * as multi from './multi/index.js'
export * as policyGradient from './policy-gradient/index.js'
export * as preference from './preference/index.js'
export * as rewardModel from './reward-model/index.js'
export * as supervised from './supervised/index.js'
export * as valueBased from './value-based/index.js'
/** What options of an objective are declared with. */
export { z } from 'zod'
