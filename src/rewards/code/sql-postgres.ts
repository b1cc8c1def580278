import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { snapshotFiles, type MemoryFiles, type SnapshotFs } from './file-snapshot.js'
import { snapshotMemory } from './memory-snapshot.js'
import { MOST_ROWS, plainRows, rowLine, statementsOf, type SqlCell, type SqlRows } from './sql-result.js'
import type { ProgramRequest } from './types.js'

/**
 * PostgreSQL (PGlite). Standard input, output, value and calls are those of sql-sqlite.ts. A program is the superuser and may
 * COMMIT: after each one memory and files are copied back to what they were after start-up.
 */
export const postgres: LanguageAdapter = {
  name: 'postgres',
  module: import.meta.url,
  aliases: ['postgresql', 'pgsql', 'plpgsql', 'psql'],
  packages: [{ name: '@electric-sql/pglite', version: '0.5.17', optional: true }],
  // Not there: sockets, pipes (COPY TO PROGRAM), signals, dlopen (plpgsql and the English dictionary are loaded at
  // start-up), names of users.
  allow: [
    'e.f',
    'env.invoke_*',
    'env.exit',
    'env._abort_js',
    'env.__assert_fail',
    'env._setitimer_js',
    'env._tzset_js',
    'env._localtime_js',
    'env._gmtime_js',
    'env._mmap_js',
    'env._munmap_js',
    'env.emscripten_date_now',
    'env.emscripten_get_now',
    'env.emscripten_get_heap_max',
    'env._emscripten_throw_longjmp',
    'env.getTempRet0',
    'env.setTempRet0',
    'env.__syscall_chdir',
    'env.__syscall_chmod',
    'env.__syscall_dup',
    'env.__syscall_dup3',
    'env.__syscall_faccessat',
    'env.__syscall_fadvise64',
    'env.__syscall_fallocate',
    'env.__syscall_fchmod',
    'env.__syscall_fcntl64',
    'env.__syscall_fdatasync',
    'env.__syscall_fstat64',
    'env.__syscall_ftruncate64',
    'env.__syscall_getcwd',
    'env.__syscall_getdents64',
    'env.__syscall_getegid32',
    'env.__syscall_geteuid32',
    'env.__syscall_getgid32',
    'env.__syscall_getuid32',
    'env.__syscall_ioctl',
    'env.__syscall_lstat64',
    'env.__syscall_mkdirat',
    'env.__syscall_newfstatat',
    'env.__syscall_openat',
    'env.__syscall_poll',
    'env.__syscall_readlinkat',
    'env.__syscall_renameat',
    'env.__syscall_rmdir',
    'env.__syscall_stat64',
    'env.__syscall_statfs64',
    'env.__syscall_truncate64',
    'env.__syscall_umask',
    'env.__syscall_unlinkat',
    'env.__syscall_utimensat',
    'wasi_snapshot_preview1.environ_sizes_get',
    'wasi_snapshot_preview1.environ_get',
    'wasi_snapshot_preview1.clock_time_get',
    'wasi_snapshot_preview1.random_get',
    'wasi_snapshot_preview1.fd_close',
    'wasi_snapshot_preview1.fd_fdstat_get',
    'wasi_snapshot_preview1.fd_pread',
    'wasi_snapshot_preview1.fd_pwrite',
    'wasi_snapshot_preview1.fd_read',
    'wasi_snapshot_preview1.fd_seek',
    'wasi_snapshot_preview1.fd_sync',
    'wasi_snapshot_preview1.fd_write',
  ],
  resizeHeap: 'env.emscripten_resize_heap',
  bootSeconds: 180,
  heapMiB: 512,
  // 189 MiB are PostgreSQL's own.
  limits: { memoryMiB: 512, seconds: 10 },
  canary: {
    source:
      'CREATE TABLE left_here(a int); INSERT INTO left_here VALUES (1); CREATE ROLE left_here; COMMIT;' +
      "COPY left_here TO '/tmp/left'; SET work_mem = '64kB'; SET ROLE left_here;" +
      "SELECT 6 * 7, length('é'), 9223372036854775807, 1.50, 0.5::float8, true, NULL, '\\x00ff'::bytea, to_tsvector('english', 'dogs')",
    stdout: "42|1|9223372036854775807|1.50|0.5|t||00ff|'dog':1\n",
  },
  boot: bootPostgres,
}

interface Message {
  name: string
  /** Of an error. */
  code?: string
  message?: string
  fields?: readonly { name: string; dataTypeID: number }[] | readonly (string | null)[]
}

interface Pglite {
  Module: {
    HEAPU8: Uint8Array
    FS: SnapshotFs
    MEMFS: MemoryFiles
    stackSave(): number
    stackRestore(pointer: number): void
  }
  exec(sql: string): Promise<unknown>
  execProtocolRaw(message: Uint8Array, options: { syncToFs: false }): Promise<Uint8Array>
}

interface Protocol {
  serialize: Record<'query' | 'parse' | 'bind' | 'describe' | 'execute' | 'sync', (options?: unknown) => Uint8Array>
  Parser: new () => { parse(bytes: Uint8Array, each: (message: Message) => void): void }
}

const MIB = 1024 * 1024
/** Files may grow by this: tables, temporary files, the log. */
const FILE_BYTES = 256 * MIB
const ROWS_AT_ONCE = 100

