import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective, type Shaping } from '../objective.js'
import { costOf } from './cost.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { reward } from './statistics.js'

export const REWARD_COSTS = ['indicator', 'decay', 'hinge', 'barrier', 'conditional', 'lexicographic'] as const

export interface RewardCostOptions {
  kind: (typeof REWARD_COSTS)[number]
  /** b, in the unit of the cost. */
  budget: number
  /** k of decay, hinge and conditional; t of barrier. */
  weight: number
}

/**
 * Rewards and costs of one group in one number each, with over = max(0, C - b):
 *
 *     indicator R 1[C <= b]     decay R exp(-k over)     hinge R - k over     barrier R + t log(b - C)
 *     conditional R - k over where R > 0, else R (wrong answers buy nothing with a low cost)
 *     lexicographic: rank in [0, 1] within the group by C <= b first, then R; equal ones share their mean rank
 *
 * @returns [samples]
 * @throws MyriadError 'numeric' where the barrier meets a cost at or past the budget
 * @example rewardCost([1, 1], [5, 20], { kind: 'hinge', budget: 10, weight: 0.05 }) // [1, 0.5]
 */
export function rewardCost(
  rewards: readonly number[],
  costs: readonly number[],
  { kind, budget, weight }: RewardCostOptions,
): number[] {
  if (kind === 'lexicographic') return lexicographicRanks(rewards, costs, budget)
  return rewards.map((value, i) => {
    const over = Math.max(0, costs[i] - budget)
    switch (kind) {
      case 'indicator':
        return over > 0 ? 0 : value
      case 'decay':
        return value * Math.exp(-weight * over)
      case 'hinge':
        return value - weight * over
      case 'conditional':
        return value > 0 ? value - weight * over : value
      case 'barrier':
        if (costs[i] >= budget) {
          throw new MyriadError(
            'numeric',
            `barrier: cost ${costs[i]} is not below the budget ${budget}; use hinge where it may not be`,
          )
        }
        return value + weight * Math.log(budget - costs[i])
    }
  })
}

function lexicographicRanks(rewards: readonly number[], costs: readonly number[], budget: number): number[] {
  const before = (i: number, j: number): number =>
    Number(costs[i] <= budget) - Number(costs[j] <= budget) || Math.sign(rewards[i] - rewards[j])
  return rewards.map((_, i) => {
    const others = rewards.flatMap((_, j) => (j === i ? [] : [before(i, j)]))
    if (others.length === 0) return 0
    return others.reduce((sum, order) => sum + (order + 1) / 2, 0) / others.length
  })
}

const options = {
  kind: z.enum(REWARD_COSTS).default('hinge'),
  /** 'tokens', 'turns', a metric of the outcome or a reward part. */
  cost: z.string().default('tokens'),
  /** b, in the unit of the cost. */
  budget: z.number(),
  /** k of decay, hinge and conditional; t of barrier. */
  weight: z.number().min(0).default(0.01),
}

function rewardCostShaping(chosen: RewardCostOptions & { cost: string }): Shaping {
  return (groups) => {
    const shaped = groups.map(({ trajectories }) =>
      rewardCost(
        trajectories.map((trajectory) => trajectory.reward),
        trajectories.map((trajectory) => costOf(trajectory, chosen.cost)),
        chosen,
      ),
    )
    return { groups: reward(groups, 'reward-cost', (_, g, i) => shaped[g][i]) }
  }
}

export const rewardCostPart = objective({
  kind: 'shaping',
  name: 'reward-cost',
  family: 'multi-reward',
  summary: 'A reward and a cost in one number, with a fixed weight: by product, hinge, barrier, condition or order.',
  formula: 'R 1[C <= b] | R exp(-k over) | R - k over | R + t log(b - C) | R > 0: R - k over | rank by (C <= b, R)',
  reference:
    'Common forms; AI-SearchPlanner, Optima and dynamic planning agents subtract a weighted cost (hinge, budget 0)',
  standing: 'ours',
  use: 'A known price. Where only a budget is known, use lagrangian; indicator teaches nothing when all exceed the budget.',
  rows: ['B017', 'B123', 'B145'],
  options: z.strictObject(options),
  make: rewardCostShaping,
})

export const rewardCostMethod = objective({
  ...rewardCostPart,
  kind: 'method',
  name: 'reward-cost-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) =>
    groupMethod('reward-cost-grpo', chosen, { shaping: [{ name: 'reward-cost', run: rewardCostShaping(chosen) }] }),
})
