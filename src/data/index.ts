/**
 * Real multilingual data as typed functions, read lazily out of npm packages: the Universal Declaration of Human Rights,
 * countries and their facts, names by CLDR, number words, digits, alphabets, calendars; and the text the base model is
 * pretrained on.
 */
export * from './alphabets.js'
export * from './calendar.js'
export * from './corpus.js'
export * from './countries.js'
export * from './digits.js'
export * from './facts.js'
export * from './languages.js'
export * from './nouns.js'
export * from './numbers.js'
export * from './phrases.js'
export * from './udhr.js'
export * from './wording.js'