async function bootPostgres(context: BootContext): Promise<LanguageRuntime> {
  const { constants } = await import('node:fs')
  Object.defineProperty(process, 'binding', {
    value: (name: string) => (name === 'constants' ? { fs: constants } : {}),
  })
  const { PGlite, protocol } = (await context.load('@electric-sql/pglite')) as unknown as {
    PGlite: { create(): Promise<Pglite> }
    protocol: Protocol
  }
  const database = await PGlite.create()
  await database.exec(
    "SET TimeZone = 'UTC'; SET client_min_messages = error; DO $$ BEGIN PERFORM 1; END $$; SELECT to_tsvector('english', 'a');" +
      'CHECKPOINT; BEGIN; CREATE TABLE t(a text PRIMARY KEY); INSERT INTO t VALUES (1); SELECT * FROM t ORDER BY a; ROLLBACK',
  )
  const { Module } = database
  // A timer would go off in the state of another program.
  Object.defineProperty(globalThis, 'setTimeout', { value: () => 0 })
  let running: RunContext | undefined
  const files = snapshotFiles(Module.FS, Module.MEMFS, () => running?.refuseMemory())
  const memory = snapshotMemory(() => Module.HEAPU8)
  const stack = Module.stackSave()
  let dirty = false

  const talk = async (message: Uint8Array): Promise<Message[]> => {
    const messages: Message[] = []
    const bytes = await database.execProtocolRaw(message, { syncToFs: false })
    new protocol.Parser().parse(bytes, (one) => messages.push(one))
    return messages
  }

  return {
    async run(request, run) {
      dirty = true
      running = run
      files.limit(FILE_BYTES)
      try {
        const answer = await runIn(talk, protocol.serialize, request, run)
        const memoryBytes = Module.HEAPU8.length
        return { ...answer, memoryBytes, discard: memoryBytes > memory.size + 64 * MIB }
      } finally {
        running = undefined
      }
    },
    reset() {
      if (!dirty) return
      memory.restore()
      Module.stackRestore(stack)
      files.restore()
      dirty = false
    },
  }
}

class SqlError extends Error {
  constructor(
    message: string,
    readonly state: string,
  ) {
    super(message)
  }
}

async function runIn(
  talk: (message: Uint8Array) => Promise<Message[]>,
  serialize: Protocol['serialize'],
  request: ProgramRequest,
  run: RunContext,
): Promise<Omit<RuntimeAnswer, 'memoryBytes'>> {
  const said = async (message: Uint8Array): Promise<Message[]> => {
    const messages = await talk(message)
    const error = messages.find(({ name }) => name === 'error')
    if (error) throw new SqlError(String(error.message), String(error.code))
    return messages
  }
  try {
    if (request.stdin.trim() !== '') await said(serialize.query(request.stdin))
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    return { verdict: 'runtime-error', detail: `the tables cannot be made: ${error.message}` }
  }
  let total = 0

  async function read(sql: string, print: boolean): Promise<SqlRows | Omit<RuntimeAnswer, 'memoryBytes'>> {
    let last: SqlRows = { columns: [], rows: [] }
    for (const statement of statementsOf(sql, 'postgres')) {
      const rows: SqlCell[][] = []
      await said(serialize.parse({ text: statement }))
      if (request.compileOnly) {
        await said(serialize.sync())
        continue
      }
      await said(serialize.bind())
      const described = await said(serialize.describe({ type: 'P' }))
      const fields = described.find(({ name }) => name === 'rowDescription')?.fields as
        readonly { name: string; dataTypeID: number }[] | undefined
      for (let more = true; more;) {
        const messages = await said(serialize.execute({ rows: ROWS_AT_ONCE }))
        more = messages.some(({ name }) => name === 'portalSuspended')
        for (const { name, fields: cells } of messages) {
          if (name !== 'dataRow' || !fields) continue
          const row = (cells as readonly (string | null)[]).map((text, at) => cell(text, fields[at].dataTypeID))
          if (++total > MOST_ROWS) return { verdict: 'output-limit', detail: `more than ${MOST_ROWS} rows` }
          if (print ? !run.output.stdout(rowLine(row)) : !run.output.stderr(rowLine(row)))
            return { verdict: 'output-limit', detail: '' }
          rows.push(row)
        }
        if (run.expired()) return { verdict: 'time-limit', detail: '' }
      }
      await said(serialize.sync())
      if (fields) last = { columns: fields.map(({ name }) => name), rows }
    }
    return last
  }

  try {
    const result = await read(request.source, true)
    if ('verdict' in result) return result
    const { call } = request
    if (!call) return { verdict: 'ok', detail: '', value: JSON.stringify(result) }
    const asked = await read(String(call.arguments[0] ?? ''), false)
    if ('verdict' in asked) return asked
    return { verdict: 'ok', detail: '', value: JSON.stringify(call.name === 'rows' ? plainRows(asked) : asked) }
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    // Out of memory, disk full, limits of the program.
    if (/^(?:53|54)/.test(error.state)) run.refuseMemory()
    const detail = `${error.message} (${error.state})`.split('\n', 1)[0].slice(0, 300)
    run.output.stderr(`${detail}\n`)
    return { verdict: error.state.startsWith('42') ? 'compile-error' : 'runtime-error', detail }
  }
}

const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700])
const BOOLEAN = 16
const BYTES = 17

function cell(text: string | null, type: number): SqlCell {
  if (text === null) return null
  if (type === BOOLEAN) return text === 't'
  if (type === BYTES) return { b: text.replace(/^\\x/, '') }
  return NUMBERS.has(type) ? { n: text } : text
}
