import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { PYTHON_HARNESS } from './python-harness.js'
import { freezeFiles, type EmscriptenFs } from './memory-files.js'

/**
 * CPython in WebAssembly (Pyodide) without its bridge to JavaScript, which would hand a program the process. One instance; before
 * each program its memory is copied back to what it was after start-up.
 */
export const python: LanguageAdapter = {
  name: 'python',
  module: import.meta.url,
  aliases: ['py', 'python3', 'py3', 'pypy', 'pypy3', 'cpython'],
  packages: [{ name: 'pyodide', version: '314.0.7', optional: true }],
  allow: [
    'env.exit',
    'env._abort_js',
    'env.__assert_fail',
    'env.emscripten_date_now',
    'env.emscripten_get_now',
    'env.emscripten_get_heap_max',
    'env._emscripten_get_progname',
    'env.throw_no_gil',
    'env._Py_CheckEmscriptenSignals_Helper',
    'env._PyEM_TrampolineCall_JS',
    'env._tzset_js',
    'env._timegm_js',
    'env._mktime_js',
    'env._localtime_js',
    'env._gmtime_js',
    'env._mmap_js',
    'env._munmap_js',
    'env._msync_js',
    'env._try_fcntl64',
    'env.__syscall_getuid32_js',
    'env.__syscall_fcntl64',
    'env.__syscall_ioctl',
    'env.__syscall_openat',
    'env.__syscall_faccessat',
    'env.__syscall_chdir',
    'env.__syscall_fchdir',
    'env.__syscall_chmod',
    'env.__syscall_fchmod',
    'env.__syscall_fchmodat2',
    'env.__syscall_dup',
    'env.__syscall_dup3',
    'env.__syscall_fdatasync',
    'env.__syscall_fstat64',
    'env.__syscall_stat64',
    'env.__syscall_newfstatat',
    'env.__syscall_lstat64',
    'env.__syscall_ftruncate64',
    'env.__syscall_truncate64',
    'env.__syscall_getcwd',
    'env.__syscall_getdents64',
    'env.__syscall_mkdirat',
    'env.__syscall_readlinkat',
    'env.__syscall_unlinkat',
    'env.__syscall_rmdir',
    'env.__syscall_renameat',
    'env.__syscall_symlinkat',
    'env.__syscall_utimensat',
    'wasi_snapshot_preview1.proc_exit',
    'wasi_snapshot_preview1.environ_sizes_get',
    'wasi_snapshot_preview1.environ_get',
    'wasi_snapshot_preview1.clock_res_get',
    'wasi_snapshot_preview1.clock_time_get',
    'wasi_snapshot_preview1.random_get',
    'wasi_snapshot_preview1.fd_close',
    'wasi_snapshot_preview1.fd_seek',
    'wasi_snapshot_preview1.fd_sync',
    'wasi_snapshot_preview1.fd_fdstat_get',
    'wasi_snapshot_preview1.fd_pread',
    'wasi_snapshot_preview1.fd_pwrite',
  ],
  resizeHeap: 'env.emscripten_resize_heap',
  descriptors: true,
  bootSeconds: 60,
  heapMiB: 384,
  canary: {
    source:
      'import builtins, sys, os, math\n' +
      'assert not hasattr(builtins, "left") and not hasattr(math, "left") and "left" not in sys.modules\n' +
      'assert not os.path.exists("/tmp/left") and "js" not in sys.modules and os.getcwd() == "/home/pyodide"\n' +
      'assert len.__module__ == "builtins" and len("abc") == 3 and sorted([2, 1]) == [1, 2]\n' +
      'builtins.left = math.left = 1\nsys.modules["left"] = sys\nopen("/tmp/left", "w").close()\nos.chdir("/tmp")\n' +
      'print(6 * 7, len("é"), 2 ** 64)\n',
    stdout: '42 1 18446744073709551616\n',
  },
  boot: bootPython,
}

interface PyodideModule {
  HEAPU8: Uint8Array
  FS: EmscriptenFs
  stringToNewUTF8(text: string): number
  _free(pointer: number): void
  _PyRun_SimpleString(code: number): number
  Py_EmscriptenSignalBuffer?: unknown
}

