/*
 * How to add a language, in one file
 *
 * 1. Write `NAME.ts` here and export one `LanguageAdapter`; add it to the registry in `languages.ts`.
 * 2. The same module is loaded twice: by the host, which reads what it declares, and by the child process, which calls
 *    `boot`. So at the top of the file import only types and other files of this folder (the child can read nothing else),
 *    and fetch the runtime inside `boot` with `context.load('package')` or `context.file('package', 'x.wasm')`.
 * 3. `packages` are those the child may read, at exact versions: the list of allowed imports below is good for one version.
 *    Those that do not come with Myriad are `optional`; the error a user sees names the npm command.
 * 4. `allow` lists the WebAssembly imports ('module.name') that may be called while a program runs, and no others. To find
 *    them, print `WebAssembly.Module.imports`, start with clock, memory and file descriptors, and add what a plain program needs.
 *    Anything else throws, ends the instance and the child, and makes the verdict 'forbidden'. During `boot` everything may
 *    be called, unless the instance is made later, by `run`. Imports made by name from within the language (a JS bridge, system,
 *    sockets, mounts, dlopen) never belong on the list. `resizeHeap` names emscripten's import for growing memory: it is held to
 *    the memory limit. For a module whose memory grows by the instruction instead, use `capMemory` of wall.ts on its bytes.
 * 5. `run` leaves no state: a new instance, or `snapshot` of snapshot.ts copied back, and every file system restored. It
 *    writes output through `context.output`, and asks `context.expired()` wherever the interpreter has a hook; programs that
 *    never reach the hook are killed with their process. A JS exception out of the runtime may be thrown as it is: the child
 *    reads it as a verdict (wall, stack, memory) and is thrown away.
 * 6. A `call`: run the program, then call `name` with the arguments and give back JSON text as `value`. What is expected is
 *    never in the child. Take the serializer before the program runs, so that a program that patches it only fools itself.
 *    Integers beyond 2^53 become decimal strings.
 * 7. `canary` is run in every new child and once in a while: it should notice what a program before it might have left.
 * 8. Put at least twenty hostile programs into `hostile/NAME.json` (hostile.test.ts runs them) and the plain ones of code.test.ts beside the others.
 */
import type { FunctionCall, ProgramAnswer, ProgramLimits, ProgramRequest } from './types.js'

export interface AdapterPackage {
  name: string
  /** Exact. */
  version: string
  /** Not installed with Myriad. */
  optional?: boolean
}

/** A language, as the host and the child both see it. */
export interface LanguageAdapter {
  /** Lower case: 'python'. The name of the exported constant too, unless `exported` says otherwise. */
  name: string
  exported?: string
  /** `import.meta.url` of the adapter's file. */
  module: string
  /** As written after ``` in a reply: 'py', 'python3'. */
  aliases: readonly string[]
  packages: readonly AdapterPackage[]
  /** WebAssembly imports that a running program may reach, as 'module.name'. */
  allow: readonly string[]
  /** The import by which emscripten grows memory, as 'module.name'; allowed, within the limit. */
  resizeHeap?: string
  /** Let WASI reads of descriptor 0 and writes to 1 and 2 be those of the program; then `context.output` is not needed. */
  descriptors?: boolean
  /** In seconds, generous: a child that takes longer to start is a sandbox error. */
  bootSeconds: number
  /** MiB of JS heap of the child beside WebAssembly memory. */
  heapMiB?: number
  /** Default limits where the language needs others. */
  limits?: Partial<ProgramLimits>
  /** A program that notices leftovers, and what it prints. */
  canary: { source: string; stdout: string }
  /** In the child, once. */
  boot(context: BootContext): Promise<LanguageRuntime>
}

export interface LanguageRuntime {
  /** One program in fresh state. */
  run(request: ProgramRequest, context: RunContext): Promise<RuntimeAnswer>
  /** Undoes what the last program did, after the answer was sent, so that nobody waits for it. */
  reset?(): Promise<void> | void
}

/** What `run` gives back; output and overruns are known already. */
export interface RuntimeAnswer extends Pick<ProgramAnswer, 'verdict' | 'detail' | 'memoryBytes' | 'value'> {
  /** The runtime is not to be used again (grown memory, a half-ended program). */
  discard?: boolean
}

export interface BootContext {
  /** Imports a declared package, or a file of it. */
  load(packageName: string, file?: string): Promise<Record<string, unknown>>
  /** Path of a file of a declared package. */
  file(packageName: string, file: string): string
}

export interface RunContext {
  output: Output
  limits: ProgramLimits
  /** Is time or output used up, or has the program asked for what is forbidden? Then the program is to be stopped. */
  expired(): boolean
  /** Highest memory allowed, in bytes. */
  memoryBytes: number
  /** A refused growth of memory; the child asks it after `run`. */
  refuseMemory(): void
}

/** Collects what a program prints, up to the limit. */
export interface Output {
  /** False when the limit is passed: stop the program. What does not fit is dropped. */
  stdout(text: string | Uint8Array): boolean
  stderr(text: string | Uint8Array): boolean
}

export type { FunctionCall, ProgramAnswer, ProgramLimits, ProgramRequest }
