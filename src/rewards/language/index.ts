/** Rewards for the language of a reply: that asked for or another, how much of it, mixed or not. */
export * from './consistency.js'
export * from './evidence.js'
