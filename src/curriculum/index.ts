/**
 * Which problems next. A curriculum is serializable state with two verbs: `next` gives the assignments of a step, `observe`
 * is told what came of them.
 */
export * from './mixture.js'
export * from './types.js'
