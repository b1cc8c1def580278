/**
 * What there is to do: eleven built-in tasks in seven or eight languages, each in its own file, the helpers by which a task
 * is written in a few lines (`singleTurn`, `defineTask`), and the conversations the base model was instructed on.
 */
export * from './types.js'
export * from './answers.js'
export * from './define-task.js'
export * from './demonstrations.js'
export * from './player-rates.js'
export * from './registry.js'
export * from './siblings.js'
export * from './single-turn.js'
export * from './split.js'
export { arithmetic } from './arithmetic.js'
export { declaration } from './declaration.js'
export { facts } from './facts.js'
export { guess } from './guess.js'
export { larger } from './larger.js'
export { lookup } from './lookup.js'
export { maze } from './maze.js'
export { nim } from './nim.js'
export { reverse } from './reverse.js'
export { sort } from './sort.js'
export { translate } from './translate.js'
