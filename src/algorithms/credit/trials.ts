import { z } from 'zod'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective } from '../objective.js'
import { episodeAndStepAdvantages } from './turn-returns.js'
import { discountedReturns, turnRewards } from './turns.js'

/**
 * Returns over the attempts of one trial: gammaStep within an attempt, gammaTrial where the next attempt begins.
 *
 * @param attempts rewards of their steps: [attempts][steps]
 * @example trialReturns([[0, 0], [1]], { gammaStep: 0.5, gammaTrial: 0.6 }) // [[0.3, 0.6], [1]]
 */
export function trialReturns(
  attempts: readonly (readonly number[])[],
  { gammaStep = 0.95, gammaTrial = 0.6 }: { gammaStep?: number; gammaTrial?: number } = {},
): number[][] {
  let next = 0
  return attempts
    .toReversed()
    .map((rewards) => {
      if (rewards.length === 0) return []
      const last = rewards.length - 1
      const own = discountedReturns(
        rewards.map((reward, k) => (k === last ? reward + gammaTrial * next : reward)),
        gammaStep,
      )
      next = own[0]
      return own
    })
    .toReversed()
}

/**
 * MAGE's rewards: what each attempt adds to the one before, at its last step. Their sum is the return of the last attempt.
 *
 * @param returns of attempts: [attempts]
 * @example differentialRewards([0.2, 0.5, 0.4]) // [0.2, 0.3, -0.1]
 */
export function differentialRewards(returns: readonly number[]): number[] {
  return returns.map((value, k) => value - (k > 0 ? returns[k - 1] : 0))
}

/**
 * ORBIT's return of a trajectory that holds several episodes of one task: the number of those that succeeded within the
 * cap on steps. One that the cap cuts pays 0.
 *
 * @example orbitReturn([{ success: true, steps: 4 }, { success: true, steps: 8 }], 10) // 1
 */
export function orbitReturn(episodes: readonly { success: boolean; steps: number }[], cap: number): number {
  let steps = 0
  return episodes.filter((episode) => (steps += episode.steps) <= cap && episode.success).length
}

export const lamer = objective({
  kind: 'function',
  name: 'lamer-returns',
  family: 'credit',
  summary:
    'Returns over several attempts at one task, discounted twice: within an attempt and between attempts (LaMer).',
  formula:
    "G_t = r_t + gamma_step G_(t+1);  at the end of an attempt: r + gamma_trial G of the next attempt's first step",
  reference: 'LaMer, arXiv 2512.16848, and its repository',
  standing: 'source',
  use: 'Trials of several attempts with reflections between. The loop has no trials of its own yet.',
  rows: ['A108'],
  options: z.strictObject({
    gammaStep: z.number().min(0).max(1).default(0.95),
    gammaTrial: z.number().min(0).max(1).default(0.6),
  }),
  make: (options) => (attempts: readonly (readonly number[])[]) => trialReturns(attempts, options),
})

export const orbit = objective({
  kind: 'function',
  name: 'orbit-return',
  family: 'credit',
  summary: 'Successful episodes of one trajectory that fit under a cap on steps (ORBIT).',
  formula: 'R = number of successful episodes that end within the cap',
  reference: 'ORBIT, its repository',
  standing: 'source',
  use: 'Episodes of one task one after the other in one context: being quick pays, as more fit.',
  rows: [],
  options: z.strictObject({ cap: z.number().int().positive().default(100) }),
  make:
    ({ cap }) =>
    (episodes: readonly { success: boolean; steps: number }[]) =>
      orbitReturn(episodes, cap),
})

const mageOptions = {
  gammaTrial: z.number().min(0).max(1).default(0.6),
  stepWeight: z.number().min(0).default(1),
}

export const mage = objective({
  kind: 'method',
  name: 'mage',
  family: 'credit',
  summary: 'Each turn is an attempt and earns what it adds to the attempt before it (MAGE).',
  formula: 'D_k = R_k - R_(k-1);  G_k = D_k + gamma G_(k+1);  A by GiGPO from G',
  reference:
    'MAGE, arXiv 2603.03680, and its repository. Decided here: a turn is an attempt, its reward what it earned',
  standing: 'ours',
  use: 'Tasks whose turns are whole attempts with a score each (turn rewards). Else use turn-level-grpo.',
  rows: ['A120'],
  options: z.strictObject({
    ...groupMethodOptions,
    ...mageOptions,
    klCoefficient: z.number().min(0).default(0.1),
  }),
  make: (options) =>
    groupMethod('mage', options, {
      advantage: episodeAndStepAdvantages({ ...options, gamma: options.gammaTrial }, (trajectory) =>
        discountedReturns(differentialRewards(turnRewards(trajectory)), options.gammaTrial),
      ),
      dynamicSampling: false,
    }),
})
