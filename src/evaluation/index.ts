/**
 * Measurements: how a policy does on withheld problems, with intervals and pass@k; what a random legal player does there;
 * and how both are shown, as a table in the terminal and as a report to open.
 */
export * from './evaluate.js'
export * from './lost.js'
export * from './problems.js'
export * from './random-player.js'
export { writeReport } from './report.js'
export * from './reward-bench.js'
export * from './statistics.js'
export * from './table.js'
export * from './types.js'
