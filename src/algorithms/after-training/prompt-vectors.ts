import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

/** A soft prompt: embeddings of `length` places. */
export interface SoftPrompt {
  length: number
  dimensions: number
  /** [length * dimensions] */
  values: Float32Array
}

function requireAlike(a: SoftPrompt, b: SoftPrompt): void {
  if (a.length !== b.length || a.dimensions !== b.dimensions || a.values.length !== b.values.length)
    throw new MyriadError(
      'usage',
      `soft prompts of ${a.length} x ${a.dimensions} and ${b.length} x ${b.dimensions} cannot be combined`,
    )
}

/**
 * What tuning changed in a soft prompt: tuned - initial.
 *
 * Source: task prompt vectors, arXiv 2408.01119.
 *
 * @throws MyriadError 'usage' on prompts of different sizes
 */
export function promptVector(tuned: SoftPrompt, initial: SoftPrompt): SoftPrompt {
  requireAlike(tuned, initial)
  return { ...tuned, values: tuned.values.map((value, i) => value - initial.values[i]) }
}

/**
 * A soft prompt from another start and what tuning changed in others: initial + scale sum_i w_i tau_i.
 *
 * @throws MyriadError 'usage' on prompts of different sizes
 * @example combinePrompts(fresh, [{ vector: promptVector(tuned, initial), weight: 1 }])
 */
export function combinePrompts(
  initial: SoftPrompt,
  terms: readonly { vector: SoftPrompt; weight: number }[],
  scale = 1,
): SoftPrompt {
  for (const { vector } of terms) requireAlike(initial, vector)
  const sum = Float64Array.from(initial.values)
  for (const { vector, weight } of terms)
    for (let i = 0; i < sum.length; i++) sum[i] += scale * weight * vector.values[i]
  return { ...initial, values: Float32Array.from(sum) }
}

export const taskPromptVectors = objective({
  kind: 'function',
  name: 'task-prompt-vectors',
  family: 'after-training',
  summary: 'What prompt tuning changed, carried to another start and summed over related tasks.',
  formula: "P = P_init' + lambda sum_i w_i (P_i_tuned - P_i_init)",
  reference: 'arXiv 2408.01119',
  standing: 'second-hand',
  use: 'A start for prompt tuning with little data. All prompts have one length.',
  rows: ['B162'],
  options: z.strictObject({ scale: z.number().default(1) }),
  make: ({ scale }) => ({
    vector: promptVector,
    combine: (initial: SoftPrompt, terms: readonly { vector: SoftPrompt; weight: number }[]): SoftPrompt =>
      combinePrompts(initial, terms, scale),
  }),
})
