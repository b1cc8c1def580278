import { MyriadError, type Json } from '../core/index.js'
import type { LearnContext } from '../algorithms/types.js'
import { evaluate } from '../evaluation/evaluate.js'
import { randomPlayer } from '../evaluation/random-player.js'
import { runAlarms } from '../evaluation/report-alarms.js'
import { writeReport } from '../evaluation/report.js'
import type { Policy } from '../policy/types.js'
import { alarmLine } from '../rewards/hygiene/alarms.js'
import type { ChatFormat } from '../text/types.js'
import { loadCheckpoint, saveCheckpoint, saveFinal } from './checkpoint.js'
import type { TrainConfig } from './config.js'
import { playContinuations } from './continue.js'
import { learn, NO_UPDATE } from './learn.js'
import { episodeRecords, stepMetrics } from './metrics.js'
import { playStep } from './play.js'
import type { Parts } from './prepare.js'
import { lockRun } from './run-lock.js'
import type { RunFolder } from './run-folder.js'
import { learningRateAt } from './schedule.js'
import { addStep, initialTotals, summarize } from './summary.js'
import type { Supply } from './supply.js'
import type { TrainOptions } from './train.js'
import type { EvaluationPhase, EvaluationRecord, RunState, StepMetrics, Summary, TrainEvent } from './types.js'

const ALL_DROPPED = 'every episode was dropped'

/** All that a run works with. */
export interface TrainerContext {
  config: TrainConfig
  options: Pick<TrainOptions, 'onEvent' | 'signal'>
  parts: Parts
  run: RunFolder
  policy: Policy
  chat: ChatFormat
  supply: Supply
}

/** One run, from opening to summary. */
export class Trainer {
  private readonly context: TrainerContext
  private state: RunState
  private evaluations: EvaluationRecord[] = []
  private lastSkip: string | undefined
  /** When the current stretch began, on the clock of `totals.wallSeconds`. */
  private clock = performance.now()

  constructor(context: TrainerContext) {
    this.context = context
    this.state = { step: 0, curriculum: context.parts.curriculum.state(), algorithm: null, totals: initialTotals() }
  }

  async run(): Promise<Summary> {
    const { run } = this.context
    await run.begin()
    const release = await lockRun(run.path)
    try {
      return await this.finish()
    } finally {
      release()
    }
  }

  private async finish(): Promise<Summary> {
    const { config, options, run, policy } = this.context
    await this.restore()
    this.emit({ type: 'start', config, out: run.path, step: this.state.step })
    if (!this.evaluations.some(({ phase }) => phase === 'before') && !(await this.evaluate('before')))
      return this.pause()
    while (this.state.step < config.steps) {
      if (options.signal?.aborted) return this.pause()
      await this.step(this.state.step + 1)
    }
    if (!(await this.evaluate('after'))) return this.pause()
    await saveFinal(run.path, policy)
    const warning = alarmLine(await runAlarms(run.path))
    const summary = { ...this.summary(true), ...(warning !== null && { warnings: [warning] }) }
    await run.writeSummary(summary)
    this.emit({ type: 'done', summary, report: await writeReport(run.path) })
    return summary
  }

  /** A step is whole when its checkpoint is: what is written before that is cut back on resuming. */
  private async step(step: number): Promise<void> {
    const { config, run, policy, chat, parts, supply } = this.context
    const { algorithm, curriculum } = parts
    const started = performance.now()
    const playing = { ...parts, policy, chat, config, step }
    const { play, groups } = await playStep({ ...playing, needs: algorithm.needs })
    curriculum.observe(play.groups)
    const demonstrations = await supply.demonstrate(groups, step)
    const context: LearnContext = {
      step,
      seed: config.seed,
      state: this.state.algorithm,
      ...(algorithm.needs.demonstrations && { demonstrations }),
    }
    const taught = algorithm.needs.continuations
      ? await playContinuations(groups, demonstrations ?? [], algorithm, context, playing, play)
      : groups
    const lesson = algorithm.learn(taught, context)
    const played = performance.now()
    const poisoned = play.dropped.find(({ reason }) => reason === 'reward-not-finite')
    // A task or reward that always fails teaches nothing: steps without a single episode end the run as bad ones do.
    const isBarren = play.groups.every(({ trajectories }) => trajectories.length === 0)
    const barren = isBarren ? `${ALL_DROPPED}; the first: ${play.dropped[0]?.message ?? 'none was played'}` : null
    const learningRate = learningRateAt(config, step)
    const update = poisoned
      ? NO_UPDATE
      : await learn({
          policy,
          supply,
          algorithm,
          groups,
          demonstrations,
          lesson,
          context,
          config,
          learningRate,
        })
    await supply.follow()
    const metrics = stepMetrics({
      step,
      play,
      groups,
      lesson,
      update,
      skipped: poisoned?.message ?? barren ?? update.failure,
      version: policy.version,
      learningRate,
      time: {
        rolloutSeconds: seconds(started, played),
        updateSeconds: seconds(played),
        wallSeconds: this.wallSeconds(),
      },
    })
    this.state = {
      step,
      curriculum: curriculum.state(),
      algorithm: asSaved(update.state === undefined ? lesson.state : update.state),
      totals: addStep(this.state.totals, metrics),
    }
    this.lastSkip = metrics.skipped ?? this.lastSkip
    await run.appendStep(metrics, episodeRecords(step, groups, lesson, chat.tokenizer, config.episodesPerStep))
    if (play.dropped.length > 0) this.emit({ type: 'dropped', step, episodes: play.dropped })
    this.emit({ type: 'step', metrics, steps: config.steps })
    const { every } = config.evaluation
    if (every > 0 && step % every === 0 && step < config.steps) await this.evaluate('during')
    if (step % config.checkpointEvery === 0 || step === config.steps) await this.checkpoint()
    this.stopWhenPoisoned(metrics)
  }

