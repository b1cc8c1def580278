import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { capMemory } from './cap-memory.js'
import { callHarness, EXCEPTIONS_STUB } from './clang-harness.js'
import type { ProgramRequest } from './types.js'

const WASI = [
  'args_get args_sizes_get environ_get environ_sizes_get clock_time_get clock_res_get fd_close',
  'fd_fdstat_get fd_fdstat_set_flags fd_filestat_get fd_prestat_get fd_seek fd_prestat_dir_name',
  'path_open poll_oneoff proc_exit random_get sched_yield',
].flatMap((names) => names.split(' '))

/**
 * What C and C++ share: clang and its linker in WebAssembly, with no files but the program and the C library; what they make
 * runs in an instance of its own, whose only imports are the ones below.
 */
export const clang: Omit<LanguageAdapter, 'name' | 'module' | 'aliases' | 'canary' | 'boot'> = {
  packages: [
    { name: '@yowasp/clang', version: '22.0.0-git20542-10', optional: true },
    { name: '@bjorn3/browser_wasi_shim', version: '0.4.2', optional: true },
  ],
  allow: [
    // The compiler's, whose files and clock are its package's own, in memory. Programs are not given imports of these names.
    'wasi:*',
    '.*',
    '__main_module__._start',
    ...WASI.map((name) => `wasi_snapshot_preview1.${name}`),
    'harness.value',
  ],
  descriptors: true,
  bootSeconds: 180,
  heapMiB: 512,
  // Compiling is part of it.
  limits: { seconds: 20 },
}

type Tree = { [name: string]: Tree | string | Uint8Array }

interface Clang {
  runClang(
    args: string[],
    files: Tree,
    options: { stderr(bytes: Uint8Array | null): void; stdout(bytes: Uint8Array | null): void; fetchProgress(): void },
  ): Promise<Tree>
}

interface Shim {
  WASI: new (
    args: string[],
    environment: string[],
    files: unknown[],
    options: { debug: boolean },
  ) => {
    wasiImport: Record<string, unknown>
    start(instance: object): number
  }
  OpenFile: new (file: unknown) => unknown
  File: new (bytes: Uint8Array) => unknown
}

type Instance = { exports: { memory: { buffer: ArrayBuffer } } }

declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  Instance: new (module: object, imports: object) => Instance
  RuntimeError: new () => Error
  LinkError: new () => Error
}

const MIB = 1024 * 1024
/** Of the compiler itself. */
const COMPILER_BYTES = 1024 * MIB
const STACK_BYTES = 8 * MIB
/** Programs whose modules are kept: a program usually runs on many inputs, one after the other. */
const KEPT_MODULES = 8

const DIALECTS = {
  c: { file: 'program.c', command: 'clang', flags: ['-std=gnu17'] },
  cpp: { file: 'program.cpp', command: 'clang++', flags: ['-std=gnu++20'] },
} as const

export async function bootClang(context: BootContext, language: 'c' | 'cpp'): Promise<LanguageRuntime> {
  const compileModule = WebAssembly.compile.bind(WebAssembly)
  WebAssembly.compile = (bytes) => compileModule(bytes.length > 16 * MIB ? capMemory(bytes, COMPILER_BYTES) : bytes)
  const { runClang } = (await context.load('@yowasp/clang')) as unknown as Clang
  const shim = (await context.load('@bjorn3/browser_wasi_shim')) as unknown as Shim
  const { file, command, flags } = DIALECTS[language]

  async function clangOf(args: string[], files: Tree, say: (text: string) => void): Promise<Uint8Array | null> {
    const said: Buffer[] = []
    const hear = (bytes: Uint8Array | null): void => void (bytes && said.push(Buffer.from(bytes)))
    try {
      const made = await runClang(args, files, { stdout: hear, stderr: hear, fetchProgress: () => {} })
      return made.out as Uint8Array
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code === undefined) throw error
      return null
    } finally {
      say(Buffer.concat(said).toString('utf8'))
    }
  }
  const stub = await clangOf(['clang', '-c', 'stub.c', '-o', 'out'], { 'stub.c': EXCEPTIONS_STUB }, () => {})
  if (!stub) throw new Error('the stub does not compile')
  const kept = new Map<string, object>()

  async function compiled(
    request: ProgramRequest,
    run: RunContext,
  ): Promise<object | Omit<RuntimeAnswer, 'memoryBytes'>> {
    const maximum = Math.floor(run.memoryBytes / 65536) * 65536
    const key = JSON.stringify([request.source, request.call, maximum])
    const before = kept.get(key)
    if (before) return before
    const main = request.call ? ['-Dmain=program_main'] : []
    const source = request.call ? `${request.source}\n${callHarness(request.call, language)}` : request.source
    const linked = [`-Wl,--max-memory=${maximum}`, `-Wl,-z,stack-size=${STACK_BYTES}`, '-Wl,--stack-first']
    const args = [
      command,
      ...flags,
      '-O1',
      '-w',
      ...main,
      file,
      'stub.o',
      '-lc-printscan-long-double',
      ...linked,
      '-o',
      'out',
    ]
    let text = ''
    const bytes = await clangOf(args, { [file]: source, 'stub.o': stub! }, (said) => (text = said))
    if (!bytes) {
      run.output.stderr(text)
      const line = text.split('\n').find((one) => one.includes('error')) ?? text
      return { verdict: 'compile-error', detail: line.slice(0, 300) }
    }
    const module = await compileModule(bytes)
    if (kept.size >= KEPT_MODULES) kept.delete(kept.keys().next().value!)
    kept.set(key, module)
    return module
  }

  return {
    async run(request, run) {
      const module = await compiled(request, run)
      if ('verdict' in module) return { ...(module as Omit<RuntimeAnswer, 'memoryBytes'>), memoryBytes: 0 }
      if (request.compileOnly) return { verdict: 'ok', detail: '', memoryBytes: 0 }
      return runModule(shim, module, request)
    },
  }
}

function runModule({ WASI, File, OpenFile }: Shim, module: object, request: ProgramRequest): RuntimeAnswer {
  const empty = (): unknown => new OpenFile(new File(new Uint8Array()))
  const system = new WASI(['program'], [], [empty(), empty(), empty()], { debug: false })
  let value: string | undefined
  let memory: { buffer: ArrayBuffer } | undefined
  const imports = {
    wasi_snapshot_preview1: system.wasiImport,
    harness: {
      value: (at: number, length: number) => {
        value ??= Buffer.from(memory!.buffer.slice(at >>> 0, (at >>> 0) + (length >>> 0))).toString('utf8')
      },
    },
  }
  let answer: Omit<RuntimeAnswer, 'memoryBytes'>
  try {
    const instance = new WebAssembly.Instance(module, imports)
    memory = instance.exports.memory
    const code = system.start(instance)
    answer =
      code === 0 ? { verdict: 'ok', detail: '', value } : { verdict: 'runtime-error', detail: `exit code ${code}` }
    if (request.call && value === undefined)
      answer = { verdict: 'runtime-error', detail: 'the program ended before its function returned' }
  } catch (error) {
    const ended =
      error instanceof WebAssembly.RuntimeError || error instanceof RangeError || error instanceof WebAssembly.LinkError
    // An import that does not exist for programs.
    if (!ended && !(error instanceof TypeError && /Import|import/.test(error.message))) throw error
    answer = { verdict: 'runtime-error', detail: (error as Error).message.slice(0, 300) }
  }
  return { ...answer, memoryBytes: memory?.buffer.byteLength ?? 0 }
}
