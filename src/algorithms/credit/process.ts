import { z } from 'zod'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { normalizeGroup } from '../advantages.js'
import { moments } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Trajectory } from '../types.js'

export const PROCESS_CREDITS = ['sum', 'min', 'difference'] as const
export type ProcessCredit = (typeof PROCESS_CREDITS)[number]

/**
 * What each step of a solution is worth, from the scores of its steps.
 *
 * - `sum`: this score and all later ones (process supervision of GRPO, arXiv 2402.03300)
 * - `min`: the least of this score and all later ones: no step is better than the worst that follows (PURE, 2504.15275;
 *   its soft weights of a finite temperature are left out)
 * - `difference`: this score less the one before, the first less `prior`: what the step changed
 *
 * @param scores finite: [steps]
 * @example processReturns([0.9, 0.2, 0.5], 'min') // [0.2, 0.2, 0.5]
 */
export function processReturns(scores: readonly number[], credit: ProcessCredit, prior = 0): number[] {
  if (credit === 'difference') return scores.map((score, k) => score - (k > 0 ? scores[k - 1] : prior))
  const returns = [...scores]
  for (let k = returns.length - 2; k >= 0; k--) {
    returns[k] = credit === 'sum' ? returns[k] + returns[k + 1] : Math.min(returns[k], returns[k + 1])
  }
  return returns
}

/** Last token and score of each step: those whose token reward is not 0. */
export function scoredSteps({ mask, tokenRewards }: Trajectory): { end: number; score: number }[] {
  if (!tokenRewards) return []
  return [...mask.keys()].flatMap((t) => (mask[t] && tokenRewards[t] !== 0 ? [{ end: t, score: tokenRewards[t] }] : []))
}

interface ProcessOptions {
  credit: ProcessCredit
  outcomeWeight: number
  normalization: 'mean' | 'mean-std'
  epsilon: number
}

/** Advantages by steps: scores are normalized over all steps of the group, and each token has the credit of its step. */
export function processAdvantages(options: ProcessOptions): AdvantageEstimator {
  return (groups) =>
    groups.map(({ trajectories }) => {
      const steps = trajectories.map(scoredSteps)
      const normalize = (values: number[]): number[] => {
        const { mean, deviation } = moments(values)
        const divisor = options.normalization === 'mean' ? 1 : deviation + options.epsilon
        return values.map((value) => (deviation === 0 ? 0 : (value - mean) / divisor))
      }
      // Scores before sums, as GRPO does; credits that are no sum afterwards.
      const raw = steps.map((own) => own.map(({ score }) => score))
      const cut = (flat: number[]): number[][] => {
        let from = 0
        return raw.map((own) => flat.slice(from, (from += own.length)))
      }
      const credits =
        options.credit === 'sum'
          ? cut(normalize(raw.flat())).map((own) => processReturns(own, 'sum'))
          : cut(normalize(raw.flatMap((own) => processReturns(own, options.credit))))
      const outcomes = normalizeGroup(
        trajectories.map(({ reward }) => reward),
        options,
      )
      return trajectories.map(({ mask }, i) => {
        let k = 0
        return Float32Array.from(mask, (sampled, t) => {
          while (k < steps[i].length && steps[i][k].end < t) k++
          // Behind the last scored step there is only the outcome.
          return sampled ? options.outcomeWeight * outcomes[i] + (credits[i][k] ?? 0) : 0
        })
      })
    })
}

const options = {
  credit: z.enum(PROCESS_CREDITS).default('sum'),
  /** Weight of the group advantage of the whole reward, on every token. */
  outcomeWeight: z.number().min(0).default(1),
}

export const processPart = objective({
  kind: 'advantage',
  name: 'process-advantages',
  family: 'credit',
  summary: 'Scores of steps by a process reward model, as sums, minima or differences of what follows.',
  formula: 'sum: sum_(j>=k) norm(s_j) | min: norm(min_(j>=k) s_j) | difference: norm(s_k - s_(k-1));  + w norm(R)',
  reference:
    'GRPO with process supervision, arXiv 2402.03300 (sum); PURE, 2504.15275 (min, without its soft weights); differences as progress. Their normalization over all steps of the group, for min and difference, is ours',
  standing: 'ours',
  use: 'Trajectories with token rewards at the ends of steps. Sums favour many steps; minima and differences do not.',
  rows: ['A032'],
  options: z.strictObject({
    ...options,
    normalization: groupMethodOptions.normalization,
    epsilon: groupMethodOptions.epsilon,
  }),
  make: processAdvantages,
})

export const processGrpo = objective({
  ...processPart,
  kind: 'method',
  name: 'process-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) =>
    groupMethod('process-grpo', chosen, { advantage: processAdvantages(chosen), dynamicSampling: false }),
})
