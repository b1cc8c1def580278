import { createRequire } from 'node:module'
import { MyriadError, messageOf } from '../core/index.js'

const require = createRequire(import.meta.url)

/**
 * Reads a JSON file out of an installed npm package. The caller states its shape: the versions are pinned in package.json
 * and tests read every field that is used.
 *
 * @throws MyriadError 'io' when the package is not installed or the file is damaged
 */
export function readPackageJson<T>(path: string): T {
  try {
    return require(path) as T
  } catch (error) {
    throw new MyriadError('io', `cannot read ${path}: ${messageOf(error)}; run "npm ci"`, { cause: error })
  }
}

/** Where a file of an installed npm package is. */
export function resolvePackageFile(path: string): string {
  try {
    return require.resolve(path)
  } catch (error) {
    throw new MyriadError('io', `cannot find ${path}: ${messageOf(error)}; run "npm ci"`, { cause: error })
  }
}

/** A function of one string that remembers what it answered: package data is read once, when first asked for. */
export function once<K extends string, T>(read: (key: K) => T): (key: K) => T {
  const known = new Map<K, T>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = read(key)))
    return value
  }
}
