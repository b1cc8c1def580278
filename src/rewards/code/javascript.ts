import { readFile } from 'node:fs/promises'
import type * as Core from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSHandle, QuickJSSyncVariant, QuickJSWASMModule } from 'quickjs-emscripten-core'
import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { JAVASCRIPT_PRELUDE } from './javascript-prelude.js'
import type { ProgramRequest } from './types.js'

/** QuickJS. A new instance with a memory of its own for each program: the limit that QuickJS itself offers does not hold. */
export const javascript: LanguageAdapter = {
  name: 'javascript',
  module: import.meta.url,
  aliases: ['js', 'mjs', 'cjs', 'node', 'nodejs', 'ecmascript'],
  packages: [
    { name: 'quickjs-emscripten-core', version: '0.32.0' },
    { name: '@jitl/quickjs-wasmfile-release-sync', version: '0.32.0' },
    { name: '@jitl/quickjs-ffi-types', version: '0.32.0' },
  ],
  // In the names of version 0.32.0: assert, abort, keep-alive, local time, time zone, clock, output of the C library, calls of our
  // functions, interrupt, modules, references, and an environment that emscripten makes up. Not there: timers, files, exit.
  allow: ['a.e', 'a.f', 'a.b', 'a.q', 'a.l', 'a.m', 'a.n', 'a.p', 'a.c', 'a.s', 'a.i', 'a.h', 'a.g', 'a.t'],
  resizeHeap: 'a.k',
  bootSeconds: 20,
  canary: {
    source:
      'if (globalThis.left || [].left || {}.left) throw new Error("left"); globalThis.left = 1; Object.prototype.left = 1; ' +
      'console.log(JSON.stringify([6 * 7, typeof fetch, Array.prototype.map.name]))',
    stdout: '[42,"undefined","map"]\n',
  },
  boot: bootJavaScript,
}

declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  Memory: new (size: { initial: number; maximum: number }) => { buffer: ArrayBuffer }
}

const PAGE = 65536
const FIRST_PAGES = 256
/** In QuickJS's own measure. The process has a larger stack, so that QuickJS notices before the process does. */
const STACK_BYTES = 512 * 1024

/** What the prelude leaves to the host. */
type Hands = Record<'runTimer' | 'names' | 'call' | 'json' | 'shown' | 'exitCode' | 'require', QuickJSHandle>

export async function bootJavaScript(context: BootContext): Promise<LanguageRuntime> {
  const core = (await context.load('quickjs-emscripten-core')) as unknown as typeof Core
  const loaded = (await context.load('@jitl/quickjs-wasmfile-release-sync')) as { default: unknown }
  const variant = loaded.default as QuickJSSyncVariant
  const bytes = await readFile(context.file('@jitl/quickjs-wasmfile-release-sync', 'dist/emscripten-module.wasm'))
  const wasmModule = await WebAssembly.compile(bytes)

  async function newModule(maximum: number): Promise<{ module: QuickJSWASMModule; memory: { buffer: ArrayBuffer } }> {
    const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum })
    const quiet = (): void => {}
    const made = core.newVariant(variant, {
      wasmModule: wasmModule as never,
      emscriptenModule: { wasmMemory: memory as never, print: quiet, printErr: quiet, thisProgram: 'program' } as never,
    })
    return { module: await core.newQuickJSWASMModuleFromVariant(made), memory }
  }

  return {
    async run(request, run) {
      const { module, memory } = await newModule(Math.max(FIRST_PAGES, Math.floor(run.memoryBytes / PAGE)))
      const answer = runIn(module, request, run)
      return { ...answer, memoryBytes: memory.buffer.byteLength }
    },
  }
}

