import type pc from 'picocolors'
import { displayWidth, padEnd } from './terminal.js'

type Colors = ReturnType<typeof pc.createColors>

/** How a run stands. */
export interface Standing {
  name: string
  /** What it is doing now: 'evaluation before', 'training', ... */
  phase: string
  /** Done and to do within the phase: episodes of an evaluation, steps of training. */
  done: number
  total: number
  /** Success on training problems by task, latest last, each in [0, 1]. */
  tasks: ReadonlyMap<string, readonly number[]>
  tokensPerSecond: number | null
  secondsLeft: number | null
  /** Trajectories dropped so far. */
  dropped: number
}

const BAR = 24
const SPARKS = '▁▂▃▄▅▆▇█'

/** The block a terminal shows while a run goes on, as lines no wider than `width` columns. */
export function progressBlock(standing: Standing, width: number, colors: Colors): string[] {
  const { name, phase, done, total, tasks, dropped } = standing
  const share = total === 0 ? 0 : done / total
  const head = [`${colors.bold(name)}  ${phase}`, `${done}/${total}`, bar(share, BAR, colors.cyan), ...rates(standing)]
  if (dropped > 0) head.push(colors.yellow(`${dropped} dropped`))
  const longest = Math.max(0, ...[...tasks.keys()].map(displayWidth))
  const history = Math.max(0, Math.min(30, width - longest - BAR - 14))
  const lines = [...tasks].flatMap(([task, values]) => {
    if (values.length === 0) return []
    const now = recent(values)
    return `  ${padEnd(task, longest)}  ${bar(now, BAR, colors.green)} ${percent(now)}  ${colors.dim(sparkline(values, history))}`
  })
  return [fit(head, width), ...lines.map((line) => (displayWidth(line) <= width ? line : line.slice(0, width)))]
}

/** One line for a log that is no terminal. */
export function progressLine(standing: Standing): string {
  const { phase, done, total, tasks, dropped } = standing
  const parts = [`${phase} ${done}/${total}`, ...rates(standing)]
  const begun = [...tasks].filter(([, values]) => values.length > 0)
  const means = begun.map(([task, values]) => `${task} ${percent(recent(values)).trim()}`)
  if (means.length > 0) parts.push(means.join(' '))
  if (dropped > 0) parts.push(`${dropped} dropped`)
  return parts.join('  ')
}

function rates({ tokensPerSecond, secondsLeft }: Standing): string[] {
  const parts: string[] = []
  if (tokensPerSecond !== null) parts.push(`${thousands(tokensPerSecond)} tokens/s`)
  if (secondsLeft !== null) parts.push(`${clock(secondsLeft)} left`)
  return parts
}

/** As many parts as the width takes. */
function fit(parts: readonly string[], width: number): string {
  let line = parts[0]
  for (const part of parts.slice(1)) {
    if (displayWidth(line) + 2 + displayWidth(part) > width) break
    line += `  ${part}`
  }
  return line
}

/** Mean of the last five values: single steps are noisy. */
export function recent(values: readonly number[]): number {
  const last = values.slice(-5)
  return last.length === 0 ? 0 : last.reduce((a, b) => a + b, 0) / last.length
}

function bar(share: number, width: number, color: (text: string) => string): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return color('█'.repeat(full)) + '░'.repeat(width - full)
}

/** Values in [0, 1] as a row of blocks, averaged down to `width` of them. */
export function sparkline(values: readonly number[], width: number): string {
  const count = Math.min(width, values.length)
  return Array.from({ length: count }, (_, i) => {
    const own = values.slice(Math.floor((i * values.length) / count), Math.floor(((i + 1) * values.length) / count))
    const average = own.reduce((a, b) => a + b, 0) / own.length
    return SPARKS[Math.min(SPARKS.length - 1, Math.max(0, Math.floor(average * SPARKS.length)))]
  }).join('')
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`.padStart(4)
}

function thousands(value: number): string {
  return value >= 1000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value))
}

/** 75 -> "1:15". */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const rest = String(whole % 60).padStart(2, '0')
  const minutes = Math.floor(whole / 60)
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`
}
