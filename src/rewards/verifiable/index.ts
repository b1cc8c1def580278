/**
 * Answers that can be checked: found in a reply, read in any language's digits and notation, compared by what they mean rather than how
 * they are written.
 */
export * from './algebra.js'
export { readChoice } from './choices.js'
export { compareDates, readDate, type CalendarDate } from './dates.js'
export { equalExact, toFloat, type Exact, type Tolerance } from './exact.js'
export { extractAnswers, type AnswerMark, type ExtractedAnswers } from './extract.js'
export { sameInterval } from './intervals.js'
export { compareJson, findJson, schemaCheck, type SchemaCheck } from './json-answer.js'
export { isSpelled } from './number-words.js'
export { numbersIn, readNumber, type NumberReading } from './read-number.js'
export { matcherOf } from './regex-answer.js'
export * from './same-answer.js'
export { sameMath } from './same-math.js'
export { compareSets } from './sets.js'
export { readQuantity, sameQuantity } from './units.js'
export { verifiableRewards } from './verifiable-rewards.js'
export { readYesNo } from './yes-no.js'
