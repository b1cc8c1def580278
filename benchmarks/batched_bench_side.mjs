// llama.cpp's own program llama-batched-bench as a side of bench.mjs: it reads and decodes, and draws no tokens at all.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { serve } from './side.mjs'

let program, words, shape
let memoryBytes = 0

function open({ program: path, file, sampling, threads }) {
  shape = sampling
  program = path
  const context = sampling.sequences * (sampling.prompt + sampling.reply)
  // prettier-ignore
  words = ['-m', file, '-t', threads, '-tb', threads, '-c', context, '-npp', sampling.prompt, '-ntg', sampling.reply,
    '-npl', sampling.sequences, '-b', 2048, '-ub', 2048, '--output-format', 'jsonl'].map(String)
  return {}
}

/** One process a measurement, as the program is made: what it says of its own time, loading left out. */
async function sample() {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let complaint = ''
  child.stdout.on('data', (data) => (output += data))
  child.stderr.on('data', (data) => (complaint = (complaint + data).slice(-2000)))
  const watch = setInterval(() => (memoryBytes = Math.max(memoryBytes, peakOf(child.pid))), 20)
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  clearInterval(watch)
  const line = output.split('\n').find((each) => each.startsWith('{'))
  if (code !== 0 || line === undefined)
    throw new Error(complaint.trim().split('\n').at(-1) || `ended with code ${code}`)
  const { t_pp: reading, t_tg: writing, tg, pl } = JSON.parse(line)
  if (tg !== shape.reply || pl !== shape.sequences) throw new Error(`measured something else: ${line}`)
  return { seconds: reading + writing }
}

function peakOf(pid) {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0 // it has just ended, or there is no /proc
  }
}

await serve({ open, sample, memory: () => ({ bytes: memoryBytes }) })
