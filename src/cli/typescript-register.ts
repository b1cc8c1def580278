import { enableTypeScript } from './typescript.js'

// Imported for its effect: node --import myriad-rl/typescript program.ts
enableTypeScript()
