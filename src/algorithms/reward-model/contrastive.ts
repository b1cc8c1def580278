import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid, sigmoidSlope } from '../preference/logistic.js'

/**
 * Contrastive goal-conditioned term of a reward model, beside its Bradley-Terry loss. `near` are cosines of earlier and later
 * states of preferred replies, `far` cosines of states of preferred replies and later ones of rejected replies:
 *
 *     L = beta [-log P+ - log(1 - P-)],  P+ = mean sig(near), P- = mean sig(far)
 *     dL/dnear = -beta s2(near) / (M P+),  dL/dfar = beta s2(far) / (M' (1 - P-))
 *
 * Cosines are in [-1, 1], so it is at least about 0.626 beta. Source: arXiv 2407.13887 and its repository.
 *
 * @throws MyriadError 'usage' when either is empty, or no cosine
 * @example goalContrast([0.9], [-0.5], 0.5)
 */
export function goalContrast(
  near: readonly number[],
  far: readonly number[],
  beta: number,
): { value: number; near: number[]; far: number[] } {
  if (near.length === 0 || far.length === 0)
    throw new MyriadError('usage', 'goal contrast needs states of a preferred and of a rejected reply')
  if ([...near, ...far].some((cosine) => !(Math.abs(cosine) <= 1 + 1e-6)))
    throw new MyriadError('usage', 'goal contrast is of cosines, which lie in [-1, 1]')
  const mean = (cosines: readonly number[]): number =>
    cosines.reduce((sum, cosine) => sum + sigmoid(cosine) / cosines.length, 0)
  const [reached, missed] = [mean(near), mean(far)]
  return {
    value: -beta * (Math.log(reached) + Math.log1p(-missed)),
    near: near.map((cosine) => (-beta * sigmoidSlope(cosine)) / (near.length * reached)),
    far: far.map((cosine) => (beta * sigmoidSlope(cosine)) / (far.length * (1 - missed))),
  }
}

/**
 * Places of a source and a later goal in a reply of n states: of two uniform numbers the smaller is the source. Counted back
 * from the end, a number u stands for state floor(n (1 - (1 - q) u)) + 1, so that `percentile` q keeps both in the first 1 - q
 * of the reply; 0 is all of it.
 *
 * @param draws two numbers in (0, 1)
 * @returns indices from 0, source <= goal
 * @example sourceAndGoal(10, [0.9, 0.05]) // { source: 0, goal: 9 }
 */
export function sourceAndGoal(
  n: number,
  draws: readonly [number, number],
  percentile = 0,
): { source: number; goal: number } {
  const [early, late] = draws[0] <= draws[1] ? draws : [draws[1], draws[0]]
  const place = (u: number): number => Math.max(0, n - Math.floor(n * (1 - (1 - percentile) * u)) - 1)
  return { source: place(early), goal: place(late) }
}

export const goalContrastReward = objective({
  kind: 'function',
  name: 'goal-contrast',
  family: 'reward-model',
  summary: 'States of a good reply are drawn to its later states and away from those of bad replies.',
  formula: 'L = beta [-log mean sig(cos near) - log(1 - mean sig(cos far))], beside Bradley-Terry',
  reference: 'arXiv 2407.13887 and its repository (16 near, 16 far, beta 0.5)',
  standing: 'source',
  use: 'A reward model whose likeness to a goal state scores unfinished replies too.',
  rows: ['B165'],
  options: z.strictObject({ beta: z.number().min(0).default(0.5) }),
  make:
    ({ beta }) =>
    (near: readonly number[], far: readonly number[]) =>
      goalContrast(near, far, beta),
})
