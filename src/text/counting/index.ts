/** How long a text is: letters, words, sentences and syllables, in every language that has rules. */
export * from './duration.js'
export * from './speech.js'
export * from './syllables.js'
export * from './units.js'