function runIn(
  module: QuickJSWASMModule,
  request: ProgramRequest,
  run: RunContext,
): Omit<RuntimeAnswer, 'memoryBytes'> {
  const runtime = module.newRuntime()
  runtime.setMaxStackSize(STACK_BYTES)
  const vm = runtime.newContext()
  let exited: number | null = null
  runtime.setInterruptHandler(() => exited !== null || run.expired())

  const write = vm.newFunction('write', (fd, text) => {
    if (exited !== null) return
    const bytes = vm.getString(text)
    if (vm.getNumber(fd) === 1) run.output.stdout(bytes)
    else run.output.stderr(bytes)
  })
  const exit = vm.newFunction('exit', (code) => {
    exited ??= vm.getNumber(code)
  })
  const started = performance.now()
  const now = vm.newFunction('now', () => vm.newNumber(performance.now() - started))
  const make = vm.unwrapResult(vm.evalCode(JAVASCRIPT_PRELUDE, 'node.js'))
  const made = vm.unwrapResult(vm.callFunction(make, vm.undefined, write, exit, vm.newString(request.stdin), now))
  const hands = Object.fromEntries(
    (['runTimer', 'names', 'call', 'json', 'shown', 'exitCode', 'require'] as const).map((name) => [
      name,
      vm.getProp(made, name),
    ]),
  ) as Hands
  vm.setProp(vm.global, '__find', hands.require)
  const evaluate = vm.unwrapResult(vm.evalCode('(0, eval)'))
  const modules = vm.unwrapResult(vm.evalCode('{ const find = __find; delete globalThis.__find; find }'))
  runtime.setModuleLoader((name) => {
    const names = vm.callFunction(hands.names, vm.undefined, vm.newString(name))
    const json = names.error ? null : vm.dump(names.value)
    if (typeof json !== 'string') return { error: new Error(`Cannot find module '${name}'`) }
    vm.setProp(vm.global, '__find', modules)
    const bare = JSON.stringify(name)
    const list = (JSON.parse(json) as string[]).map((one) => `export const ${one} = found.${one}`)
    return `const found = globalThis.__find(${bare}); delete globalThis.__find; export default found; ${list.join(';')}`
  })

  const failed = (error: QuickJSHandle): Omit<RuntimeAnswer, 'memoryBytes'> => {
    if (exited !== null) return ended(exited)
    const shown = vm.callFunction(hands.shown, vm.undefined, error)
    const text = shown.error ? 'an error that cannot be shown' : vm.getString(shown.value)
    run.output.stderr(`${text.trimEnd()}\n`)
    if (/^InternalError: out of memory|^Uncaught null$/m.test(text)) run.refuseMemory()
    return { verdict: 'runtime-error', detail: firstLine(text) }
  }

  // A script, unless it only compiles as a module (import, export, await at the top).
  const compiles = (text: string, type: 'global' | 'module') =>
    vm.evalCode(text, 'program.js', { type, compileOnly: true })
  let { source } = request
  let type: 'global' | 'module' = isModule(source) ? 'module' : 'global'
  const checked = compiles(source, type)
  if (checked.error && type === 'global' && !compiles(source, 'module').error) type = 'module'
  else if (checked.error) return { ...failed(checked.error), verdict: 'compile-error' }
  if (request.compileOnly) return { verdict: 'ok', detail: '' }

  if (type === 'module' && request.call) {
    // A function that a module keeps to itself can be called too.
    const open = `${source}\n;export { ${request.call.name.split('.', 1)[0]} as __called }`
    if (!compiles(open, type).error) source = open
  }
  const outcome = vm.evalCode(source, 'program.js', { type })
  if (outcome.error) return failed(outcome.error)
  const settled = settle(vm, outcome.value, hands, run, () => exited !== null)
  if (settled.error) return failed(settled.error)
  if (exited !== null) return ended(exited)
  if (!request.call) {
    const code = vm.callFunction(hands.exitCode, vm.undefined)
    return ended(code.error ? 1 : Number(vm.dump(code.value) ?? 0))
  }

  const called = vm.callFunction(
    hands.call,
    vm.undefined,
    evaluate,
    vm.newString(request.call.name),
    vm.newString(JSON.stringify(request.call.arguments)),
    type === 'module' && settled.value ? settled.value : vm.undefined,
  )
  if (called.error) return failed(called.error)
  const returned = settle(vm, called.value, hands, run, () => exited !== null)
  if (returned.error) return failed(returned.error)
  if (exited !== null) return { verdict: 'runtime-error', detail: 'the program ended before its function returned' }
  const json = vm.callFunction(hands.json, vm.undefined, returned.value ?? vm.undefined)
  if (json.error) return failed(json.error)
  return { verdict: 'ok', detail: '', value: vm.getString(json.value) }
}

/** Runs promise jobs and timers until the value is there and nothing is left to do. */
function settle(
  vm: QuickJSContext,
  value: QuickJSHandle,
  hands: Hands,
  run: RunContext,
  exited: () => boolean,
): { value?: QuickJSHandle; error?: QuickJSHandle } {
  for (;;) {
    const jobs = vm.runtime.executePendingJobs()
    if (jobs.error) return { error: jobs.error }
    if (exited() || run.expired()) return { value }
    const timer = vm.callFunction(hands.runTimer, vm.undefined)
    if (timer.error) return { error: timer.error }
    if (vm.dump(timer.value) !== true && !vm.runtime.hasPendingJob()) break
  }
  const state = vm.getPromiseState(value)
  if (state.type === 'rejected') return { error: state.error }
  return { value: state.type === 'fulfilled' ? state.value : value }
}

function ended(code: number): Omit<RuntimeAnswer, 'memoryBytes'> {
  return code === 0 ? { verdict: 'ok', detail: '' } : { verdict: 'runtime-error', detail: `exit code ${code}` }
}

function isModule(source: string): boolean {
  return /^[ \t]*(?:import\s*(?:[\w${*"']|\bfrom\b)|export\s)/m.test(source)
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0].slice(0, 300)
}
