import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { MyriadError, messageOf } from '../../core/index.js'
import type { AdapterPackage, LanguageAdapter } from './adapter.js'
import { sandboxCapabilities } from './capabilities.js'
import { frame, frameReader } from './frames.js'
import type { ProgramRequest, ProgramResult } from './types.js'

/** How a run ended: with an answer, killed at its time limit, or with the process dying by itself. */
export type ChildAnswer =
  ({ kind: 'answer'; discard?: boolean } & ProgramResult) | { kind: 'killed' } | { kind: 'died'; how: string }

/** A process that runs programs, one at a time. */
export interface SandboxChild {
  readonly pid: number
  run(request: ProgramRequest): Promise<ChildAnswer>
  /** False once it was killed or died. */
  alive(): boolean
  kill(): void
}

/** What the host waits beyond the limit for the child to say so itself. */
const GRACE_MS = 300
const MESSAGE_OVERHEAD = 4 * 1024 * 1024

interface FoundPackage {
  folder: string
  entry: string
}

/**
 * Where an adapter's packages are.
 *
 * @throws MyriadError 'usage' with the npm command, when one is missing or of another version
 */
export function findPackages(adapter: LanguageAdapter): Record<string, FoundPackage> {
  const found: Record<string, FoundPackage> = {}
  for (const wanted of adapter.packages) found[wanted.name] = findPackage(wanted, adapter)
  return found
}

function findPackage({ name, version }: AdapterPackage, adapter: LanguageAdapter): FoundPackage {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href]) {
    for (const folder of createRequire(from).resolve.paths(name) ?? []) {
      const there = join(folder, name)
      const manifest = manifestOf(there)
      if (!manifest) continue
      if (manifest.version !== version)
        throw new MyriadError(
          'usage',
          `programs in ${adapter.name} need ${name}@${version}, found ${manifest.version}: ${installCommand(adapter)}`,
        )
      return { folder: realpathSync(there), entry: pathToFileURL(join(realpathSync(there), entryOf(manifest))).href }
    }
  }
  throw new MyriadError('usage', `programs in ${adapter.name} need ${name}@${version}: ${installCommand(adapter)}`)
}

function installCommand({ packages }: LanguageAdapter): string {
  const names = packages.filter(({ optional }) => optional).map(({ name, version }) => `${name}@${version}`)
  return names.length > 0 ? `npm install --save-exact ${names.join(' ')}` : 'reinstall myriad-rl'
}

interface Manifest {
  version: string
  main?: string
  module?: string
  exports?: unknown
}

function manifestOf(folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  } catch {
    return null
  }
}

/** The file that `import` would load: the ES module where there is one. */
function entryOf({ exports, module, main }: Manifest): string {
  const root = typeof exports === 'object' && exports !== null && '.' in exports ? exports['.'] : exports
  let entry: unknown = root
  while (typeof entry === 'object' && entry !== null) {
    const ways = entry as Record<string, unknown>
    entry = ways.node ?? ways.import ?? ways.default ?? ways.require
  }
  return typeof entry === 'string' ? entry : (module ?? main ?? 'index.js')
}

const running = new Set<ChildProcess>()
let exitHook = false

/** Nobody else would end a child that is in a loop. */
function killAtExit(): void {
  if (exitHook) return
  exitHook = true
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL')
  })
}

/**
 * Starts a child and waits until its runtime is up.
 *
 * @throws MyriadError 'reward' with what the child said, when it does not start
 */
