import type { Json } from '../core/index.js'
import type { Loss, TrainSequence } from '../policy/types.js'
import { hasVariance } from './advantages.js'
import type { Adjustment, Selection, Shaping } from './objective.js'
import { handleOverlong, type OverlongHandling } from './overlong.js'
import { sumLosses } from './sum-losses.js'
import type { AdvantageEstimator, Algorithm, Group, LearnContext, Lesson, Needs, Trajectory } from './types.js'
import { tokenWeights, type Aggregation } from './weights.js'

/** A part with the name its state and metrics go by. */
export interface Stage<Part> {
  name: string
  run: Part
}

/** The parts of a group algorithm, in the order they act. */
export interface ComposeOptions {
  name: string
  /** ('keep') */
  overlong?: OverlongHandling
  shaping?: readonly Stage<Shaping>[]
  /** Leave out groups whose rewards are all equal before anything is estimated (true). */
  dynamicSampling?: boolean
  advantage: AdvantageEstimator
  adjustments?: readonly Stage<Adjustment>[]
  /** Sequences beside the sampled ones, such as demonstrations; they follow their group's. */
  extend?: (groups: readonly Group[], context: LearnContext) => { sequence: TrainSequence; group: number }[]
  selections?: readonly Stage<Selection>[]
  loss: Loss
  regularizers?: readonly { loss: Loss; coefficient: number }[]
  /** ('token-mean') */
  aggregation?: Aggregation
  /** L of 'fixed-length', in tokens. */
  fixedLength?: number
  /** Of all parts together. */
  needs?: Needs
}

/** Where a context was not given: the first step of seed 0. */
export const FIRST_STEP: LearnContext = { step: 1, seed: 0, state: null }

/**
 * A group algorithm out of parts: rewards are shaped, advantages estimated and adjusted, scored sequences selected from,
 * tokens weighted, and losses summed.
 *
 * @example
 * compose({ name: 'mine', advantage: groupAdvantages({ normalization: 'mean' }), loss: clippedLoss(), selections: [...] })
 */
export function compose(options: ComposeOptions): Algorithm {
  const { aggregation = 'token-mean', selections = [] } = options
  const made: Pick<Algorithm, 'loss' | 'learn' | 'refine' | 'weigh'> = {
    loss: sumLosses([{ loss: options.loss }, ...(options.regularizers ?? [])]),
    learn: (groups, context = FIRST_STEP) => learn(options, groups, context),
    ...(selections.length > 0 ? { refine: (sequences, context) => select(selections, sequences, context) } : {}),
    weigh: (sequences) => weigh(sequences, aggregation, options.fixedLength),
  }
  return { name: options.name, needs: options.needs ?? {}, ...made, composition: { options, made } }
}

/** Sequences with their aggregation weights, times their factors. */
export function weigh(
  sequences: readonly TrainSequence[],
  aggregation: Aggregation,
  fixedLength?: number,
): TrainSequence[] {
  const weights = tokenWeights(
    sequences.map((sequence) => sequence.mask),
    aggregation,
    fixedLength,
  )
  return sequences.map((sequence, i) => {
    const { factors } = sequence
    return { ...sequence, weights: factors ? weights[i].map((weight, t) => weight * factors[t]) : weights[i] }
  })
}

/** A trajectory as a sequence to train on. */
export function sequenceOf(trajectory: Trajectory, group: number, advantages: Float32Array): TrainSequence {
  const { tokens, mask, logprobs, reward, problem } = trajectory
  return {
    tokens,
    mask,
    logprobs,
    advantages,
    weights: new Float32Array(tokens.length),
    info: { group, role: 'sample', reward, task: problem.task, language: problem.language },
  }
}

function learn(options: ComposeOptions, given: readonly Group[], context: LearnContext): Lesson {
  const remembered = (context.state ?? {}) as Record<string, Json>
  const state: Record<string, Json> = {}
  const metrics: Record<string, number> = {}
  const keep = (name: string, stage: { state?: Json; metrics?: Record<string, number> }): void => {
    if (stage.state !== undefined) state[name] = stage.state
    for (const [metric, value] of Object.entries(stage.metrics ?? {})) metrics[`${name}.${metric}`] = value
  }
  const contextOf = (name: string): LearnContext => ({ ...context, state: remembered[name] ?? null })

  let groups = handleOverlong(given, options.overlong ?? 'keep')
  for (const { name, run } of options.shaping ?? []) {
    const shaped = run(groups, contextOf(name))
    groups = shaped.groups
    keep(name, shaped)
  }
  const filtered = options.dynamicSampling ?? true
  const kept = groups.flatMap((group, index) => (!filtered || hasVariance(group) ? [index] : []))
  const chosen = kept.map((index) => groups[index])
  let estimates = options.advantage(chosen)
  for (const { name, run } of options.adjustments ?? []) {
    const adjusted = run(estimates, chosen, contextOf(name))
    estimates = adjusted.advantages
    keep(name, adjusted)
  }
  const advantages: Float32Array[][] = groups.map((group) =>
    group.trajectories.map(({ tokens }) => new Float32Array(tokens.length)),
  )
  const shown = options.extend?.(groups, context) ?? []
  const sequences: TrainSequence[] = []
  const origins: Lesson['origins'] = []
  groups.forEach((group, index) => {
    const k = kept.indexOf(index)
    if (k >= 0) {
      advantages[index] = estimates[k]
      group.trajectories.forEach((trajectory, i) => {
        if (!trajectory.mask.includes(1)) return
        sequences.push(sequenceOf(trajectory, index, estimates[k][i]))
        origins.push({ group: index, trajectory: i })
      })
    }
    for (const { sequence, group: of } of shown) {
      if (of !== index) continue
      sequences.push(sequence)
      origins.push({ group: index, trajectory: -1 })
    }
  })
  const zeroVarianceGroups = groups.filter((group) => !hasVariance(group)).length
  return {
    sequences,
    origins,
    zeroVarianceGroups,
    advantages,
    ...(Object.keys(state).length > 0 ? { state } : {}),
    ...(Object.keys(metrics).length > 0 ? { metrics } : {}),
  }
}

function select(
  selections: readonly Stage<Selection>[],
  sequences: readonly TrainSequence[],
  context?: LearnContext,
): TrainSequence[] {
  let selected = [...sequences]
  for (const { run } of selections) {
    const factors = run(selected, context)
    selected = selected.map((sequence, i) => ({
      ...sequence,
      factors: sequence.factors ? sequence.factors.map((factor, t) => factor * factors[i][t]) : factors[i],
    }))
  }
  return selected
}
