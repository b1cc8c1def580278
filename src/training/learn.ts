import type { Algorithm, Group, LearnContext, Lesson } from '../algorithms/types.js'
import { createRandom, deriveSeed, MyriadError, type Json } from '../core/index.js'
import { mean } from '../evaluation/statistics.js'
import type { Policy, TrainSequence, UpdateResult } from '../policy/types.js'
import type { TrainConfig } from './config.js'
import type { Demonstration } from './demonstrate.js'
import { correctMismatch } from './sampler-mismatch.js'
import type { Supply } from './supply.js'

/** What the optimizer steps of one training step did. */
export interface UpdateSummary {
  /** Mean over optimizer steps; null when there was none. */
  loss: number | null
  gradientNorm: number | null
  trainedTokens: number
  /** Means over optimizer steps. */
  metrics: Record<string, number>
  /** Why an optimizer step was refused (the rest of the step is skipped then); null when all were taken. */
  failure: string | null
  /** What the algorithm remembers of the scores, where it does. */
  state?: Json
}

export const NO_UPDATE: UpdateSummary = { loss: null, gradientNorm: null, trainedTokens: 0, metrics: {}, failure: null }

/**
 * Teaches a policy a lesson: its sequences are scored as the algorithm asks, refined by it, and then learnt in `epochs` passes,
 * each in `minibatches` optimizer steps among which the groups are shared out anew.
 */
export async function learn(options: {
  policy: Policy
  supply: Supply
  algorithm: Algorithm
  groups: readonly Group[]
  demonstrations: readonly (Demonstration | null)[] | undefined
  lesson: Lesson
  context: LearnContext
  config: TrainConfig
  learningRate: number
}): Promise<UpdateSummary> {
  const { policy, algorithm, lesson, config, learningRate } = options
  if (lesson.sequences.length === 0) return NO_UPDATE
  const { temperature } = config
  const ready = await readySequences(options)
  if ('failure' in ready) return { ...NO_UPDATE, failure: ready.failure }
  const state = algorithm.remember?.(lesson.state ?? null, ready.sequences, options.context)
  const results: UpdateResult[] = []
  let failure: string | null = null
  for (const batch of batchesOf(ready.sequences, lesson, config, options.context.step)) {
    const result = await update(policy, algorithm.weigh(batch), {
      loss: algorithm.loss,
      learningRate,
      clipNorm: config.clipNorm,
      temperature,
    })
    if (typeof result === 'string') {
      failure = result
      break
    }
    results.push(result)
  }
  const remembered = state === undefined ? {} : { state }
  if (results.length === 0) return { ...NO_UPDATE, ...remembered, failure }
  const names = [...new Set(results.flatMap(({ metrics }) => Object.keys(metrics)))].sort()
  const valuesOf = (name: string): number[] => results.flatMap(({ metrics }) => metrics[name] ?? [])
  return {
    ...remembered,
    loss: mean(results.map(({ loss }) => loss)),
    gradientNorm: mean(results.map(({ gradientNorm }) => gradientNorm)),
    trainedTokens: results.reduce((sum, result) => sum + result.trainedTokens, 0),
    metrics: {
      ...Object.fromEntries(names.map((name) => [name, mean(valuesOf(name))])),
      ...ready.metrics,
    },
    failure,
  }
}

/** The result of an optimizer step, or why it was not taken. */
async function update(
  policy: Policy,
  batch: readonly TrainSequence[],
  options: Parameters<Policy['update']>[1],
): Promise<UpdateResult | string> {
  try {
    const result = await policy.update(batch, options)
    if (result.applied && Number.isFinite(result.loss)) return result
    return `the loss is ${result.loss}, the norm of the gradient ${result.gradientNorm}`
  } catch (error) {
    if (error instanceof MyriadError && error.code === 'numeric') return error.message
    throw error
  }
}

/** Scored and refined, or why they cannot be learnt from. */
async function readySequences(
  options: Parameters<typeof learn>[0],
): Promise<{ sequences: TrainSequence[]; metrics: Record<string, number> } | { failure: string }> {
  const { supply, algorithm, groups, demonstrations, lesson, context } = options
  const { sequences, samplerWeights, metrics } = await supply.score(lesson, groups, demonstrations)
  try {
    const refined = algorithm.refine?.(sequences, context) ?? sequences
    if (refined.length !== sequences.length)
      throw new MyriadError(
        'usage',
        `algorithm "${algorithm.name}": refine made ${refined.length} of ${sequences.length} sequences; it must keep them all`,
      )
    // Last, so that advantages that are made of scores are corrected too.
    return { sequences: samplerWeights ? correctMismatch(refined, samplerWeights) : refined, metrics }
  } catch (error) {
    if (error instanceof MyriadError && error.code === 'numeric') return { failure: error.message }
    throw error
  }
}

function* batchesOf(
  sequences: readonly TrainSequence[],
  lesson: Lesson,
  config: TrainConfig,
  step: number,
): Generator<TrainSequence[]> {
  const { epochs, minibatches } = config.algorithm
  const groups = [...new Set(lesson.origins.map(({ group }) => group))]
  const parts = Math.min(minibatches, groups.length)
  for (let epoch = 0; epoch < epochs; epoch++) {
    const random = createRandom(deriveSeed(config.seed, 'minibatches', step, epoch))
    const order = parts === 1 ? groups : random.shuffle(groups)
    for (let part = 0; part < parts; part++) {
      const chosen = new Set(order.filter((_, i) => i % parts === part))
      yield sequences.filter((_, i) => chosen.has(lesson.origins[i].group))
    }
  }
}
