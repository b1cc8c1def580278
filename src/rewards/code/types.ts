/** How a program ended. `sandbox-error` is the only one that is not the program's own doing. */
export const VERDICTS = [
  'ok',
  'compile-error',
  'runtime-error',
  'time-limit',
  'memory-limit',
  'output-limit',
  'forbidden',
  'sandbox-error',
] as const

export type Verdict = (typeof VERDICTS)[number]

export interface ProgramLimits {
  /** Of processor time for one run, where the system tells it; three times as much of wall-clock time ends it in any case. */
  seconds: number
  /** Of WebAssembly memory, the interpreter's own included. */
  memoryMiB: number
  /** Of standard output and of standard error, each. */
  outputBytes: number
}

export const DEFAULT_LIMITS: ProgramLimits = { seconds: 5, memoryMiB: 256, outputBytes: 256 * 1024 }

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A function of the program to be called once the program has run, with JSON in and out. */
export interface FunctionCall {
  /** A name, or a dotted path of names. */
  name: string
  arguments: readonly Json[]
}

/** What a child is asked to run, in a state that no other program has seen. */
export interface ProgramRequest {
  source: string
  stdin: string
  limits: ProgramLimits
  /** Compile only: 'ok' or 'compile-error'. */
  compileOnly?: boolean
  call?: FunctionCall
}

/** What a runtime says of a program. */
export interface ProgramAnswer {
  stdout: string
  stderr: string
  verdict: Verdict
  /** One line for people. */
  detail: string
  /** Highest size of the WebAssembly memory, or of what the interpreter took of it. */
  memoryBytes: number
  /** JSON text of what the called function returned. */
  value?: string
}

export interface ProgramResult extends ProgramAnswer {
  /** In the child, without waiting for one to be free. */
  seconds: number
}
