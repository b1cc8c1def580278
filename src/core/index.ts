/** What every layer stands on: the error class, seeded randomness, names that are meant and the JSON type. Imports nothing of the project. */
export * from './errors.js'
export * from './json.js'
export * from './nearest.js'
export * from './random.js'
