import { z } from 'zod'
import { objective } from '../objective.js'

/** How the share mu of demonstrations moves with the step. */
export interface MixtureSchedule {
  kind: 'constant' | 'linear' | 'cosine'
  /** mu after the warm-up. */
  from: number
  /** mu at the end of the decay and ever after. */
  to: number
  /** Steps in which mu rises linearly from 0 to `from`; 0: none. */
  warmupSteps: number
  /** Steps of the decay. */
  decaySteps: number
}

/**
 * The share of demonstrations at a step, counted from 1 (the schedule from 0):
 *
 *     warm-up   from t / warmupSteps                                      t < warmupSteps
 *     cosine    to + (from - to) (1 + cos(pi u)) / 2,  linear  to + (from - to) (1 - u),   u = min(1, (t - warmup) / decay)
 *
 * Sources: CHORD, arXiv 2508.11408, in its authors' framework (warm-up and cosine); DataMind, 2509.25084 (no warm-up, .9 to
 * .05 in 350 steps).
 *
 * @example mixtureAt({ kind: 'cosine', from: 0.9, to: 0.05, warmupSteps: 0, decaySteps: 350 }, 176) // 0.475
 */
export function mixtureAt(schedule: MixtureSchedule, step: number): number {
  const { kind, from, to, warmupSteps, decaySteps } = schedule
  const t = Math.max(0, step - 1)
  if (t < warmupSteps) return (from * t) / warmupSteps
  if (kind === 'constant') return from
  const u = decaySteps === 0 ? 1 : Math.min(1, (t - warmupSteps) / decaySteps)
  return to + (from - to) * (kind === 'cosine' ? (1 + Math.cos(Math.PI * u)) / 2 : 1 - u)
}

/** Options of methods whose share of demonstrations moves. */
export const scheduleOptions = (defaults: MixtureSchedule) => ({
  schedule: z.enum(['constant', 'linear', 'cosine']).default(defaults.kind),
  /** mu after the warm-up. */
  from: z.number().min(0).max(1).default(defaults.from),
  /** mu at the end. */
  to: z.number().min(0).max(1).default(defaults.to),
  /** Steps in which mu rises from 0. */
  warmupSteps: z.int().min(0).default(defaults.warmupSteps),
  /** Steps in which it then falls. */
  decaySteps: z.int().min(0).default(defaults.decaySteps),
})

export type ScheduleOptions = z.output<z.ZodObject<ReturnType<typeof scheduleOptions>>>

/** A schedule out of a method's options. */
export const scheduleOf = ({ schedule, ...rest }: ScheduleOptions): MixtureSchedule => ({ kind: schedule, ...rest })

export const mixtureSchedule = objective({
  kind: 'function',
  name: 'mixture-schedule',
  family: 'supervised',
  summary: 'The share of demonstrations in a mixture with RL, by step: warm-up, then constant, linear or cosine.',
  formula: 'mu_t = to + (from - to) (1 + cos(pi min(1, (t - warmup) / decay))) / 2',
  reference: "CHORD, arXiv 2508.11408 (authors' code); DataMind, arXiv 2509.25084",
  standing: 'source',
  use: 'Inside chord, datamind and scheduled-mixture; or for a mixture of your own.',
  rows: ['B019'],
  options: z.strictObject(scheduleOptions({ kind: 'cosine', from: 0.9, to: 0.05, warmupSteps: 0, decaySteps: 350 })),
  make: (options) => (step: number) => mixtureAt(scheduleOf(options), step),
})
