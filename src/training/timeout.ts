/** Nothing came in time. */
export class Timeout extends Error {}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}

/**
 * Asks, and waits for the answer only where it is not there at once: most tasks answer synchronously, thousands of times a
 * second. A task that blocks the thread cannot be interrupted.
 *
 * @throws Timeout after `timeoutMs`; the signal is aborted then
 */
export async function withTimeout<T>(ask: (signal: AbortSignal) => T | Promise<T>, timeoutMs: number): Promise<T> {
  const controller = new AbortController()
  const answer = ask(controller.signal)
  if (!isPromise(answer)) return answer
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      controller.abort()
      reject(new Timeout())
    }, timeoutMs)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}
