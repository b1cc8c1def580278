/**
 * Rewards that were learnt: heads over the features of a model or of texts, with one or several scores, experts or an ensemble;
 * steps of a solution; calibration; agreement of raters. They are trained in `training/reward-model`.
 */
export * from './agreement.js'
export * from './calibration.js'
export * from './ensemble.js'
export * from './features.js'
export * from './head.js'
export * from './learned-rewards.js'
export * from './process.js'
export * from './reward-model.js'
