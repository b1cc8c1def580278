import { availableParallelism } from 'node:os'
import { MyriadError, messageOf } from '../../core/index.js'
import type { LanguageAdapter } from './adapter.js'
import { startChild, type SandboxChild } from './child-process.js'
import { DEFAULT_LIMITS, type ProgramLimits, type ProgramRequest, type ProgramResult } from './types.js'

/** Programs of one language, each in fresh state in one of a few warm processes. */
export interface Sandbox {
  /** Waits for a free process. Never rejects for what a program does. */
  run(request: Omit<ProgramRequest, 'limits'> & { limits?: Partial<ProgramLimits> }): Promise<ProgramResult>
  /** Processes that are up; for tests. */
  pids(): readonly number[]
  /** Ends all processes. */
  close(): Promise<void>
}

export interface SandboxOptions {
  /** Programs at once; one less than the processors unless given, at least 1. */
  children?: number
  /** Processes more than that, warm, to stand in for one that was thrown away. */
  spares?: number
  /** Runs of one process between two canary programs. */
  canaryEvery?: number
}

/** Longer than any program a model writes, and still cheap to refuse. */
const LONGEST_SOURCE = 1024 * 1024
const LONGEST_STDIN = 16 * 1024 * 1024

interface Waiting {
  request: ProgramRequest
  resolve(result: ProgramResult): void
  /** Processes that this program brought down. */
  deaths: number
}

/**
 * A pool of warm processes for a language. Each new one must first run the canary; it runs again every `canaryEvery` programs.
 * A process is thrown away when a program was stopped, asked for what is forbidden, or left its instance unfit.
 *
 * @example const sandbox = createSandbox(javascript)
 * await sandbox.run({ source: 'console.log(6 * 7)', stdin: '' }) // { stdout: '42\n', verdict: 'ok', ... }
 */
export function createSandbox(adapter: LanguageAdapter, options: SandboxOptions = {}): Sandbox {
  const children = options.children ?? Math.max(1, availableParallelism() - 1)
  const target = children + (options.spares ?? 1)
  const canaryEvery = options.canaryEvery ?? 64
  const queue: Waiting[] = []
  const idle: { child: SandboxChild; runs: number }[] = []
  const all = new Set<SandboxChild>()
  let busy = 0
  let starting = 0
  let failures = 0
  let closed = false
  const boots = new Set<Promise<void>>()

  function fill(): void {
    // After a failure only waiting programs are a reason to try again.
    const wanted = (): boolean => queue.length > 0 || (failures === 0 && all.size > 0)
    while (!closed && all.size + starting < target && wanted()) {
      starting++
      const boot = start().finally(() => boots.delete(boot))
      boots.add(boot)
    }
  }

  async function start(): Promise<void> {
    try {
      const child = await startChild(adapter)
      if (closed) return child.kill()
      await canary(child)
      all.add(child)
      idle.push({ child, runs: 0 })
      failures = 0
    } catch (error) {
      failures++
      // Three in a row: whatever waits cannot be run. A fault of the machinery, never of a program.
      if (failures >= 3 || (error instanceof MyriadError && error.code === 'usage')) {
        failures = 0
        for (const { resolve } of queue.splice(0)) resolve(sandboxError(messageOf(error)))
      }
    } finally {
      starting--
    }
    serve()
  }

  async function canary(child: SandboxChild): Promise<void> {
    const limits = { ...DEFAULT_LIMITS, ...adapter.limits, seconds: 20 }
    const answer = await child.run({ source: adapter.canary.source, stdin: '', limits })
    if (answer.kind === 'answer' && answer.verdict === 'ok' && answer.stdout === adapter.canary.stdout) return
    child.kill()
    const said =
      answer.kind === 'answer' ? `${answer.verdict} ${answer.detail} ${answer.stdout}${answer.stderr}` : answer.kind
    throw new MyriadError('reward', `the sandbox for ${adapter.name} is not as it should be: ${said.slice(0, 1000)}`)
  }

  function serve(): void {
    while (queue.length > 0 && idle.length > 0 && busy < children) {
      const slot = idle.shift()!
      if (!slot.child.alive()) {
        all.delete(slot.child)
        continue
      }
      const waiting = queue.shift()!
      busy++
      void runOn(slot, waiting)
    }
    fill()
  }

  async function runOn(slot: { child: SandboxChild; runs: number }, waiting: Waiting): Promise<void> {
    const { child } = slot
    const { request, resolve } = waiting
    const started = performance.now()
    const answer = await child.run(request)
    busy--
    slot.runs++
    const seconds = (performance.now() - started) / 1000
    if (answer.kind === 'answer' && answer.verdict !== 'sandbox-error') {
      const { kind: _, discard, ...result } = answer
      if (discard || result.verdict === 'forbidden') drop(child)
      else await keep(slot)
      resolve(result)
    } else {
      drop(child)
      if (answer.kind === 'killed')
        resolve(stopped('time-limit', `more than ${request.limits.seconds} seconds`, seconds))
      else lost(waiting, answer.kind === 'answer' ? answer.detail : answer.how, seconds)
    }
    serve()
  }

  /** One death may be the machine's; two of one program, each in a process that ran the canary, are the program's. */
  function lost(waiting: Waiting, how: string, seconds: number): void {
    if (closed) waiting.resolve(sandboxError('the sandbox was closed'))
    else if (++waiting.deaths < 2) queue.unshift(waiting)
    else if (/heap out of memory|allocation fail|SIGABRT|SIGTRAP/i.test(how))
      waiting.resolve(stopped('memory-limit', 'the process ran out of memory twice', seconds))
    else waiting.resolve(stopped('runtime-error', `ended the sandbox twice: ${how}`.slice(0, 300), seconds))
  }

  async function keep(slot: { child: SandboxChild; runs: number }): Promise<void> {
    if (slot.runs % canaryEvery === 0) {
      try {
        await canary(slot.child)
      } catch {
        return drop(slot.child)
      }
    }
    if (slot.child.alive() && !closed) idle.push(slot)
    else drop(slot.child)
  }

  function drop(child: SandboxChild): void {
    child.kill()
    all.delete(child)
  }

  return {
    run: ({ limits, ...request }) =>
      new Promise((resolve) => {
        if (closed) return resolve(sandboxError('the sandbox was closed'))
        if (request.source.length > LONGEST_SOURCE)
          return resolve(stopped('compile-error', `a program of more than ${LONGEST_SOURCE} characters`, 0))
        if (request.stdin.length > LONGEST_STDIN)
          return resolve(sandboxError(`more than ${LONGEST_STDIN} characters of input`))
        queue.push({
          request: { ...request, limits: { ...DEFAULT_LIMITS, ...adapter.limits, ...limits } },
          resolve,
          deaths: 0,
        })
        serve()
      }),
    pids: () => [...all].filter((child) => child.alive()).map(({ pid }) => pid),
    close: async () => {
      closed = true
      for (const { resolve } of queue.splice(0)) resolve(sandboxError('the sandbox was closed'))
      for (const child of all) child.kill()
      all.clear()
      await Promise.all(boots)
    },
  }
}

function stopped(verdict: ProgramResult['verdict'], detail: string, seconds: number): ProgramResult {
  return { stdout: '', stderr: '', verdict, detail, seconds, memoryBytes: 0 }
}

function sandboxError(detail: string): ProgramResult {
  return stopped('sandbox-error', detail, 0)
}
