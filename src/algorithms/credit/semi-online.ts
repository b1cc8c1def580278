import { z } from 'zod'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { moments } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Trajectory } from '../types.js'
import { normalizeWithin } from './turn-returns.js'
import { onTurns, turnRewards } from './turns.js'

/**
 * Returns of steps along an expert's trajectory. Behind a step that did not match (its action was replaced by the
 * expert's) nothing flows back over it:
 *
 *     matched: G_t = r_t + gamma G_(t+1)        else: G_t = r_t
 *
 * @example semiOnlineReturns([1, 0, 1], [true, false, true], 0.5) // [1, 0, 1]
 */
export function semiOnlineReturns(rewards: readonly number[], matched: readonly boolean[], gamma: number): number[] {
  const returns = [...rewards]
  for (let t = returns.length - 2; t >= 0; t--) if (matched[t]) returns[t] += gamma * returns[t + 1]
  return returns
}

interface SemiOnlineOptions {
  gamma: number
  /** A turn whose reward is at least this matched the expert. */
  matchedFrom: number
  episodeWeight: number
  stepWeight: number
  /** Groups whose first returns deviate by no more are not learnt. */
  minimumDeviation: number
  normalization: 'mean' | 'mean-std'
  epsilon: number
}

function semiOnlineAdvantages(options: SemiOnlineOptions): AdvantageEstimator {
  const returnsOf = (trajectory: Trajectory): number[] => {
    const told = trajectory.turnRewards
    const rewards = turnRewards(trajectory)
    const matched = rewards.map((reward, k) => (told?.[k] ?? reward) >= options.matchedFrom)
    return semiOnlineReturns(rewards, matched, options.gamma)
  }
  return (groups) =>
    groups.map(({ trajectories }) => {
      const returns = trajectories.map(returnsOf)
      const first = returns.flatMap((own) => own.slice(0, 1))
      if (moments(first).deviation <= options.minimumDeviation) {
        return trajectories.map(({ mask }) => new Float32Array(mask.length))
      }
      const steps = normalizeWithin(
        returns.flat(),
        returns.flatMap((own) => own.map((_, k) => String(k))),
        options,
      )
      // A row for each step, so that long episodes weigh more in the statistics.
      const rows = trajectories.flatMap(({ reward }, i) => returns[i].map(() => reward))
      const episodes = normalizeWithin(
        rows,
        rows.map(() => ''),
        options,
      )
      let from = 0
      return trajectories.map((trajectory, i) => {
        const own = returns[i].map(
          (_, k) => options.episodeWeight * episodes[from + k] + options.stepWeight * steps[from + k],
        )
        from += own.length
        return onTurns(trajectory, own)
      })
    })
}

const options = {
  gamma: z.number().min(0).max(1).default(0.5),
  matchedFrom: z.number().default(0.5),
  episodeWeight: z.number().min(0).default(1),
  stepWeight: z.number().min(0).default(1),
  minimumDeviation: z.number().min(0).default(0.3),
}

export const uiS1 = objective({
  kind: 'method',
  name: 'ui-s1',
  family: 'credit',
  summary: 'Semi-online returns: credit flows back over turns that matched an expert, and stops at those that did not.',
  formula: 'G_t = r_t + gamma G_(t+1) 1[matched_t];  A = w_e norm(R over rows) + w_s norm(G_t at step t)',
  reference:
    'UI-S1, arXiv 2509.11543, and its code. Decided here: a turn matched if its reward is at least matchedFrom',
  standing: 'source',
  use: "Episodes on an expert's trajectory with a reward for each turn. The task has to patch wrong actions itself.",
  rows: ['B014'],
  options: z.strictObject({
    ...groupMethodOptions,
    ...options,
    klCoefficient: z.number().min(0).default(1e-4),
  }),
  make: (chosen) => groupMethod('ui-s1', chosen, { advantage: semiOnlineAdvantages(chosen), dynamicSampling: false }),
})
