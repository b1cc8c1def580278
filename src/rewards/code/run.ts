import type { LanguageAdapter } from './adapter.js'
import { findPackages } from './child-process.js'
import { languageOf } from './languages.js'
import { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
import type { ProgramLimits, ProgramResult } from './types.js'

const pools = new Map<LanguageAdapter, Sandbox>()

/** The sandbox of a language that this process shares; started with the first program. */
export function sharedSandbox(adapter: LanguageAdapter, options?: SandboxOptions): Sandbox {
  let pool = pools.get(adapter)
  if (!pool) {
    findPackages(adapter)
    pool = createSandbox(adapter, options)
    pools.set(adapter, pool)
  }
  return pool
}

/** Ends the processes of all shared sandboxes; they start again when they are needed. */
export async function closeSandboxes(): Promise<void> {
  const open = [...pools.values()]
  pools.clear()
  await Promise.all(open.map((pool) => pool.close()))
}

export interface ProgramToRun {
  /** A name or alias of the registry: 'python', 'py', 'javascript' ... */
  language: string
  source: string
  stdin?: string
  limits?: Partial<ProgramLimits>
}

/**
 * Runs a program in WebAssembly, in a process that can reach nothing. See docs/sandbox.md for what that promises.
 *
 * @throws MyriadError 'usage' for a language that is not there or whose packages are not installed
 * @example await runProgram({ language: 'javascript', source: 'console.log(6 * 7)' }) // { stdout: '42\n', verdict: 'ok', ... }
 */
export async function runProgram({ language, source, stdin = '', limits }: ProgramToRun): Promise<ProgramResult> {
  return sharedSandbox(languageOf(language)).run({ source, stdin, limits })
}

/** Compiles without running: 'ok', 'compile-error', or how the compiler was stopped. */
export async function compileProgram({ language, source, limits }: ProgramToRun): Promise<ProgramResult> {
  return sharedSandbox(languageOf(language)).run({ source, stdin: '', limits, compileOnly: true })
}
