/** Training of reward models: heads over features of texts or models, on comparisons, rankings, ratings or labelled steps. */
export * from './data.js'
export { fineTuneRewardModel, type FineTuningOptions } from './fine-tune.js'
export * from './measure.js'
export * from './train.js'
