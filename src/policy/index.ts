/** The one contract of a language model in training: sample, score, update; and the policy that runs on this machine. */
export * from './types.js'
export * from './local/index.js'
