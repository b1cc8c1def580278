import type { BootContext, LanguageAdapter, LanguageRuntime } from './adapter.js'
import { bootJavaScript, javascript } from './javascript.js'

/**
 * Types are blanked out or compiled away (enums, namespaces, parameter properties) by swc, which does not check them: a
 * program that is wrong only in its types runs. Then as JavaScript.
 */
export const typescript: LanguageAdapter = {
  ...javascript,
  name: 'typescript',
  module: import.meta.url,
  aliases: ['ts', 'mts', 'cts', 'tsx'],
  packages: [...javascript.packages, { name: '@swc/wasm-typescript', version: '1.16.2' }],
  // The compiler's instance holds no program that runs: it gets a text and gives a text.
  allow: [...javascript.allow, '__wbindgen_placeholder__.*'],
  canary: {
    source: `interface Left { left?: number }\nconst all: Left = globalThis as Left\n${javascript.canary.source}\nvoid all`,
    stdout: javascript.canary.stdout,
  },
  boot: bootTypeScript,
}

type Transform = (source: string, options: object) => { code: string }

async function bootTypeScript(context: BootContext): Promise<LanguageRuntime> {
  const loaded = await context.load('@swc/wasm-typescript')
  const transform = ((loaded.default as { transformSync: Transform }) ?? loaded).transformSync
  const runtime = await bootJavaScript(context)
  return {
    async run(request, run) {
      let source: string
      try {
        source = transform(request.source, { mode: 'transform', module: true, filename: 'program.ts' }).code
      } catch (error) {
        const said = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
        const text = String(said).trim()
        run.output.stderr(`${text}\n`)
        // A trap leaves the compiler unfit; a syntax error does not.
        const trapped = error instanceof Error
        return { verdict: 'compile-error', detail: text.split('\n', 1)[0], memoryBytes: 0, discard: trapped }
      }
      return runtime.run({ ...request, source }, run)
    },
  }
}
