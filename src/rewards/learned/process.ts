import { MyriadError } from '../../core/index.js'
import { isVisible } from '../semantic/embedder.js'
import type { Scorable } from './features.js'
import { sigmoid } from './sigmoid.js'

export const STEP_MERGES = ['min', 'product', 'mean', 'last'] as const
export type StepMerge = (typeof STEP_MERGES)[number]

const mostSteps = 256

/**
 * Steps of a solution: its lines that are not empty, or what stands between occurrences of a separator. Steps past the 256th are
 * one.
 *
 * @example stepsOf('2 + 3 = 5\n\n5 * 2 = 10') // ['2 + 3 = 5', '5 * 2 = 10']
 */
export function stepsOf(text: string, separator = '\n'): string[] {
  if (separator === '') throw new MyriadError('usage', 'steps: the separator is empty')
  const parts = text.split(separator).filter(isVisible)
  if (parts.length <= mostSteps) return parts.map((part) => part.trim())
  return [...parts.slice(0, mostSteps - 1), parts.slice(mostSteps - 1).join(separator)].map((part) => part.trim())
}

/** Each step as a reward model sees it: the prompt and the steps before it, then the step. */
export function stepScorables(prompt: string, steps: readonly string[], separator = '\n'): Scorable[] {
  return steps.map((reply, k) => ({ prompt: [prompt, ...steps.slice(0, k)].join(separator), reply }))
}

/**
 * The score of a solution out of the logits of its steps: with p = sigmoid(logit) the least p, their product, mean or last.
 *
 * @returns in [0, 1]; NaN of no step
 * @example mergeSteps([2, 0], 'min') // 0.5
 */
export function mergeSteps(logits: readonly number[], by: StepMerge): number {
  const p = logits.map(sigmoid)
  if (p.length === 0) return NaN
  switch (by) {
    case 'min':
      return p.reduce((a, b) => Math.min(a, b))
    case 'product':
      return p.reduce((a, b) => a * b)
    case 'mean':
      return p.reduce((a, b) => a + b / p.length, 0)
    case 'last':
      return p[p.length - 1]
  }
}
