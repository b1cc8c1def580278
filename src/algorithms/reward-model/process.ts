import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid } from '../preference/logistic.js'
import { binaryCrossEntropy } from './pointwise.js'

export interface StepLossOptions {
  /** Steps after the first wrong one: keep their labels, drop them (PRM800K), or call them wrong (Math-Shepherd's hard labels). */
  afterError?: 'keep' | 'drop' | 'wrong'
  /** A label below this is wrong (0.5). */
  threshold?: number
  /** Train on the last step only: an outcome reward model. */
  lastOnly?: boolean
}

/** Labels as `afterError` has them: NaN where a step is not taught. */
export function stepLabels(labels: readonly number[], options: StepLossOptions = {}): number[] {
  const { afterError = 'keep', threshold = 0.5, lastOnly = false } = options
  const first = labels.findIndex((label) => label < threshold)
  const kept = labels.map((label, k) => {
    if (first < 0 || k <= first || afterError === 'keep') return label
    return afterError === 'drop' ? NaN : 0
  })
  return lastOnly ? kept.map((label, k) => (k === kept.length - 1 ? label : NaN)) : kept
}

/**
 * Process-reward loss: the mean over all taught steps of the batch of a binary cross-entropy of the step's logit, read at its
 * last token. Labels are in [0, 1]; NaN is no label. Without any label the loss is 0.
 *
 * @param logits and labels of each solution: [solutions][steps]
 * @returns value and derivatives: [solutions][steps]
 * @throws MyriadError 'usage' when logits and labels do not fit, 'numeric' when they are not finite
 * @example stepLoss([[2, -1]], [[1, 0]]).gradient // sig(z) - y, halved
 */
export function stepLoss(
  logits: readonly (readonly number[])[],
  labels: readonly (readonly number[])[],
  options: StepLossOptions = {},
): { value: number; gradient: number[][]; steps: number } {
  if (logits.length !== labels.length || logits.some((row, i) => row.length !== labels[i].length))
    throw new MyriadError('usage', 'process rewards: every step needs a logit and a label (NaN for none)')
  const taught = labels.map((row) => stepLabels(row, options))
  const steps = taught.flat().filter((label) => !Number.isNaN(label)).length
  let value = 0
  const gradient = logits.map((row, i) =>
    row.map((logit, k) => {
      const label = taught[i][k]
      if (Number.isNaN(label)) return 0
      const term = binaryCrossEntropy(logit, label)
      value += term.value / steps
      return term.slope / steps
    }),
  )
  if (!Number.isFinite(value)) throw new MyriadError('numeric', `process rewards are not finite: ${value}`)
  return { value, gradient, steps }
}

export const STEP_AGGREGATIONS = ['min', 'product', 'last', 'mean'] as const
export type StepAggregation = (typeof STEP_AGGREGATIONS)[number]

/**
 * The score of a solution out of its steps' logits z, p = sig(z), and its derivatives by z: the least p, their product, the
 * last or their mean. No step has score NaN: there is nothing to judge. Of equal least ones the first has the derivative.
 *
 * @example aggregateSteps([2, 0], 'min') // { value: 0.5, gradient: [0, 0.25] }
 */
export function aggregateSteps(
  logits: readonly number[],
  aggregation: StepAggregation,
): { value: number; gradient: number[] } {
  const p = logits.map(sigmoid)
  const slopes = logits.map((z) => sigmoid(z) * sigmoid(-z))
  if (p.length === 0) return { value: NaN, gradient: [] }
  const only = (at: number): { value: number; gradient: number[] } => ({
    value: p[at],
    gradient: slopes.map((slope, k) => (k === at ? slope : 0)),
  })
  switch (aggregation) {
    case 'min':
      return only(p.indexOf(Math.min(...p)))
    case 'last':
      return only(p.length - 1)
    case 'mean':
      return {
        value: p.reduce((sum, each) => sum + each / p.length, 0),
        gradient: slopes.map((slope) => slope / p.length),
      }
    case 'product': {
      const value = p.reduce((product, each) => product * each, 1)
      return { value, gradient: logits.map((z) => value * sigmoid(-z)) }
    }
  }
}

export const processReward = objective({
  kind: 'function',
  name: 'process-reward',
  family: 'reward-model',
  summary: 'Every step of a solution is judged right or wrong.',
  formula: 'L = mean over labelled steps of -y log sig(z) - (1 - y) log sig(-z)',
  reference: "arXiv 2305.20050 (Let's verify step by step), 2312.08935 (Math-Shepherd); TRL, OpenRLHF",
  standing: 'source',
  use: 'Steps with labels, from people or from the share of continuations that succeed. Score solutions with aggregateSteps.',
  rows: ['A032'],
  options: z.strictObject({
    afterError: z.enum(['keep', 'drop', 'wrong']).default('keep'),
    threshold: z.number().min(0).max(1).default(0.5),
    lastOnly: z.boolean().default(false),
  }),
  make: (options) => (logits: readonly (readonly number[])[], labels: readonly (readonly number[])[]) =>
    stepLoss(logits, labels, options),
})

export const stepAggregation = objective({
  kind: 'function',
  name: 'step-aggregation',
  family: 'reward-model',
  summary: "One score of a solution out of its steps' scores.",
  formula: 'R = min p_k | prod p_k | p_K | mean p_k,  p = sig(z)',
  reference: 'arXiv 2305.20050 (product, minimum); last and mean are common',
  standing: 'source',
  use: 'Ranking solutions by a process-reward model. The product punishes long ones, the mean hides one wrong step.',
  rows: ['A032'],
  options: z.strictObject({ aggregation: z.enum(STEP_AGGREGATIONS).default('min') }),
  make: (options) => (logits: readonly number[]) => aggregateSteps(logits, options.aggregation),
})
