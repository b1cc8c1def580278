import type { Algorithm, Lesson } from '../algorithms/types.js'
import { createRandom, deriveSeed, MyriadError } from '../core/index.js'
import { mean } from '../evaluation/statistics.js'
import type { Policy, TrainSequence, UpdateResult } from '../policy/types.js'
import type { TrainConfig } from './config.js'
import { correctMismatch } from './sampler-mismatch.js'

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
}

export const NO_UPDATE: UpdateSummary = { loss: null, gradientNorm: null, trainedTokens: 0, metrics: {}, failure: null }

/**
 * Teaches a policy a lesson: `epochs` passes over it, each in `minibatches` optimizer steps among which the groups are
 * shared out anew.
 */
export async function learn(options: {
  policy: Policy
  reference: Policy | null
  algorithm: Algorithm
  lesson: Lesson
  config: TrainConfig
  learningRate: number
  step: number
}): Promise<UpdateSummary> {
  const { policy, reference, algorithm, lesson, config, learningRate, step } = options
  if (lesson.sequences.length === 0) return NO_UPDATE
  const { temperature } = config
  const mismatch =
    config.memory.samplingBits === undefined
      ? null
      : await correctMismatch(policy, lesson.sequences, { cap: config.algorithm.importanceCap, temperature })
  const sequences = await withReference(mismatch?.sequences ?? lesson.sequences, reference, temperature)
  const results: UpdateResult[] = []
  let failure: string | null = null
  for (const batch of batchesOf(sequences, lesson, config, step)) {
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
  if (results.length === 0) return { ...NO_UPDATE, failure }
  const names = Object.keys(results[0].metrics).sort()
  return {
    loss: mean(results.map(({ loss }) => loss)),
    gradientNorm: mean(results.map(({ gradientNorm }) => gradientNorm)),
    trainedTokens: results.reduce((sum, result) => sum + result.trainedTokens, 0),
    metrics: {
      ...Object.fromEntries(names.map((name) => [name, mean(results.map(({ metrics }) => metrics[name]))])),
      ...mismatch?.metrics,
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

async function withReference(
  sequences: readonly TrainSequence[],
  reference: Policy | null,
  temperature: number,
): Promise<readonly TrainSequence[]> {
  if (!reference) return sequences
  const scores = await reference.score(
    sequences.map(({ tokens }) => tokens),
    { temperature, masks: sequences.map(({ mask }) => mask) },
  )
  return sequences.map((sequence, i) => ({ ...sequence, referenceLogprobs: scores[i].logprobs }))
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
