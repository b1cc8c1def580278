/** Adapters: small sets of weights that are trained in a model's place, which stays as it is; PEFT's files both ways. */
export * from './adapter.js'
export * from './combine.js'
export * from './config.js'
export * from './lora.js'
export * from './merge.js'
export * from './peft.js'
export * from './prompt.js'
export * from './virtual.js'
