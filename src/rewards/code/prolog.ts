import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { PROLOG_HARNESS } from './prolog-harness.js'
import type { FunctionCall, Json, ProgramRequest } from './types.js'
import { ForbiddenImport } from './wall.js'

/**
 * SWI-Prolog without its bridge to JavaScript; a new instance for each program. A call of `query` asks the goal in its first
 * argument and gives the bindings of every solution (at most 100); any other name calls that predicate with the arguments
 * and one more, whose value in the first solution is the value.
 */
export const prolog: LanguageAdapter = {
  name: 'prolog',
  module: import.meta.url,
  aliases: ['pl', 'swipl', 'swi-prolog'],
  packages: [{ name: 'swipl-wasm', version: '8.0.5', optional: true }],
  // In the names of version 8.0.5: files (in memory), clock, output, errors of the C library; of a.f, which is JavaScript, only the
  // flush of a stream (below). Not there: a.p and a.q, which are JavaScript too.
  allow: [...'fWVTXbRNMCLjKOIPoDEBzkQyvAuYsGHFZUSxl_$aemnJiwdhcrg'].map((letter) => `a.${letter}`),
  resizeHeap: 'a.t',
  bootSeconds: 60,
  limits: { seconds: 10 },
  canary: {
    source:
      ":- dynamic left/0.\n:- initialization(main).\nmain :- ( left ; exists_file('/tmp/left') ), !, write(left), nl.\n" +
      "main :- assertz(left), open('/tmp/left', write, S), close(S), X is 6 * 7, atom_length('é', L), Y is 2 ** 64, " +
      "format('~w ~w ~w~n', [X, L, Y]).\n",
    stdout: '42 1 18446744073709551616\n',
  },
  boot: bootProlog,
}

interface Swipl {
  FS: {
    mkdir(path: string): void
    writeFile(path: string, text: string): void
    readFile(path: string, options: { encoding: 'utf8' }): string
  }
  prolog: { call(goal: string): boolean }
}

type Instance = { exports: Record<string, unknown> }
type Call = (descriptor: number, vectors: number, count: number, done: number) => number

declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  Instance: new (module: object, imports: object) => Instance
  Memory: new (...sizes: never[]) => { buffer: ArrayBuffer }
}

/** fd_read and fd_write of version 8.0.5. */
const READ = 'n'
const WRITE = 'i'
/** The piece of JavaScript that flushes a stream of the terminal, which is not used here. The others are the bridge. */
const FLUSH = 418902
const MOST_SOLUTIONS = 100

function script(code: number): number {
  if (code !== FLUSH) throw new ForbiddenImport('a.f')
  return 0
}

async function bootProlog(context: BootContext): Promise<LanguageRuntime> {
  const folder = context.file('swipl-wasm', 'dist/swipl/')
  const make = createRequire(folder)('./swipl.js') as (options: object) => Promise<Swipl>
  const wasm = await WebAssembly.compile(readFileSync(`${folder}swipl-web.wasm`))
  return {
    async run(request, run) {
      let memory: { buffer: ArrayBuffer } | undefined
      const swipl = await make({
        arguments: ['-q', '-f', 'none', `--stack-limit=${Math.floor(run.memoryBytes / 2)}b`],
        locateFile: (name: string) => folder + name,
        print: () => {},
        printErr: () => {},
        instantiateWasm: ({ a }: { a: Record<string, Call> }, use: (instance: Instance) => unknown) => {
          const streams = descriptors(request.stdin, run, () => memory!.buffer)
          const instance = new WebAssembly.Instance(wasm, {
            a: { ...a, f: script, [READ]: streams.read(a[READ]), [WRITE]: streams.write(a[WRITE]) },
          })
          memory = Object.values(instance.exports).find((one) => one instanceof WebAssembly.Memory) as typeof memory
          return use(instance)
        },
      })
      return { ...runIn(swipl, request, run), memoryBytes: memory!.buffer.byteLength }
    },
  }
}

