import { describeLost } from '../evaluation/index.js'
import type { TrainEvent, StepMetrics } from '../training/index.js'
import { LiveBlock } from './live-block.js'
import { progressBlock, progressLine, type Standing } from './progress.js'
import { printable, type Terminal } from './terminal.js'

const REDRAW_MS = 100
const LOG_EVERY_MS = 5000
/** Steps that speed and time left are averaged over. */
const WINDOW = 10

/** Shows a run as it goes: a block redrawn in place on a terminal, a line every few seconds elsewhere. */
export class TrainView {
  readonly #terminal: Terminal
  readonly #block: LiveBlock
  readonly #history = new Map<string, number[]>()
  #steps: StepMetrics[] = []
  #standing: Standing = {
    name: '',
    phase: '',
    done: 0,
    total: 0,
    tasks: new Map(),
    tokensPerSecond: null,
    secondsLeft: null,
    dropped: 0,
  }
  #phaseBegan = performance.now()
  #shown = -Infinity
  #told = new Set<string>()

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.#block = new LiveBlock((text) => void process.stderr.write(text))
  }

  /** Takes in an event of the run. */
  readonly onEvent = (event: TrainEvent): void => {
    switch (event.type) {
      case 'start':
        for (const { id } of event.config.tasks) this.#history.set(id, [])
        this.#standing = { ...this.#standing, name: event.config.name, tasks: this.#history }
        this.say(`${event.step > 0 ? `Going on after step ${event.step} of` : 'Run folder'} ${event.out}`)
        break
      case 'progress':
        this.#enter(
          `evaluating ${event.phase === 'during' ? `after step ${this.#steps.at(-1)?.step ?? 0}` : `${event.phase} training`}`,
          event.done,
          event.total,
        )
        this.#standing.secondsLeft =
          event.done < event.total / 20 ? null : this.#elapsed() * (event.total / event.done - 1)
        this.#show(event.done === event.total)
        break
      case 'step':
        this.#step(event.metrics, event.steps)
        break
      case 'dropped':
        this.#standing.dropped += event.episodes.length
        for (const { reason, message } of event.episodes) this.#tellOnce(reason, message)
        break
      case 'evaluation':
        for (const one of event.record.lost ?? []) this.say(describeLost(one))
        break
      case 'interrupted':
      case 'done':
        this.clear()
        break
    }
  }

  /** A line that stays, above whatever is being redrawn. */
  say(line: string): void {
    const text = printable(line)
    if (this.#terminal.live) this.#block.above(text)
    else this.#terminal.note(text)
  }

  /** Takes the block away, so that something else may be printed. */
  clear(): void {
    if (this.#terminal.live) this.#block.clear()
  }

  #step(metrics: StepMetrics, steps: number): void {
    for (const [task, { success }] of Object.entries(metrics.tasks)) {
      if (!Number.isFinite(success)) continue
      this.#history.set(task, [...(this.#history.get(task) ?? []), success])
    }
    this.#steps = [...this.#steps, metrics].slice(-WINDOW)
    this.#enter('training', metrics.step, steps)
    const seconds = this.#steps.map(({ time }) => time.rolloutSeconds + time.updateSeconds)
    const total = seconds.reduce((a, b) => a + b, 0)
    const tokens = this.#steps.reduce((sum, { sampledTokens }) => sum + sampledTokens, 0)
    this.#standing.tokensPerSecond = total > 0 ? tokens / total : null
    this.#standing.secondsLeft = (total / seconds.length) * (steps - metrics.step)
    if (metrics.skipped !== null) this.say(`step ${metrics.step} was skipped: ${metrics.skipped}`)
    this.#show(metrics.step === steps)
  }

  #enter(phase: string, done: number, total: number): void {
    if (phase !== this.#standing.phase) {
      this.#phaseBegan = performance.now()
      this.#shown = -Infinity
      this.#standing.tokensPerSecond = null
    }
    Object.assign(this.#standing, { phase, done, total })
  }

  #elapsed(): number {
    return (performance.now() - this.#phaseBegan) / 1000
  }

  #show(last: boolean): void {
    const now = performance.now()
    const { live, columns, colors } = this.#terminal
    if (!last && now - this.#shown < (live ? REDRAW_MS : LOG_EVERY_MS)) return
    this.#shown = now
    if (live) this.#block.show(progressBlock(this.#standing, columns - 1, colors))
    else this.#terminal.note(progressLine(this.#standing))
  }

  /** The first of each kind in full; the rest is counted. */
  #tellOnce(reason: string, message: string): void {
    if (this.#told.has(reason)) return
    this.#told.add(reason)
    this.say(`dropped an episode (${reason}; further ones are only counted): ${message}`)
  }
}