  /** Takes up the last checkpoint, if there is one, and forgets what was written after it. */
  private async restore(): Promise<void> {
    const { run, policy, parts, supply } = this.context
    const state = await loadCheckpoint(run.path, policy, supply)
    if (state) {
      this.state = state
      parts.curriculum.restore(state.curriculum)
    }
    await run.cutBack(this.state.step)
    this.evaluations = await run.evaluations()
  }

  /** @returns false when it was interrupted: nothing of it is kept then */
  private async evaluate(phase: EvaluationPhase): Promise<boolean> {
    const { config, options, parts, policy, chat, run } = this.context
    const { problemsPerCell, samples, seed, randomPlays } = config.evaluation
    try {
      const result = await evaluate({
        policy,
        chat,
        tasks: parts.tasks,
        score: parts.score,
        problemsPerCell,
        samples,
        seed,
        limits: config.limits,
        onProgress: (done, total) => this.emit({ type: 'progress', phase, done, total }),
        // An evaluation in the middle belongs to its step, which is finished.
        signal: phase === 'during' ? undefined : options.signal,
      })
      const plays = { problemsPerCell, plays: randomPlays, seed, turnTimeoutMs: config.limits.turnTimeoutMs }
      const random = phase === 'before' && randomPlays > 0 ? await randomPlayer(parts.tasks, plays) : []
      const { rows, tasks, languages, overall, dropped, lost } = result
      const means = { rows, tasks, languages, overall, random, dropped }
      const record = { phase, step: this.state.step, ...means, ...(lost.length > 0 && { lost }) }
      await run.appendEvaluation(record)
      this.evaluations.push(record)
      this.emit({ type: 'evaluation', record })
      return true
    } catch (error) {
      if (phase !== 'during' && options.signal?.aborted) return false
      throw error
    }
  }

  private async checkpoint(): Promise<void> {
    const { run, policy, supply } = this.context
    this.state.totals.wallSeconds = this.wallSeconds()
    this.clock = performance.now()
    await run.sync()
    const folder = await saveCheckpoint(run.path, policy, this.state, supply)
    this.emit({ type: 'checkpoint', step: this.state.step, folder })
  }

  private async pause(): Promise<Summary> {
    const { config, run } = this.context
    const { step } = this.state
    if (step > 0 && step % config.checkpointEvery !== 0) await this.checkpoint()
    this.emit({ type: 'interrupted', step, steps: config.steps, out: run.path })
    return this.summary(false)
  }

  private stopWhenPoisoned(metrics: StepMetrics): void {
    const { config, run } = this.context
    const { skippedInARow } = this.state.totals
    if (skippedInARow < config.maxBadSteps) return
    // Where nothing was played, neither the reward nor the learning rate is at fault.
    const advice = metrics.skipped?.startsWith(ALL_DROPPED) ? '' : ' Look at the reward; or lower learningRate.'
    throw new MyriadError(
      'numeric',
      `stopped at step ${metrics.step}: ${skippedInARow} steps in a row had to be skipped. The last one because ` +
        `${metrics.skipped}. Everything until then is in ${run.path}.${advice}`,
    )
  }

  private summary(finished: boolean): Summary {
    const { config, run } = this.context
    const totals = { ...this.state.totals, wallSeconds: this.wallSeconds() }
    const { evaluations, lastSkip } = this
    return summarize({ config, out: run.path, step: this.state.step, totals, evaluations, finished, lastSkip })
  }

  private wallSeconds(): number {
    return this.state.totals.wallSeconds + seconds(this.clock)
  }

  private emit(event: TrainEvent): void {
    this.context.options.onEvent?.(event)
  }
}

/** As a checkpoint would bring it back, so that resumed and uninterrupted runs see the same. */
function asSaved(state: Json | undefined): Json {
  return state === undefined ? null : (JSON.parse(JSON.stringify(state)) as Json)
}

function seconds(from: number, to = performance.now()): number {
  return (to - from) / 1000
}
