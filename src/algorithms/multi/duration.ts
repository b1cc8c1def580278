import { z } from 'zod'
import { turnSpans } from '../credit/turns.js'
import { objective, type Selection } from '../objective.js'
import { groupMethod, groupMethodOptions } from './group-method.js'

/**
 * Factors of the gradient of actions by how long each took: duration / mean duration of the batch. Asynchronous training
 * samples short actions more often in the same time; this gives long ones their share back.
 *
 * @param durations in any one unit, not negative: [sequences][turns]
 * @returns factors of mean 1 over all turns; 1 everywhere where all durations are 0
 * @example durationFactors([[1, 3]]) // [[0.5, 1.5]]
 */
export function durationFactors(durations: readonly (readonly number[])[]): number[][] {
  const all = durations.flat()
  const mean = all.reduce((sum, duration) => sum + duration / all.length, 0)
  return durations.map((turns) => turns.map((duration) => (mean > 0 ? duration / mean : 1)))
}

const options = {
  /** Length of a turn: tokens it sampled, or with those it was answered until the next turn. */
  measure: z.enum(['sampled-tokens', 'tokens']).default('tokens'),
}

function durationSelection(chosen: { measure: 'sampled-tokens' | 'tokens' }): Selection {
  return (sequences) => {
    const spans = sequences.map(({ mask }) => turnSpans(mask))
    const factors = durationFactors(
      spans.map((turns) => turns.map(({ start, end, next }) => (chosen.measure === 'tokens' ? next : end) - start)),
    )
    return sequences.map(({ mask }, i) => {
      const row = new Float32Array(mask.length)
      spans[i].forEach(({ start, end }, k) => row.fill(factors[i][k], start, end))
      return row
    })
  }
}

export const durationWeights = objective({
  kind: 'selection',
  name: 'duration-weights',
  family: 'multi-reward',
  summary: "Each turn's gradient times its duration, over the mean duration.",
  formula: 'c_t <- c_t d_turn / mean d, d in tokens (or of any clock, by durationFactors)',
  reference:
    'Duration-aware gradient updates, arXiv 2509.01684 (the gradient of each action times its duration, from reviews). Decided here: the mean over the turns of the step is divided out; tokens stand for time',
  standing: 'ours',
  use: 'Agents whose actions differ much in length, sampled asynchronously: short ones are seen more often.',
  rows: ['B238'],
  options: z.strictObject(options),
  make: durationSelection,
})

export const durationAware = objective({
  ...durationWeights,
  kind: 'method',
  name: 'duration-aware-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) =>
    groupMethod('duration-aware-grpo', chosen, {
      selections: [{ name: 'duration-weights', run: durationSelection(chosen) }],
    }),
})
