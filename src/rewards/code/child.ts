// The process a program runs in. Started by child-process.ts with: the adapter's module, the name it exports, and where its
// packages are. Requests come on descriptor 0, answers go to descriptor 3; nothing else is open.
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LanguageAdapter, RunContext, RuntimeAnswer } from './adapter.js'
import { frame, frameReader } from './frames.js'
import { collectOutput } from './output.js'
import type { ProgramRequest, Verdict } from './types.js'
import { ForbiddenImport, raiseWall, type Wall } from './wall.js'

const [moduleUrl, exported, packagesJson] = process.argv.slice(2)
const packages = JSON.parse(packagesJson) as Record<string, { folder: string; entry: string }>

function send(message: unknown): void {
  const bytes = frame(message)
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(3, bytes, done)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

function packageOf(name: string): { folder: string; entry: string } {
  if (!Object.hasOwn(packages, name)) throw new Error(`the adapter does not declare the package ${name}`)
  return packages[name]
}

/** Ways out that JS code of a runtime would find in Node's global scope. */
function bareGlobals(): void {
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'navigator', 'BroadcastChannel'])
    Reflect.deleteProperty(globalThis, name)
  const refuse = (): never => {
    throw new Error('not in a sandbox')
  }
  for (const name of ['dlopen', 'kill', 'chdir', 'setuid', 'setgid', 'reallyExit', 'abort'] as const)
    if (name !== 'reallyExit') Object.defineProperty(process, name, { value: refuse })
}

async function start(): Promise<void> {
  const adapter = ((await import(moduleUrl)) as Record<string, LanguageAdapter>)[exported]
  const wall = raiseWall(adapter)
  bareGlobals()
  const runtime = await adapter.boot({
    load: (name, file) => {
      const { folder, entry } = packageOf(name)
      return import(file === undefined ? entry : pathToFileURL(join(folder, file)).href)
    },
    file: (name, file) => join(packageOf(name).folder, file),
  })
  wall.seal()
  send({ ready: true })
  let last: Promise<void> = Promise.resolve()
  const read = frameReader(64 * 1024 * 1024, (message) => {
    const { id, request } = message as { id: number; request: ProgramRequest }
    last = last.then(async () => {
      send({ id, ...(await runOne(request, wall, (context) => runtime.run(request, context))) })
      try {
        await runtime.reset?.()
      } catch (error) {
        send({ id: -1, lost: described(error) })
      }
    })
  })
  process.stdin.on('data', read)
  process.stdin.on('end', () => process.exit(0))
}

async function runOne(
  { limits, stdin, call, compileOnly }: ProgramRequest,
  wall: Wall,
  run: (context: RunContext) => Promise<RuntimeAnswer>,
): Promise<object> {
  const output = collectOutput(limits.outputBytes)
  const memoryBytes = limits.memoryMiB * 1024 * 1024
  wall.clear()
  wall.memoryBytes = memoryBytes
  const started = performance.now()
  const used = process.cpuUsage()
  const limit = limits.seconds * 1000
  // Processor time counts where others take it away; three times the limit is the end in any case.
  const tooLong = (): boolean => {
    const waited = performance.now() - started
    if (waited <= limit) return false
    const { user, system } = process.cpuUsage(used)
    return (user + system) / 1000 > limit || waited > 3 * limit
  }
  let late = false
  const context: RunContext = {
    output,
    limits,
    memoryBytes,
    expired: () => (late ||= tooLong()) || output.exceeded() || wall.violation() !== null,
    refuseMemory: () => wall.refuseMemory(),
  }
  wall.streams = {
    input: Buffer.from(stdin),
    write: (descriptor, bytes) => void (descriptor === 1 ? output.stdout(bytes) : output.stderr(bytes)),
  }
  let answer: RuntimeAnswer
  let thrown: unknown
  try {
    answer = await run(context)
  } catch (error) {
    thrown = error
    answer = { verdict: verdictOf(error), detail: described(error), memoryBytes: 0, discard: true }
  }
  const seconds = (performance.now() - started) / 1000
  // What the walls noticed weighs more than what the runtime made of it.
  const violation = wall.violation()
  if (violation)
    answer = { ...answer, verdict: 'forbidden', detail: `the program asked for ${violation}`, discard: true }
  else if (output.exceeded())
    answer = { ...answer, verdict: 'output-limit', detail: `more than ${limits.outputBytes} bytes of output` }
  else if (late) answer = { ...answer, verdict: 'time-limit', detail: `more than ${limits.seconds} seconds` }
  else if (wall.memoryRefused() && answer.verdict !== 'ok')
    answer = { ...answer, verdict: 'memory-limit', detail: `more than ${limits.memoryMiB} MiB` }
  else if (call && !compileOnly && answer.verdict === 'ok' && answer.value === undefined)
    answer = { ...answer, verdict: 'runtime-error', detail: 'the program ended before its function returned' }
  if (answer.verdict !== 'ok') delete answer.value
  const stack = thrown instanceof Error && answer.verdict === 'sandbox-error' ? thrown.stack : undefined
  return { ...output.texts(), ...answer, seconds, stack }
}

function verdictOf(error: unknown): Verdict {
  if (error instanceof ForbiddenImport) return 'forbidden'
  const text = described(error)
  if (/call stack|stack overflow/i.test(text)) return 'runtime-error'
  if (/out of memory|allocation failed|could not allocate|cannot enlarge/i.test(text)) return 'memory-limit'
  // A trap or an abort of the instance: the program's doing, the machinery works as it should.
  if (/RuntimeError|unreachable|memory access|table index|null function|function signature|Aborted/i.test(text))
    return 'runtime-error'
  return 'sandbox-error'
}

function described(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`.slice(0, 500)
  return String(error).slice(0, 500)
}

process.on('unhandledRejection', () => {})
start().catch((error: unknown) => {
  send({ failed: error instanceof Error ? String(error.stack) : described(error) })
  process.exit(1)
})
