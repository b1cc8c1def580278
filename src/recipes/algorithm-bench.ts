import { listObjectives } from '../algorithms/registry.js'
import type { Family, Objective } from '../algorithms/objective.js'
import type { TrainConfigInput } from '../training/index.js'

/** Families whose methods are compared by training. */
export const BENCH_FAMILIES = [
  'policy-gradient',
  'preference',
  'supervised',
  'distillation',
] as const satisfies Family[]

/** Seeds that every method is run with. */
export const BENCH_SEEDS: readonly number[] = [1, 2, 3]

/** Tasks, budget and settings that all methods share; only `algorithm` differs. */
const shared: Omit<TrainConfigInput, 'model' | 'algorithm'> = {
  tasks: [
    { id: 'larger', languages: ['en', 'sw', 'hi'], difficulty: [0, 1] },
    { id: 'reverse', languages: ['en', 'sw', 'hi'], difficulty: [0, 0.2] },
    { id: 'facts', languages: ['en', 'sw', 'hi'], difficulty: [0, 0.5] },
  ],
  rewards: { task: 1, format: 0.2 },
  steps: 16,
  groupsPerStep: 12,
  samplesPerProblem: 8,
  learningRate: 4e-4,
  warmupSteps: 2,
  workers: 1,
  evaluation: { problemsPerCell: 16, samples: 2, randomPlays: 0 },
  // A run takes seconds: one that was cut off begins anew.
  checkpointEvery: 1000,
  episodesPerStep: 0,
}

/** What the distillation methods are taught by: the same tasks, learnt for longer by GRPO, with a seed of its own. */
export function teacherConfig(model: string): TrainConfigInput {
  return { ...shared, model, name: 'teacher', seed: 100, steps: 120, workers: 2, schedule: 'linear', algorithm: {} }
}

/** One run of the comparison. */
export function benchConfig(
  method: string,
  seed: number,
  options: { model: string; teacher: string; steps?: number },
): TrainConfigInput {
  const { model, teacher, steps = shared.steps } = options
  // Two optimizer steps a batch: only from the second on do ratios, and what clips or weighs them, differ from 1.
  return { ...shared, model, teacher, name: method, seed, steps, algorithm: { name: method, minibatches: 2 } }
}

/** Methods that the comparison leaves out, and why. */
export const NOT_COMPARED: Readonly<Record<string, string>> = {
  composed: 'is whatever its parts are',
  'return-conditioned': 'needs control tokens that the base model has not been taught',
}

/** Methods that the comparison runs, in the order of the registry. */
export function benchMethods(): Objective[] {
  const families: readonly Family[] = BENCH_FAMILIES
  return listObjectives().filter(
    ({ kind, family, name }) => kind === 'method' && families.includes(family) && !(name in NOT_COMPARED),
  )
}
