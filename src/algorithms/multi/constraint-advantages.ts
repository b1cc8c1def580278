import { z } from 'zod'
import { normalizeGroup } from '../advantages.js'
import { objective, type Adjustment } from '../objective.js'
import { dualStep } from './constraint.js'
import { costOf } from './cost.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { moments } from './statistics.js'

const options = {
  /** 'tokens', 'turns', a metric of the outcome or a reward part. */
  cost: z.string().default('tokens'),
  /** What the mean cost may be, in its own unit. */
  budget: z.number().positive(),
  /** Lambda of the first step. */
  initial: z.number().min(0).default(0),
  /** Change of lambda for a mean cost of twice the budget. */
  rate: z.number().min(0).default(0.05),
  ceiling: z.number().positive().default(10),
}

type AdvantageOptions = z.output<z.ZodObject<typeof options>> & {
  normalization: 'mean' | 'mean-std'
  epsilon: number
}

function lagrangianAdjustment(chosen: AdvantageOptions): Adjustment {
  return (advantages, groups, { state }) => {
    const lambda = (state as { lambda: number } | null)?.lambda ?? chosen.initial
    const costs = groups.map(({ trajectories }) => trajectories.map((trajectory) => costOf(trajectory, chosen.cost)))
    const all = costs.flat()
    const normal = costs.map((own) => normalizeGroup(own, chosen))
    return {
      advantages: groups.map(({ trajectories }, g) =>
        trajectories.map(({ mask }, i) =>
          advantages[g][i].map((value, t) => (mask[t] ? (value - lambda * normal[g][i]) / (1 + lambda) : 0)),
        ),
      ),
      state: {
        lambda: all.length > 0 ? dualStep(lambda, moments(all).mean / chosen.budget, { ...chosen, budget: 1 }) : lambda,
      },
      metrics: { lambda, ...(all.length > 0 ? { meanCost: moments(all).mean } : {}) },
    }
  }
}

export const lagrangianAdvantagesPart = objective({
  kind: 'adjustment',
  name: 'lagrangian-advantages',
  family: 'multi-reward',
  summary: 'Reward and cost are normalized apart and mixed as advantages; dual ascent holds the mean cost to a budget.',
  formula:
    'A <- (A - lambda A^C) / (1 + lambda), A^C = norm_G(C);  lambda <- clip(lambda + rate (mean C / b - 1), 0, ceiling)',
  reference:
    'PPO-Lagrangian (2019) on group advantages. Decided here: costs are normalized as rewards are; the dual is relative to b',
  standing: 'ours',
  use: 'Where the scale of costs should not matter: lambda is in units of advantages. With lagrangian, a wide cost dominates.',
  rows: ['A018', 'B145'],
  options: z.strictObject({
    ...options,
    normalization: groupMethodOptions.normalization,
    epsilon: groupMethodOptions.epsilon,
  }),
  make: lagrangianAdjustment,
})

export const lagrangianAdvantages = objective({
  ...lagrangianAdvantagesPart,
  kind: 'method',
  name: 'lagrangian-advantage-grpo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) =>
    groupMethod('lagrangian-advantage-grpo', chosen, {
      adjustments: [{ name: 'lagrangian-advantages', run: lagrangianAdjustment(chosen) }],
      // Groups of equal rewards still differ in cost.
      dynamicSampling: false,
    }),
})
