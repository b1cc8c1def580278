import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { LUA_HARNESS } from './lua-harness.js'
import type { ProgramRequest } from './types.js'

/** Lua 5.4 by its C interface, without wasmoon's bridge to JavaScript; a new instance and file system for each program. */
export const lua: LanguageAdapter = {
  name: 'lua',
  module: import.meta.url,
  aliases: ['lua5.4', 'lua54'],
  packages: [{ name: 'wasmoon', version: '1.16.0', optional: true }],
  // 'e.f' are the functions this file gives to Lua: the hook. Not there: system, popen.
  allow: [
    'e.f',
    'env.abort',
    'env.exit',
    'env.invoke_vii',
    'env._emscripten_throw_longjmp',
    'env.strftime',
    'env.emscripten_date_now',
    'env._emscripten_get_now_is_monotonic',
    'env._mktime_js',
    'env._localtime_js',
    'env._gmtime_js',
    'env._tzset_js',
    'env.__syscall_openat',
    'env.__syscall_fcntl64',
    'env.__syscall_ioctl',
    'env.__syscall_dup3',
    'env.__syscall_unlinkat',
    'env.__syscall_rmdir',
    'env.__syscall_renameat',
    'env.__syscall_readlinkat',
    'wasi_snapshot_preview1.fd_close',
    'wasi_snapshot_preview1.fd_seek',
    'wasi_snapshot_preview1.environ_sizes_get',
    'wasi_snapshot_preview1.environ_get',
  ],
  resizeHeap: 'env.emscripten_resize_heap',
  descriptors: true,
  bootSeconds: 20,
  canary: {
    source:
      'assert(left == nil and string.left == nil and io.open("/tmp/left") == nil)\nleft = 1; string.left = 1\n' +
      'io.open("/tmp/left", "w"):close()\nio.write(6 * 7, " ", #("é"), " ", math.maxinteger, "\\n")',
    stdout: '42 2 9223372036854775807\n',
  },
  boot: bootLua,
}

/** What is used of wasmoon's LuaWasm. */
interface LuaWasm {
  module: {
    HEAPU8: Uint8Array
    _malloc(size: number): number
    addFunction(call: (...args: number[]) => void, signature: string): number
    lengthBytesUTF8(text: string): number
    stringToUTF8(text: string, pointer: number, size: number): void
  }
  luaL_newstate(): number
  luaL_openlibs(state: number): void
  luaL_loadbufferx(state: number, buffer: number, size: number, name: string, mode: string): number
  lua_pcallk(state: number, args: number, results: number, handler: number, context: number, k: null): number
  lua_pushlstring(state: number, text: number, size: number): unknown
  lua_pushvalue(state: number, index: number): void
  lua_tolstring(state: number, index: number, length: number | null): string
  lua_sethook(state: number, hook: number, mask: number, count: number): void
}

const HOOK_COUNT = 8
const HOOK_EVERY = 1000
const ERROR_SYNTAX = 3
const ERROR_MEMORY = 4

/** Goes through every pcall: only errors of Lua's own are caught there. */
class Stopped extends Error {}

async function bootLua(context: BootContext): Promise<LanguageRuntime> {
  const loaded = await context.load('wasmoon')
  const { LuaWasm } = (loaded.default ?? loaded) as {
    LuaWasm: { initialize(file: string, environment: Record<string, string>): Promise<LuaWasm> }
  }
  const file = context.file('wasmoon', 'dist/glue.wasm')
  return {
    async run(request, run) {
      const wasm = await LuaWasm.initialize(file, { _: 'program', HOME: '/', USER: 'program', LOGNAME: 'program' })
      const answer = runIn(wasm, request, run)
      return { ...answer, memoryBytes: wasm.module.HEAPU8.buffer.byteLength }
    },
  }
}

function runIn(wasm: LuaWasm, request: ProgramRequest, run: RunContext): Omit<RuntimeAnswer, 'memoryBytes'> {
  const { module } = wasm
  const bytesIn = (text: string): [number, number] => {
    const size = module.lengthBytesUTF8(text)
    const pointer = module._malloc(size + 1)
    if (pointer === 0) {
      run.refuseMemory()
      throw new Error('out of memory')
    }
    module.stringToUTF8(text, pointer, size + 1)
    return [pointer, size]
  }
  const load = (text: string, name: string): number => {
    const [pointer, size] = bytesIn(text)
    return wasm.luaL_loadbufferx(state, pointer, size, name, 't')
  }
  const state = wasm.luaL_newstate()
  wasm.luaL_openlibs(state)
  const failed = (code: number): Omit<RuntimeAnswer, 'memoryBytes'> => {
    const text = wasm.lua_tolstring(state, -1, null) || 'an error that is no text'
    ask('flush')
    run.output.stderr(`${text}\n`)
    if (code === ERROR_MEMORY) run.refuseMemory()
    const verdict = code === ERROR_SYNTAX ? 'compile-error' : code === ERROR_MEMORY ? 'memory-limit' : 'runtime-error'
    return { verdict, detail: text.split('\n', 1)[0].slice(0, 300) }
  }
  // Top: the harness's function with its arguments.
  const ask = (...texts: string[]): number => {
    wasm.lua_pushvalue(state, 1)
    for (const text of texts) wasm.lua_pushlstring(state, ...bytesIn(text))
    return wasm.lua_pcallk(state, texts.length, 1, 0, 0, null)
  }

  // The harness returns a function that stays below the program on the stack.
  if (load(LUA_HARNESS, '=harness') !== 0 || wasm.lua_pcallk(state, 0, 1, 0, 0, null) !== 0)
    throw new Error(`the harness does not load: ${wasm.lua_tolstring(state, -1, null)}`)
  const hook = module.addFunction(() => {
    if (run.expired()) throw new Stopped('stopped')
  }, 'vii')
  wasm.lua_sethook(state, hook, HOOK_COUNT, HOOK_EVERY)

  try {
    const compiled = load(request.source.replace(/^#[^\n]*/, ''), '=program')
    if (compiled !== 0) return failed(compiled)
    if (request.compileOnly) return { verdict: 'ok', detail: '' }
    const ran = wasm.lua_pcallk(state, 0, 0, 0, 0, null)
    if (ran !== 0) return failed(ran)
    const { call } = request
    if (call) {
      const called = ask('call', call.name, JSON.stringify(call.arguments))
      if (called !== 0) return failed(called)
    }
    const value = call ? wasm.lua_tolstring(state, -1, null) : undefined
    ask('flush')
    return { verdict: 'ok', detail: '', value }
  } catch (error) {
    if (error instanceof Stopped) return { verdict: 'time-limit', detail: 'stopped' }
    const status = (error as { name?: string; status?: number } | null)?.status
    if ((error as { name?: string } | null)?.name === 'ExitStatus')
      return status === 0 ? { verdict: 'ok', detail: '' } : { verdict: 'runtime-error', detail: `exit code ${status}` }
    throw error
  }
}
