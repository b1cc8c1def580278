// One side of a comparison: a process of its own, so that its peak memory is its own, which answers one JSON line a command.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const scripts = {
  myriad: 'myriad.mjs',
  llama: 'llama_side.mjs',
  batchedBench: 'batched_bench_side.mjs',
  torch: 'torch_bench.py',
  trl: 'trl_bench.py',
}

/** Ends every side that still runs: for when the program itself ends early. */
export function stopAll() {
  for (const stop of running) stop()
}
const running = new Set()

/** A side that is not there. */
export const absent = (missing) => ({ missing, ask: async () => null, close: async () => {} })

/**
 * Starts a side and opens it. A side that cannot be started, or fails, says why in `missing` and answers null from then on.
 *
 * @param kind a key of `scripts`
 * @param opening fields of its `open` command
 * @param options `python`: the interpreter; `minutes`: how long any one answer may take; `node`: further arguments of Node;
 *   `environment`: further variables
 */
export async function openSide(kind, opening, { python, minutes, node = [], environment = {} }) {
  const script = fileURLToPath(new URL(scripts[kind], import.meta.url))
  const [program, ...words] = script.endsWith('.py') ? [python] : [process.execPath, ...node]
  const child = spawn(program, [...words, script], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  })
  const gone = new Promise((resolve) => child.once('close', resolve))
  const stop = () => child.kill('SIGKILL')
  running.add(stop)
  void gone.then(() => running.delete(stop))
  let complaint = ''
  child.stderr.on('data', (data) => (complaint = (complaint + data).slice(-4000)))
  child.on('error', (error) => (complaint += error.message))
  child.stdin.on('error', () => {}) // it is told by the missing answer
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const side = { missing: undefined, ask, close }
  async function ask(command, fields = {}) {
    if (side.missing) return null
    child.stdin.write(`${JSON.stringify({ command, ...fields })}\n`)
    let timer
    const late = new Promise((resolve) => (timer = setTimeout(() => resolve({ late: true }), minutes * 60_000)))
    const answer = await Promise.race([lines.next(), late])
    clearTimeout(timer)
    if (answer.late) side.missing = `${command} took longer than ${minutes} minutes`
    else if (answer.done) {
      await gone
      side.missing = complaint.trim().split('\n').at(-1) || `${command} ended without an answer`
    } else {
      const value = JSON.parse(answer.value)
      if (value.error === undefined) return value
      side.missing = value.error
    }
    stop()
    return null
  }
  async function close() {
    child.stdin.end()
    if (side.missing) stop()
    const timer = setTimeout(stop, 60_000)
    await gone
    clearTimeout(timer)
  }
  side.opened = await ask('open', opening)
  return side
}

/** The other end: answers every line of standard input by the command's handler. */
export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { command, ...fields } = JSON.parse(line)
    let answer
    try {
      answer = await handlers[command](fields)
    } catch (error) {
      answer = { error: `${command}: ${error instanceof Error ? error.message : String(error)}` }
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
  process.exit(0)
}

/** Runs some work: seconds it took, and seconds all processors together gave to this process meanwhile. */
export async function timed(work) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpuSeconds: (user + system) / 1e6 }
}
