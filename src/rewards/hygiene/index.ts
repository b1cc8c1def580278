/** Rewards under observation: how each part is spread and goes with the others, and signs that a policy pleases them without doing the task. */
export * from './alarms.js'
export * from './statistics.js'