function descriptors(
  stdin: string,
  run: RunContext,
  memory: () => ArrayBuffer,
): { read(call: Call): Call; write(call: Call): Call } {
  let input = Buffer.from(stdin)
  const pieces = (vectors: number, count: number): Uint8Array[] => {
    const view = new DataView(memory())
    return Array.from({ length: count }, (_, i) => {
      const at = vectors + 8 * i
      return new Uint8Array(memory(), view.getUint32(at, true), view.getUint32(at + 4, true))
    })
  }
  const done = (at: number, length: number): number => {
    new DataView(memory()).setUint32(at, length, true)
    return 0
  }
  return {
    read: (call) => (descriptor, vectors, count, at) => {
      if (descriptor !== 0) return call(descriptor, vectors, count, at)
      let length = 0
      for (const piece of pieces(vectors, count)) {
        const part = input.subarray(0, piece.length)
        piece.set(part)
        input = input.subarray(part.length)
        length += part.length
      }
      return done(at, length)
    },
    write: (call) => (descriptor, vectors, count, at) => {
      if (descriptor !== 1 && descriptor !== 2) return call(descriptor, vectors, count, at)
      let length = 0
      for (const piece of pieces(vectors, count)) {
        const fits = descriptor === 1 ? run.output.stdout(piece) : run.output.stderr(piece)
        if (!fits) throw new Stopped('more output than there may be')
        length += piece.length
      }
      return done(at, length)
    },
  }
}

class Stopped extends Error {}

function runIn({ FS, prolog }: Swipl, request: ProgramRequest, run: RunContext): Omit<RuntimeAnswer, 'memoryBytes'> {
  FS.mkdir('/run')
  FS.writeFile('/run/harness.pl', PROLOG_HARNESS)
  FS.writeFile('/run/program.pl', request.source)
  if (request.call) FS.writeFile('/run/goal', goalOf(request.call))
  try {
    prolog.call("load_files('/run/harness.pl', [silent(true)])")
    if (request.compileOnly) prolog.call('nb_setval(myriad_compile, true)')
    prolog.call('myriad_harness:run')
    const [verdict, detail, ...value] = FS.readFile('/run/answer', { encoding: 'utf8' }).split('\n')
    if (verdict === 'memory-limit') run.refuseMemory()
    const known = ['ok', 'compile-error', 'runtime-error', 'memory-limit'] as const
    return {
      verdict: known.find((one) => one === verdict) ?? 'runtime-error',
      detail: detail.slice(0, 300),
      value: request.call ? value.join('\n') : undefined,
    }
  } catch (error) {
    if (error instanceof Stopped) return { verdict: 'output-limit', detail: error.message }
    const { name, status: flags } = error as { name?: string; status?: number }
    // SWI-Prolog adds flags of its own above the code.
    const status = (flags ?? 0) & 255
    // Of emscripten's file system: no answer was written.
    if (name === 'ErrnoError') return { verdict: 'runtime-error', detail: 'the program ended without an answer' }
    if (name !== 'ExitStatus') throw error
    const fine = status === 0 && !request.call
    return { verdict: fine ? 'ok' : 'runtime-error', detail: fine ? '' : `exit code ${status}` }
  }
}

function goalOf({ name, arguments: given }: FunctionCall): string {
  if (name === 'query') return `ask(all(${MOST_SOLUTIONS}), (${String(given[0] ?? 'fail').replace(/\.\s*$/, '')}\n))`
  const terms = [...given.map(termOf), 'Result']
  const [predicate, module] = name.split('.').reverse()
  return `ask(one(Result), ${module ? `${quoted(module)}:` : ''}${quoted(predicate)}(${terms.join(', ')}))`
}

/** Texts are atoms; objects are lists of pairs. */
function termOf(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(BigInt(value)) : value.toString().replace(/^(-?\d+)e/, '$1.0e')
  if (Array.isArray(value)) return `[${(value as Json[]).map(termOf).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `[${Object.entries(value as Record<string, Json>)
      .map(([key, one]) => `${quoted(key)}-${termOf(one)}`)
      .join(', ')}]`
  return String(value)
}

function quoted(text: string): string {
  const escaped = text.replace(/[\\'\p{Cc}]/gu, (letter) => `\\x${letter.codePointAt(0)!.toString(16)}\\`)
  return `'${escaped}'`
}
