import { readFileSync } from 'node:fs'
import { basename, dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds this package's package.json: where shipped models and papers are. */
export function packageFolder(): string {
  return dirname(dirname(dirname(fileURLToPath(import.meta.url))))
}

/** The version in package.json. */
export function packageVersion(): string {
  const text = readFileSync(`${packageFolder()}/package.json`, 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** How this command was called, for hints that can be copied: `myriad`, or `node dist/cli/main.js` in a clone. */
export function commandName(): string {
  const called = process.argv[1] ?? ''
  return basename(called) === 'main.js' ? `node ${relative(process.cwd(), called) || called}` : 'myriad'
}
