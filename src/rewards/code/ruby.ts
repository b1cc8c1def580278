import { readFile } from 'node:fs/promises'
import type { BootContext, LanguageAdapter, LanguageRuntime, RuntimeAnswer } from './adapter.js'
import { capMemory } from './cap-memory.js'
import { snapshotMemory } from './memory-snapshot.js'
import { RUBY_HARNESS } from './ruby-harness.js'

/** What the instance's memory may grow to; a program's own limit may be lower. */
const MOST_MEMORY = 384 * 1024 * 1024

const WASI = [
  'environ_get environ_sizes_get clock_res_get clock_time_get random_get poll_oneoff proc_exit',
  'fd_readdir fd_datasync fd_renumber fd_fdstat_get fd_fdstat_set_flags fd_prestat_get fd_filestat_get',
  'fd_prestat_dir_name fd_filestat_set_size fd_seek fd_sync fd_tell fd_close fd_pread fd_pwrite',
  'fd_advise path_rename path_symlink path_readlink path_unlink_file path_filestat_get path_open',
  'path_create_directory path_remove_directory path_filestat_set_times path_link',
].flatMap((names) => names.split(' '))

/**
 * Ruby 3.4 without its bridge to JavaScript, which would hand a program the process. One instance; before each program its
 * memory is copied back to what it was after start-up. No threads, no Timeout.
 */
export const ruby: LanguageAdapter = {
  name: 'ruby',
  module: import.meta.url,
  aliases: ['rb', 'ruby3', 'irb'],
  packages: [
    { name: '@ruby/3.4-wasm-wasi', version: '2.10.1', optional: true },
    { name: '@ruby/wasm-wasi', version: '2.10.1', optional: true },
    { name: '@bjorn3/browser_wasi_shim', version: '0.4.2', optional: true },
  ],
  // Files are those of the shim, in memory. Not there: rb-js-abi-host, which is JavaScript.
  allow: [
    ...WASI.map((name) => `wasi_snapshot_preview1.${name}`),
    'canonical_abi.resource_new_rb-abi-value',
    'canonical_abi.resource_get_rb-abi-value',
  ],
  descriptors: true,
  bootSeconds: 120,
  heapMiB: 384,
  limits: { seconds: 10 },
  canary: {
    source:
      'raise "left" if $left || Integer.method_defined?(:left) || File.exist?("/tmp/left") || defined?(LEFT)\n' +
      '$left = 1\nLEFT = 1\nclass Integer; def left = 1; end\nFile.write("/tmp/left", "x")\n' +
      'puts [6 * 7, "é".length, 2**64, gets.inspect].join(" ")',
    stdout: '42 1 18446744073709551616 nil\n',
  },
  boot: bootRuby,
}

interface RubyVm {
  eval(code: string): { toString(): string }
}

interface Shim {
  WASI: new (
    args: string[],
    environment: string[],
    files: unknown[],
    options: { debug: boolean },
  ) => {
    fds: unknown[]
    initialize(instance: object): void
    wasiImport: Record<string, unknown>
  }
  OpenFile: new (file: unknown) => unknown
  File: new (bytes: Uint8Array) => unknown
  Directory: new (contents: Map<string, unknown>) => unknown
  PreopenDirectory: new (name: string, contents: Map<string, unknown>) => { dir: { contents: Map<string, unknown> } }
}

declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> }

async function bootRuby(context: BootContext): Promise<LanguageRuntime> {
  // Handles of an earlier state must not be let go in a later one.
  Object.defineProperty(globalThis, 'FinalizationRegistry', {
    value: class {
      register(): void {}
      unregister(): void {}
    },
  })
  const bytes = await readFile(context.file('@ruby/3.4-wasm-wasi', 'dist/ruby+stdlib.wasm'))
  const module = await WebAssembly.compile(capMemory(bytes, MOST_MEMORY))
  const shim = (await context.load('@bjorn3/browser_wasi_shim')) as unknown as Shim
  const { RubyVM } = (await context.load('@ruby/wasm-wasi')) as unknown as {
    RubyVM: {
      instantiateModule(
        options: object,
      ): Promise<{ vm: RubyVm; instance: { exports: { memory: { buffer: ArrayBuffer } } } }>
    }
  }
  const empty = (): unknown => new shim.OpenFile(new shim.File(new Uint8Array()))
  const root = new shim.PreopenDirectory('/', new Map())
  const fresh = (): [string, unknown][] => [['tmp', new shim.Directory(new Map())]]
  root.dir.contents = new Map(fresh())
  const system = new shim.WASI([], [], [empty(), empty(), empty(), root], { debug: false })
  const { vm, instance } = await RubyVM.instantiateModule({ module, wasip1: system })
  vm.eval(RUBY_HARNESS)
  vm.eval('MyriadHarness.run("x = 1", nil, nil, false); GC.start')
  const files = system.fds.length
  const { memory } = instance.exports
  const snapshot = snapshotMemory(() => new Uint8Array(memory.buffer))
  let dirty = false

  return {
    async run(request, run) {
      dirty = true
      const { call } = request
      const text = (value: string): string => `["${Buffer.from(value).toString('hex')}"].pack("H*")`
      const name = call ? text(call.name) : 'nil'
      const given = call ? text(JSON.stringify(call.arguments)) : 'nil'
      let answer: Omit<RuntimeAnswer, 'memoryBytes'>
      try {
        const code = `MyriadHarness.run(${text(request.source)}, ${name}, ${given}, ${Boolean(request.compileOnly)})`
        const { verdict, detail, value } = JSON.parse(vm.eval(code).toString()) as RuntimeAnswer
        answer = { verdict, detail, value }
      } catch (error) {
        // `exit!` ends the instance.
        const { code } = error as { code?: unknown }
        if (typeof code !== 'number') throw error
        const fine = code === 0 && !call
        answer = { verdict: fine ? 'ok' : 'runtime-error', detail: fine ? '' : `exit code ${code}`, discard: true }
      }
      if (answer.verdict === 'memory-limit') run.refuseMemory()
      const memoryBytes = memory.buffer.byteLength
      if (memoryBytes > Math.max(run.memoryBytes, snapshot.size) && answer.verdict !== 'memory-limit')
        answer = { verdict: 'memory-limit', detail: 'out of memory' }
      return { ...answer, memoryBytes, discard: answer.discard || memoryBytes > snapshot.size + 64 * 1024 * 1024 }
    },
    reset() {
      if (!dirty) return
      snapshot.restore()
      system.fds.length = files
      for (let i = 0; i < 3; i++) system.fds[i] = empty()
      system.fds[3] = root
      root.dir.contents = new Map(fresh())
      dirty = false
    },
  }
}
