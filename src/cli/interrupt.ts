/** npm hands an interrupt on to its child, which has it from the terminal already: two at once are one. */
const SAME_PRESS_MS = 300

/** Ends the process as the signal would have without us. process.exit would first tear down worker threads in mid-flight. */
export function dieBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

/**
 * Ctrl-C: the first asks for an orderly end through `signal`, the second ends the process at once, by that
 * same signal: a shell sees exit code 130. SIGTERM counts alike.
 *
 * @param told called on each, to say what will happen
 */
export function onInterrupt(told: (time: 'first' | 'second') => void): { signal: AbortSignal; dispose: () => void } {
  const controller = new AbortController()
  let first = 0
  const handle = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (!controller.signal.aborted) {
      first = now
      told('first')
      controller.abort()
    } else if (now - first > SAME_PRESS_MS) {
      told('second')
      dieBy(signal)
    }
  }
  process.on('SIGINT', handle)
  process.on('SIGTERM', handle)
  const dispose = (): void => {
    process.off('SIGINT', handle)
    process.off('SIGTERM', handle)
  }
  return { signal: controller.signal, dispose }
}