interface Pyodide {
  _module: PyodideModule
  FS: EmscriptenFs
  runPython(code: string): unknown
  setStdin(options: object): void
  setStdout(options: object): void
  setStderr(options: object): void
  setInterruptBuffer(buffer: unknown): void
}

const MIB = 1024 * 1024
/** An instance that grew by more than this is started anew: its memory cannot shrink. */
const KEPT_GROWTH = 64 * MIB

async function bootPython(context: BootContext): Promise<LanguageRuntime> {
  // Emscripten's NODEFS asks for these constants at start; the permission model forbids process.binding itself.
  const { constants } = await import('node:fs')
  Object.defineProperty(process, 'binding', {
    value: (name: string) => (name === 'constants' ? { fs: constants } : {}),
  })
  const { loadPyodide } = (await context.load('pyodide')) as unknown as {
    loadPyodide(options: object): Promise<Pyodide>
  }
  const quiet = (): void => {}
  const pyodide = await loadPyodide({
    indexURL: context.file('pyodide', '/'),
    env: { HOME: '/home/pyodide', _: 'program', PYTHONHASHSEED: '0' },
    stdout: quiet,
    stderr: quiet,
    jsglobals: {},
    checkAPIVersion: false,
  })
  pyodide.setStdin({ stdin: () => null, isatty: false })
  pyodide.setStdout({ write: (bytes: Uint8Array) => bytes.length, isatty: false })
  pyodide.setStderr({ write: (bytes: Uint8Array) => bytes.length, isatty: false })
  const module = pyodide._module
  const { FS } = module
  FS.mkdir('/run')
  pyodide.runPython(PYTHON_HARNESS)
  let running: RunContext | undefined
  // Python looks here between its instructions: 2 is SIGINT. Not at every look, so that the harness can still answer.
  let interrupted = -Infinity
  const signal = (): number => {
    if (!running?.expired() || performance.now() - interrupted < 100) return 0
    interrupted = performance.now()
    return 2
  }
  pyodide.setInterruptBuffer(Object.defineProperty({ length: 1 }, 0, { get: signal, set: () => {} }))
  const start = module.stringToNewUTF8('import _harness; _harness.run()')
  FS.chdir('/home/pyodide')
  const files = freezeFiles(FS)
  const snapshot = module.HEAPU8.slice()
  let runs = 0
  let dirty = false

  return {
    async run(request, run) {
      const answerFile = `/run/${(++runs).toString(36)}${Math.floor(performance.now() * 1e6).toString(36)}`
      FS.writeFile('/run/request', JSON.stringify({ ...request, answer: answerFile }))
      running = run
      dirty = true
      let answer: Omit<RuntimeAnswer, 'memoryBytes'>
      try {
        module._PyRun_SimpleString(start)
        answer = answerIn(FS, answerFile)
      } catch (error) {
        if ((error as { name?: string } | null)?.name !== 'ExitStatus') throw error
        const { status } = error as { status: number }
        answer = {
          verdict: status === 0 ? 'ok' : 'runtime-error',
          detail: status === 0 ? '' : `exit code ${status}`,
          discard: true,
        }
      } finally {
        running = undefined
      }
      const memoryBytes = module.HEAPU8.length
      return { ...answer, memoryBytes, discard: answer.discard || memoryBytes > snapshot.length + KEPT_GROWTH }
    },
    reset() {
      if (!dirty) return
      module.HEAPU8.set(snapshot)
      module.HEAPU8.fill(0, snapshot.length)
      files.restore()
      dirty = false
    },
  }
}

function answerIn(FS: EmscriptenFs, file: string): Omit<RuntimeAnswer, 'memoryBytes'> {
  try {
    const { verdict, detail, value } = JSON.parse(FS.readFile(file, { encoding: 'utf8' }) as string) as RuntimeAnswer
    return { verdict, detail, value }
  } catch {
    // It was interrupted once more while it answered, ran out of memory, or broke what the harness stands on.
    return { verdict: 'runtime-error', detail: 'the program ended without an answer', discard: true }
  }
}