export async function startChild(adapter: LanguageAdapter): Promise<SandboxChild> {
  const packages = findPackages(adapter)
  const { prefix, nodeFlags } = sandboxCapabilities()
  const here = dirname(fileURLToPath(import.meta.url))
  const cwd = mkdtempSync(join(realpathSync(tmpdir()), 'myriad-sandbox-'))
  const readable = [`${here}/*`, ...Object.values(packages).map(({ folder }) => `${folder}/*`)]
  const command = [
    ...prefix,
    process.execPath,
    ...nodeFlags,
    ...(nodeFlags.length > 0 ? readable.map((path) => `--allow-fs-read=${path}`) : []),
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${adapter.heapMiB ?? 256}`,
    '--stack-size=3900',
    join(here, 'child.js'),
    adapter.module,
    adapter.exported ?? adapter.name,
    JSON.stringify(packages),
  ]
  killAtExit()
  const child = spawn(command[0], command.slice(1), { cwd, env: {}, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] })
  running.add(child)
  const [input, , errors, answers] = child.stdio as unknown as [Writable, null, Readable, Readable]
  let alive = true
  let said = ''
  let expected: { id: number; settle: (answer: ChildAnswer) => void } | undefined
  let ready: { resolve(): void; reject(error: Error): void } | undefined
  let sent = 0

  function end(how: string): void {
    if (!alive) return
    alive = false
    child.kill('SIGKILL')
    ready?.reject(new Error(how))
    expected?.settle({ kind: 'died', how })
  }
  function gone(how: string): void {
    running.delete(child)
    end(how)
    rmSync(cwd, { recursive: true, force: true })
  }
  child.on('error', (error) => gone(messageOf(error)))
  child.on('close', (code, signal) => gone(`${signal ?? `code ${code}`} ${said}`.trim()))
  input.on('error', () => {})
  errors.on('data', (piece: Buffer) => {
    said = (said + piece.toString('latin1')).slice(-2000)
  })
  const read = frameReader(256 * 1024 * 1024, (message) => {
    const { id, failed, lost, ...answer } = message as { id?: number; failed?: string; lost?: string } & ProgramResult
    if (failed !== undefined) return end(failed)
    if (lost !== undefined) return end(lost)
    if (id === undefined) return ready?.resolve()
    if (!expected || id !== expected.id) return end('an answer nobody asked for')
    expected.settle({ kind: 'answer', ...answer })
  })
  let length = 0
  let longest = MESSAGE_OVERHEAD
  answers.on('data', (piece: Buffer) => {
    length += piece.length
    if (length > longest) return end('an answer longer than it may be')
    try {
      read(piece)
    } catch (error) {
      end(messageOf(error))
    }
  })
  // A child that waits for work does not keep the host from ending.
  const holds = [child, input, errors, answers] as unknown as { ref(): void; unref(): void }[]
  const hold = (): void => holds.forEach((one) => one.ref())
  const release = (): void => holds.forEach((one) => one.unref())

  const timer = setTimeout(() => end(`did not start in ${adapter.bootSeconds} seconds`), adapter.bootSeconds * 1000)
  try {
    await new Promise<void>((resolve, reject) => (ready = { resolve, reject }))
  } catch (error) {
    throw new MyriadError('reward', `the sandbox for ${adapter.name} does not start: ${messageOf(error)} ${said}`, {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
    release()
  }
  return {
    pid: child.pid!,
    alive: () => alive,
    kill: () => end('killed'),
    run: (request) =>
      new Promise<ChildAnswer>((resolve) => {
        if (!alive) return resolve({ kind: 'died', how: 'gone' })
        hold()
        length = 0
        // JSON may write one byte as six, and the value of a call may be as long as output.
        longest = MESSAGE_OVERHEAD + 18 * request.limits.outputBytes
        const id = ++sent
        const used = processorMs(child.pid!)
        const started = performance.now()
        const limit = request.limits.seconds * 1000
        let watch = setTimeout(check, limit + GRACE_MS)
        function check(): void {
          // A machine with too little processor time must not judge programs: up to three times the limit then.
          const waited = performance.now() - started
          const got = used === null ? null : processorMs(child.pid!)
          if (got !== null && got - used! < limit && waited < 3 * limit + GRACE_MS) {
            watch = setTimeout(check, Math.max(limit - (got - used!), 50))
            return
          }
          expected?.settle({ kind: 'killed' })
          end('killed')
        }
        expected = {
          id,
          settle: (answer) => {
            clearTimeout(watch)
            expected = undefined
            release()
            resolve(answer)
          },
        }
        input.write(frame({ id, request }))
      }),
  }
}

/** Of processor time that a process has used; null where the system does not say. Clock ticks are 10 ms on Linux. */
function processorMs(pid: number): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return null
  }
}
