/**
 * Which language a text is in, and which its parts are in: two identifiers, the script and the letters of the Universal
 * Declaration weighed together, with silence where they have nothing to say.
 */
export * from './confusable.js'
export { loadIdentifiers } from './identifiers.js'
export * from './identify.js'
export * from './spans.js'
export type * from './types.js'
