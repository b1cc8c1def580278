import { Worker } from 'node:worker_threads'
import { MyriadError, messageOf } from '../../core/index.js'
import type { OptionalPackage } from '../declaration.js'
import { sameAnswer, type AnswerOptions, type AnswerVerdict } from './same-answer.js'

/** The computer algebra system that `createAlgebra` runs. */
export const algebraPackage: OptionalPackage = { name: '@cortex-js/compute-engine', version: '0.140.0' }

/** A computer algebra system in a thread of its own. */
export interface Algebra {
  /**
   * Are two LaTeX expressions equal? Null where it cannot tell, or not in time.
   *
   * @throws MyriadError 'usage' when its package is not installed
   */
  equal(a: string, b: string): Promise<boolean | null>
  close(): Promise<void>
}

/** What the thread answers: it has loaded, an answer, or why it cannot work. */
export type AlgebraMessage = { ready: true } | { equal: boolean | null } | { failed: string }

/** Longest expression that is handed over, in code units. */
const MOST_EXPRESSION = 1000

/**
 * Starts compute-engine in a worker thread when it is first asked. An expression that takes longer than `timeoutMs`, or more memory
 * than 512 MB, ends the thread; the next one gets a new thread. Questions are answered one after another.
 *
 * @param options.timeoutMs for one comparison, loading aside
 * @example
 * const algebra = createAlgebra({ timeoutMs: 2000 })
 * await algebra.equal('\\int_0^1 x dx', '\\frac12')
 */
export function createAlgebra({ timeoutMs = 2000 }: { timeoutMs?: number } = {}): Algebra {
  let worker: Worker | null = null
  let queue: Promise<unknown> = Promise.resolve()

  const stop = async (): Promise<void> => {
    const ending = worker
    worker = null
    await ending?.terminate()
  }

  /** The next message; null when none comes in time or the thread ended. */
  const next = (thread: Worker, withinMs: number): Promise<AlgebraMessage | null> =>
    new Promise((resolve) => {
      const settle = (message: AlgebraMessage | null): void => {
        clearTimeout(timer)
        thread.off('message', settle)
        thread.off('error', ended)
        thread.off('exit', ended)
        resolve(message)
      }
      const ended = (): void => settle(null)
      const timer = setTimeout(ended, withinMs)
      thread.on('message', settle)
      thread.on('error', ended)
      thread.on('exit', ended)
    })

  const started = async (): Promise<Worker> => {
    if (worker) return worker
    const thread = new Worker(new URL('./algebra-worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    thread.on('error', () => (worker = worker === thread ? null : worker)) // out of memory, perhaps
    thread.unref()
    worker = thread
    const message = await next(thread, 120_000)
    if (message && 'ready' in message) return thread
    await stop()
    const { name, version } = algebraPackage
    const why = message && 'failed' in message ? message.failed : 'it did not start'
    throw new MyriadError('usage', `${name} cannot be used: ${why}; run "npm install ${name}@${version}"`)
  }

  const ask = async (a: string, b: string): Promise<boolean | null> => {
    if (a.length > MOST_EXPRESSION || b.length > MOST_EXPRESSION) return null
    const thread = await started()
    thread.postMessage([a, b])
    const message = await next(thread, timeoutMs)
    if (message && 'equal' in message) return message.equal
    await stop()
    return null
  }

  return {
    equal: (a, b) => {
      const asked = queue.then(() => ask(a, b))
      queue = asked.catch((error: unknown) => messageOf(error)) // the caller has it
      return asked
    },
    close: async () => {
      await queue
      await stop()
    },
  }
}

/**
 * As `sameAnswer`; what that cannot tell, a computer algebra system is asked.
 *
 * @throws MyriadError 'usage' when its package is not installed
 */
export async function sameAnswerWith(
  algebra: Algebra,
  reply: string,
  expected: string,
  options: AnswerOptions = {},
): Promise<AnswerVerdict> {
  const verdict = sameAnswer(reply, expected, options)
  if (verdict.decided || verdict.extracted === null) return verdict
  const equal = await algebra.equal(verdict.extracted, expected)
  if (equal === null) return { ...verdict, why: `${verdict.why}, nor by ${algebraPackage.name}` }
  return { ...verdict, equal, score: equal ? 1 : verdict.score, decided: true, why: `by ${algebraPackage.name}` }
}
