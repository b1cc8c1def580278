import { createRequire } from 'node:module'
import { MyriadError, messageOf } from '../core/index.js'

const require = createRequire(import.meta.url)

/**
 * Reads a file of the installed cldr-core package; Node keeps what was read. The caller states its shape, which the
 * pinned version fixes.
 *
 * @throws MyriadError 'io' when the package is missing or damaged
 */
export function readCldrCore<T>(file: string): T {
  try {
    return require(`cldr-core/${file}`) as T
  } catch (error) {
    throw new MyriadError('io', `cldr-core/${file} cannot be read: ${messageOf(error)}; run "npm ci"`, { cause: error })
  }
}
