export * from './language-id/index.js'
