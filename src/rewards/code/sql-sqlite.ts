import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { BootContext, LanguageAdapter, LanguageRuntime, RunContext, RuntimeAnswer } from './adapter.js'
import { MOST_ROWS, plainRows, rowLine, type SqlCell, type SqlRows } from './sql-result.js'
import type { ProgramRequest } from './types.js'

/**
 * SQLite. Standard input is SQL that makes tables and rows before the program runs; standard output are rows as the command-line
 * shell shows them; the value is what the last query gave (SqlRows). A call of `query` or `rows` runs its argument afterwards.
 * A new instance, and with it a new file system, for each program.
 */
export const sqlite: LanguageAdapter = {
  name: 'sqlite',
  module: import.meta.url,
  aliases: ['sql', 'sqlite3'],
  packages: [{ name: 'sql.js', version: '1.17.0', optional: true }],
  // In the names of version 1.17.0: files in memory, clock, time zone, environment that emscripten makes up, output of the C
  // library, assertions. Not there: timers (a.k), functions by name (a.f).
  allow: [...'abcdeghijmnopqrstuvwxyzABCDEFGHIJKLMN'].map((letter) => `a.${letter}`),
  resizeHeap: 'a.l',
  bootSeconds: 20,
  heapMiB: 512,
  canary: {
    source:
      "CREATE TABLE left_here(a); ATTACH '/tmp/left.db' AS other; CREATE TABLE other.left_here(a);" +
      "SELECT 6 * 7, length('é'), 9223372036854775807, 0.5, NULL, x'00ff', (SELECT count(*) FROM other.sqlite_schema)",
    stdout: '42|1|9223372036854775807|0.5||00ff|1\n',
  },
  boot: bootSqlite,
}

interface Statement {
  step(): boolean
  get(parameters: null, config: { useBigInt: true }): (null | bigint | number | string | Uint8Array)[]
  getColumnNames(): string[]
  free(): void
}

interface Database {
  exec(sql: string): unknown
  iterateStatements(sql: string): Iterable<Statement>
}

interface Sqlite {
  Database: new () => Database
}

type Instance = { exports: Record<string, unknown> }

declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  Memory: new (...sizes: never[]) => { buffer: ArrayBuffer }
  Instance: new (module: object, imports: object) => Instance
}

/** The import by which databases and temporary files, which are JS memory, are written: 'a.q' of version 1.17.0, WASI's fd_write. */
const WRITE = 'q'
/** Of all that one program writes to files. */
const FILE_BYTES = 256 * 1024 * 1024

type Write = (descriptor: number, vectors: number, count: number, written: number) => number

async function bootSqlite(context: BootContext): Promise<LanguageRuntime> {
  const file = context.file('sql.js', 'dist/sql-wasm.js')
  const require = createRequire(file)
  const wasm = await WebAssembly.compile(await readFile(context.file('sql.js', 'dist/sql-wasm.wasm')))

  // The package keeps one instance for all who load it, so it is loaded anew for each.
  async function fresh(): Promise<{ database: Database; memory: { buffer: ArrayBuffer } }> {
    let memory: { buffer: ArrayBuffer } | undefined
    delete require.cache[file]
    const { Database } = await (require(file) as (config: object) => Promise<Sqlite>)({
      print: () => {},
      printErr: () => {},
      instantiateWasm: ({ a }: { a: Record<string, unknown> }, use: (instance: Instance) => unknown) => {
        const instance = new WebAssembly.Instance(wasm, {
          a: { ...a, [WRITE]: limited(a[WRITE] as Write, () => memory!) },
        })
        memory = Object.values(instance.exports).find((one) => one instanceof WebAssembly.Memory) as typeof memory
        return use(instance)
      },
    })
    return { database: new Database(), memory: memory! }
  }

  function limited(write: Write, memory: () => { buffer: ArrayBuffer }): Write {
    let room = FILE_BYTES
    return (descriptor, vectors, count, written) => {
      const view = new DataView(memory().buffer)
      for (let i = 0; i < count; i++) room -= view.getUint32(vectors + 8 * i + 4, true)
      if (room < 0) throw new Error('out of memory: files')
      return write(descriptor, vectors, count, written)
    }
  }

  return {
    async run(request, run) {
      const { database, memory } = await fresh()
      return { ...runIn(database, request, run), memoryBytes: memory.buffer.byteLength }
    },
  }
}

function runIn(database: Database, request: ProgramRequest, run: RunContext): Omit<RuntimeAnswer, 'memoryBytes'> {
  try {
    // Half of the memory: the largest text also has to leave it.
    database.exec(`PRAGMA hard_heap_limit=${Math.floor(run.memoryBytes / 2)}`)
    if (request.stdin.trim() !== '') database.exec(request.stdin)
  } catch (error) {
    return { verdict: 'runtime-error', detail: `the tables cannot be made: ${messageOf(error)}` }
  }
  const state = { rows: 0 }
  const read = (sql: string, print: boolean): SqlRows | Omit<RuntimeAnswer, 'memoryBytes'> => {
    let last: SqlRows = { columns: [], rows: [] }
    try {
      for (const statement of database.iterateStatements(sql)) {
        if (request.compileOnly) continue
        const rows: SqlCell[][] = []
        while (statement.step()) {
          const row = statement.get(null, { useBigInt: true }).map(cell)
          if (++state.rows > MOST_ROWS) return { verdict: 'output-limit', detail: `more than ${MOST_ROWS} rows` }
          if (print ? !run.output.stdout(rowLine(row)) : !run.output.stderr(rowLine(row)))
            return { verdict: 'output-limit', detail: '' }
          if (run.expired()) return { verdict: 'time-limit', detail: '' }
          rows.push(row)
        }
        const columns = statement.getColumnNames()
        if (columns.length > 0) last = { columns, rows }
      }
    } catch (error) {
      const detail = messageOf(error)
      if (/out of memory|too big/i.test(detail)) run.refuseMemory()
      else if (!isSqlError(error)) throw error
      run.output.stderr(`${detail}\n`)
      const compile = /syntax error|incomplete input|unrecognized token|no such (?:table|column|function)/i.test(detail)
      return { verdict: compile ? 'compile-error' : 'runtime-error', detail }
    }
    return last
  }
  const result = read(request.source, true)
  if ('verdict' in result) return result
  const { call } = request
  if (!call) return { verdict: 'ok', detail: '', value: JSON.stringify(result) }
  const asked = read(String(call.arguments[0] ?? ''), false)
  if ('verdict' in asked) return asked
  return { verdict: 'ok', detail: '', value: JSON.stringify(call.name === 'rows' ? plainRows(asked) : asked) }
}

function cell(value: null | bigint | number | string | Uint8Array): SqlCell {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'bigint') return { n: String(value) }
  if (typeof value === 'number')
    return { n: Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toFixed(1) : String(value) }
  return { b: Buffer.from(value).toString('hex') }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0].slice(0, 300)
}

/** sql.js throws plain Errors with SQLite's message, or the message itself. */
function isSqlError(error: unknown): boolean {
  return typeof error === 'string' || (error instanceof Error && error.constructor === Error)
}
