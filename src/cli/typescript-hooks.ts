import { readFile } from 'node:fs/promises'
import type { LoadFnOutput, LoadHookContext } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from '@swc/wasm-typescript'

/**
 * A Node module hook: TypeScript files are loaded with their types blanked out, lines and columns kept. What types alone
 * cannot erase (enums, namespaces) is an error that says so, as in later versions of Node.
 */
export async function load(
  url: string,
  context: LoadHookContext,
  nextLoad: (url: string, context: LoadHookContext) => LoadFnOutput | Promise<LoadFnOutput>,
): Promise<LoadFnOutput> {
  if (!url.startsWith('file:') || !/\.m?ts(\?|$)/.test(url) || url.includes('/node_modules/'))
    return nextLoad(url, context)
  const filename = fileURLToPath(url)
  try {
    const { code } = transformSync(await readFile(filename, 'utf8'), { mode: 'strip-only', module: true, filename })
    return { format: 'module', shortCircuit: true, source: `${code}\n\n//# sourceURL=${url}` }
  } catch (error) {
    throw new SyntaxError(`${filename}: ${readable(error)}`, { cause: error })
  }
}

/** The compiler throws plain objects with a message in them. */
function readable(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(message).trim()
}
