/** Rewards for the language of a reply: that asked for or another, how much of it, mixed or not. */
export * from './consistency.js'
export * from './evidence.js'
export * from './language-rewards.js'
export * from './length-rewards.js'
export * from './measure.js'
export * from './parts.js'
