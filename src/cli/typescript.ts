import { register } from 'node:module'

/**
 * Lets this process import TypeScript files. Node does so by itself from 22.18 on; earlier versions get a hook that
 * blanks the types out. Importing `myriad-rl/typescript` does the same for a program of one's own:
 *
 * @example node --import myriad-rl/typescript train.ts
 */
export function enableTypeScript(): void {
  const features = process.features as { typescript?: string | false }
  if (!features.typescript) register('./typescript-hooks.js', import.meta.url)
}
