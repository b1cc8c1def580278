import { z } from 'zod'
import { objective, type Shaping } from '../objective.js'
import { isTruncated, sampledTokens } from '../overlong.js'
import type { Group } from '../types.js'
import { costOf } from './cost.js'
import { groupMethod, groupMethodOptions } from './group-method.js'
import { moments, reward } from './statistics.js'

/**
 * One step of dual ascent: lambda <- clip(lambda + rate (mean cost - budget), floor, ceiling).
 *
 * @example dualStep(0.5, 12, { budget: 10, rate: 0.1 }) // 0.7
 */
export function dualStep(
  lambda: number,
  meanCost: number,
  { budget, rate, floor = 0, ceiling = Infinity }: { budget: number; rate: number; floor?: number; ceiling?: number },
): number {
  return Math.min(ceiling, Math.max(floor, lambda + rate * (meanCost - budget)))
}

/** What a PID controller of a constraint remembers. */
export interface PidState {
  integral: number
  smoothError: number
  smoothCost: number
  /** Smoothed costs of the last steps, oldest first. */
  history: number[]
  lambda: number
}

export interface PidOptions {
  budget: number
  proportional: number
  integral: number
  derivative: number
  /** Share of the moving averages that each step keeps. */
  decay: number
  /** Steps the derivative looks back. */
  delay: number
  ceiling: number
}

/**
 * One step of a PID-controlled multiplier: with e = mean cost - budget,
 *
 *     I <- max(0, I + e),  D = max(0, smoothed cost - smoothed cost `delay` steps ago),
 *     lambda = clip(Kp smoothed e + Ki I + Kd D, 0, ceiling)
 *
 * Averages begin at the first step's values. With Kp = Kd = 0 it is dual ascent at rate Ki.
 * Source: arXiv 2007.03964.
 */
export function pidStep(state: PidState | null, meanCost: number, options: PidOptions): PidState {
  const error = meanCost - options.budget
  const average = (before: number | undefined, now: number): number =>
    before === undefined ? now : options.decay * before + (1 - options.decay) * now
  const integral = Math.max(0, (state?.integral ?? 0) + error)
  const smoothError = average(state?.smoothError, error)
  const smoothCost = average(state?.smoothCost, meanCost)
  const past = state?.history ?? []
  const slope = Math.max(0, smoothCost - (past[0] ?? smoothCost))
  const lambda = options.proportional * smoothError + options.integral * integral + options.derivative * slope
  return {
    integral,
    smoothError,
    smoothCost,
    history: [...past, smoothCost].slice(-options.delay),
    lambda: Math.min(options.ceiling, Math.max(0, lambda)),
  }
}

function meanCostOf(groups: readonly Group[], cost: string): number {
  return moments(groups.flatMap(({ trajectories }) => trajectories.map((trajectory) => costOf(trajectory, cost)))).mean
}

interface PenaltyOptions {
  cost: string
  normalize: boolean
}

/** (R - lambda C) / (1 + lambda), or without the division. */
function penalize(groups: readonly Group[], name: string, lambda: number, options: PenaltyOptions): Group[] {
  const divisor = options.normalize ? 1 + lambda : 1
  return reward(
    groups,
    name,
    (trajectory) => (trajectory.reward - (lambda === 0 ? 0 : lambda * costOf(trajectory, options.cost))) / divisor,
  )
}

function isEmpty(groups: readonly Group[]): boolean {
  return groups.every(({ trajectories }) => trajectories.length === 0)
}

const costOptions = {
  /** 'tokens', 'turns', a metric of the outcome or a reward part. */
  cost: z.string().default('tokens'),
  /** What the mean cost may be, in its own unit. */
  budget: z.number(),
  /** Divide the penalized reward by 1 + lambda, so that it keeps its scale. */
  normalize: z.boolean().default(true),
}

const lagrangianOptions = {
  ...costOptions,
  /** Lambda of the first step. */
  initial: z.number().min(0).default(0),
  /** Change of lambda for each unit of mean cost above the budget. */
  rate: z.number().min(0).default(0.01),
  ceiling: z.number().positive().default(10),
}

function lagrangianShaping(options: z.output<z.ZodObject<typeof lagrangianOptions>>): Shaping {
  return (groups, { state }) => {
    const lambda = (state as { lambda: number } | null)?.lambda ?? options.initial
    if (isEmpty(groups)) return { groups, state: { lambda } }
    const meanCost = meanCostOf(groups, options.cost)
    return {
      groups: penalize(groups, 'lagrangian', lambda, options),
      state: { lambda: dualStep(lambda, meanCost, options) },
      metrics: { lambda, meanCost },
    }
  }
}

const pidOptions = {
  ...costOptions,
  proportional: z.number().min(0).default(0.1),
  integral: z.number().min(0).default(0.01),
  derivative: z.number().min(0).default(0.01),
  decay: z.number().min(0).max(1).default(0.95),
  delay: z.number().int().positive().default(10),
  ceiling: z.number().positive().default(100),
}

function pidShaping(options: z.output<z.ZodObject<typeof pidOptions>>): Shaping {
  return (groups, { state }) => {
    const before = state as unknown as PidState | null
    if (isEmpty(groups)) return { groups, state }
    const lambda = before?.lambda ?? 0
    const meanCost = meanCostOf(groups, options.cost)
    const after = pidStep(before, meanCost, options)
    return {
      groups: penalize(groups, 'pid-lagrangian', lambda, options),
      state: { ...after },
      metrics: { lambda, meanCost },
    }
  }
}

