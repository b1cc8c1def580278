/**
 * The loop: `train` takes a configuration to a run folder. Its parts stand beside it: episodes played through one policy
 * (`rollout`), checkpoints, metrics, and the configuration itself.
 */
export * from './checkpoint.js'
export * from './config-file.js'
export { configSchema, parseConfig, type TrainConfig, type TrainConfigInput } from './config.js'
export * from './episode.js'
export * from './reward-model/index.js'
export * from './rollout.js'
export { readRunConfig } from './run-folder.js'
export * from './schedule.js'
export * from './scoring.js'
export * from './setup.js'
export * from './train.js'
export * from './types.js'