const laconicOptions = {
  /** B, in sampled tokens. */
  budget: z.number().positive(),
  initial: z.number().min(0).default(0),
  rate: z.number().min(0).default(2e-3),
  floor: z.number().min(0).default(0),
  ceiling: z.number().positive().default(1),
  /** Most that one trajectory may lose; the released code has 0.04. */
  cap: z.number().min(0).optional(),
  /** Taken from trajectories that were cut off by a limit; the released code has 0.01. */
  hitPenalty: z.number().min(0).default(0),
}

/**
 * LACONIC's penalty of one trajectory: min(cap, lambda max(0, (tokens - budget) / budget)).
 *
 * @example laconicPenalty(150, { budget: 100, lambda: 0.2 }) // 0.1
 */
export function laconicPenalty(
  tokens: number,
  { budget, lambda, cap = Infinity }: { budget: number; lambda: number; cap?: number },
): number {
  return Math.min(cap, lambda * Math.max(0, (tokens - budget) / budget))
}

function laconicShaping(options: z.output<z.ZodObject<typeof laconicOptions>>): Shaping {
  return (groups, { state }) => {
    const lambda = (state as { lambda: number } | null)?.lambda ?? options.initial
    if (isEmpty(groups)) return { groups, state: { lambda } }
    const length = meanCostOf(groups, 'tokens') / options.budget
    return {
      groups: reward(
        groups,
        'laconic',
        (trajectory) =>
          trajectory.reward -
          laconicPenalty(sampledTokens(trajectory), { ...options, lambda }) -
          (isTruncated(trajectory) ? options.hitPenalty : 0),
      ),
      // The dual sees the signed mean: lambda falls while replies are short on average, even if some are too long.
      state: { lambda: dualStep(lambda, length, { ...options, budget: 1 }) },
      metrics: { lambda, length },
    }
  }
}

const lagrangianAbout = {
  family: 'multi-reward',
  summary: 'The mean cost is held to a budget by a multiplier that dual ascent moves.',
  formula: 'R_i <- (R_i - lambda C_i) / (1 + lambda);  lambda <- clip(lambda + rate (mean C - b), 0, ceiling)',
  reference:
    'RCPO, arXiv 1805.11074. Decided here: cost and reward are mixed before advantages are normalized; lambda moves after its use',
  standing: 'ours',
  use: 'A budget you can name. One that cannot be met drives lambda to its ceiling.',
  rows: ['A018', 'B145'],
} as const

const pidAbout = {
  ...lagrangianAbout,
  summary: 'The mean cost is held to a budget by a PID-controlled multiplier: less swinging than dual ascent.',
  formula:
    'lambda = clip(Kp e_smooth + Ki I + Kd D, 0, ceiling), e = mean C - b;  R_i <- (R_i - lambda C_i) / (1 + lambda)',
  reference: 'arXiv 2007.03964; the constants are those of common libraries. Decided here: lambda moves after its use',
} as const

const laconicAbout = {
  family: 'multi-reward',
  summary: 'Mean reply length is held to a budget of tokens; only tokens beyond the budget cost.',
  formula: 'R_i <- R_i - lambda max(0, (T_i - B) / B);  lambda <- clip(lambda + rate (mean T / B - 1), floor, ceiling)',
  reference: 'LACONIC, arXiv 2602.14468',
  standing: 'source',
  use: 'Reasoning that grows long without need. The penalty can rule groups that are all right: std normalization scales it up.',
  rows: ['A012'],
} as const

export const lagrangianPart = objective({
  ...lagrangianAbout,
  kind: 'shaping',
  name: 'lagrangian-penalty',
  options: z.strictObject(lagrangianOptions),
  make: lagrangianShaping,
})

export const pidLagrangianPart = objective({
  ...pidAbout,
  kind: 'shaping',
  name: 'pid-lagrangian-penalty',
  options: z.strictObject(pidOptions),
  make: pidShaping,
})

export const laconicPart = objective({
  ...laconicAbout,
  kind: 'shaping',
  name: 'laconic-penalty',
  options: z.strictObject(laconicOptions),
  make: laconicShaping,
})

export const lagrangian = objective({
  ...lagrangianAbout,
  kind: 'method',
  name: 'lagrangian',
  options: z.strictObject({ ...groupMethodOptions, ...lagrangianOptions }),
  make: (options) =>
    groupMethod('lagrangian', options, { shaping: [{ name: 'lagrangian-penalty', run: lagrangianShaping(options) }] }),
})

export const pidLagrangian = objective({
  ...pidAbout,
  kind: 'method',
  name: 'pid-lagrangian',
  options: z.strictObject({ ...groupMethodOptions, ...pidOptions }),
  make: (options) =>
    groupMethod('pid-lagrangian', options, { shaping: [{ name: 'pid-lagrangian-penalty', run: pidShaping(options) }] }),
})

export const laconic = objective({
  ...laconicAbout,
  kind: 'method',
  name: 'laconic',
  options: z.strictObject({ ...groupMethodOptions, ...laconicOptions }),
  make: (options) =>
    groupMethod('laconic', options, { shaping: [{ name: 'laconic-penalty', run: laconicShaping(options) }] }),
})
