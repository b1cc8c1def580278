import { z } from 'zod'
import { AGGREGATIONS } from '../algorithms/weights.js'
import { MyriadError } from '../core/index.js'
import { devices } from '../engine/index.js'
import { adapterSchema } from '../models/index.js'
import { DEFAULT_LIMITS } from './episode.js'

const share = z.number().min(0).max(1)
const count = z.int().min(1)

const taskSchema = z.strictObject({
  /** Id of a built-in task, or of one from `modules` or given in code. */
  id: z.string().min(1),
  /** BCP 47 tags; all of the task's languages unless given. */
  languages: z.array(z.string().min(1)).min(1).optional(),
  /** Problems are drawn uniformly from this range of difficulty within [0, 1]. */
  difficulty: z
    .tuple([share, share])
    .refine(([low, high]) => low <= high, 'the lower end of the range is above its upper end')
    .default([0, 1]),
  /** Share relative to the other tasks; 0 evaluates the task without training on it. */
  weight: z.number().min(0).default(1),
  /** A system message before each problem, or one by language: for models that do not know the task's terse wording. */
  instruction: z.union([z.string().min(1), z.record(z.string(), z.string().min(1))]).optional(),
})

const algorithmSchema = z.strictObject({
  /** Divide a group's advantages by the standard deviation of its rewards ('mean-std'), or only subtract the mean. */
  normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
  /** Added to that standard deviation. */
  epsilon: z.number().min(0).default(1e-6),
  /** How token losses become one number; see src/algorithms/weights.ts. */
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  /** The constant length of aggregation 'fixed-length', in tokens. */
  fixedLength: count.optional(),
  /** The ratio of new to old probability may fall to 1 - clipLow ... */
  clipLow: share.default(0.2),
  /** ... and rise to 1 + clipHigh before a token stops teaching. */
  clipHigh: z.number().min(0).default(0.2),
  /** Weight of the divergence from the model the run began with; 0 turns it off. */
  klCoefficient: z.number().min(0).default(0),
  /** Estimator of that divergence. */
  klEstimator: z.enum(['k1', 'k2', 'k3']).default('k3'),
  /** Replies cut off by a limit: ordinary, not trained on, or punished by length. */
  overlong: z
    .union([
      z.enum(['keep', 'mask']),
      z.strictObject({ maxTokens: count, marginTokens: z.int().min(0), weight: z.number().min(0).default(1) }),
    ])
    .default('keep'),
  /** How often the episodes of a step are learnt from. */
  epochs: count.default(1),
  /** Where sampling is in few bits: the most that a token's importance weight may be. */
  importanceCap: z.number().min(1).default(2),
  /** Optimizer steps per epoch; groups are shared out among them at random. */
  minibatches: count.default(1),
})

const curriculumSchema = z.strictObject({
  /** What task weights share out: 0 groups, 1 sampled tokens (cheap tasks get more groups), or between. */
  tokenBalance: share.default(1),
  /** How much tasks whose groups teach nothing (solved, or hopeless yet) give way to the others. */
  learnability: share.default(0),
  /** Let each task's hardest difficulty follow its success. */
  adaptive: z.strictObject({ target: share.default(0.5), rate: z.number().min(0).default(0.1) }).optional(),
})

const evaluationSchema = z.strictObject({
  /** Withheld problems per task and language. */
  problemsPerCell: count.default(8),
  /** Samples at temperature 1 per problem: pass@1 to pass@samples. */
  samples: count.default(8),
  /** Also evaluate every so many steps during training; 0: only before and after. */
  every: z.int().min(0).default(0),
  /** Chooses the problems; the same before and after. */
  seed: z.int().default(0),
  /** Plays per problem of the random legal player; 0 leaves it out. */
  randomPlays: z.int().min(0).default(16),
})

const limitsSchema = z.strictObject({
  /** Most replies per episode; the task's own limit unless given. */
  maxTurns: count.optional(),
  /** Most tokens per reply; the task's own limit unless given. */
  maxReplyTokens: count.optional(),
  /** How long a task may take to answer one reply. */
  turnTimeoutMs: count.default(DEFAULT_LIMITS.turnTimeoutMs),
  /** How long the rewards of an episode may take. */
  rewardTimeoutMs: count.default(DEFAULT_LIMITS.rewardTimeoutMs),
})

const memorySchema = z.strictObject({
  /** Sequences that one worker samples at a time. */
  slots: count.default(96),
  /** Preferred tokens of a packed training row; longer sequences make longer rows. */
  rowLength: count.default(128),
  /** Most tokens in one forward and backward pass of a worker. */
  tokenBudget: count.default(2048),
  /** Compute activations again in the backward pass instead of keeping them. */
  recompute: z.boolean().default(false),
  /** Sample with linear layers rounded to 8 or 4 bits (4 with an adapter only); corrected for by importance weights. */
  samplingBits: z.union([z.literal(8), z.literal(4)]).optional(),
})

/** A training run as data. Unknown fields are refused. */
export const configSchema = z.strictObject({
  /** Names the run and its folder. */
  name: z
    .string()
    .regex(/^[\w][\w.-]*$/, 'may hold letters, digits, "_", "-" and "."')
    .default('run'),
  /** Every random choice of the run derives from it. */
  seed: z.int().default(1),
  /** Folder of the model to start from; relative to the config file, or to the working directory from code. */
  model: z.string().min(1),
  /** JavaScript modules that export tasks or rewards of your own, by any name; paths like `model`. */
  modules: z.array(z.string().min(1)).default([]),
  tasks: z.array(taskSchema).min(1),
  /** By name, a weight, or a weight with options: { "task": 1, "length": { "weight": 0.1, "free": 80, "limit": 200 } }. */
  rewards: z.record(z.string(), z.union([z.number(), z.looseObject({ weight: z.number() })])).default({ task: 1 }),
  algorithm: algorithmSchema.prefault({}),
  curriculum: curriculumSchema.prefault({}),
  steps: count,
  /** Problems per step ... */
  groupsPerStep: count.default(16),
  /** ... each tried this often. */
  samplesPerProblem: z.int().min(2).default(8),
  /** Sampling temperature while training. */
  temperature: z.number().positive().default(1),
  /** Peak learning rate of AdamW. */
  learningRate: z.number().positive().default(3e-4),
  /** Its course after warm-up. */
  schedule: z.enum(['constant', 'linear', 'cosine']).default('constant'),
  /** Steps in which it rises from 0. */
  warmupSteps: z.int().min(0).default(5),
  /** Where 'linear' and 'cosine' end, as a share of the peak. */
  finalLearningRate: share.default(0),
  /** Global norm that gradients are clipped to. */
  clipNorm: z.number().positive().default(1),
  evaluation: evaluationSchema.prefault({}),
  /** Worker threads that own replicas of the model. */
  workers: count.default(2),
  /** Threads of each worker's programs: more than 1 for a large model with one worker. */
  threads: count.default(1),
  /** Train an adapter on the model, whose own weights then stay as they are. */
  adapter: adapterSchema.optional(),
  /** Where ONNX Runtime computes; all but cpu need a machine that has it. */
  device: z.enum(devices).default('cpu'),
  memory: memorySchema.prefault({}),
  limits: limitsSchema.prefault({}),
  /** Steps between checkpoints; a killed run loses at most so many. */
  checkpointEvery: count.default(1),
  /** Groups per step of which an episode is kept for the report. */
  episodesPerStep: z.int().min(0).default(2),
  /** The run stops after this many steps in a row with a reward or gradient that is not finite. */
  maxBadSteps: count.default(5),
})

/** What a user writes. */
export type TrainConfigInput = z.input<typeof configSchema>
/** With all defaults filled in. */
export type TrainConfig = z.output<typeof configSchema>

/**
 * Checks a configuration and fills in defaults.
 *
 * @param source named in error messages: a file, or 'config'
 * @throws MyriadError 'usage' naming every field that is wrong, what was expected and what was given
 * @example parseConfig({ model: 'models/base', tasks: [{ id: 'sort' }], steps: 100 })
 */
export function parseConfig(input: unknown, source = 'config'): TrainConfig {
  const result = configSchema.safeParse(input)
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => describe(issue, input))
  throw new MyriadError('usage', [`${source} is not a valid configuration:`, ...problems].join('\n  '))
}

function describe(issue: z.core.$ZodIssue, input: unknown): string {
  const path = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  const field = path.replace(/^\./, '') || 'the configuration'
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => `"${key}"`).join(', ')
    return `${field}: unknown field ${keys}; see docs/loop.md for the fields there are`
  }
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.map((errors) => errors[0]?.message).filter(Boolean)
    return `${field}: ${inner.join(', or ') || issue.message}; got ${show(valueAt(input, issue.path))}`
  }
  const value = valueAt(input, issue.path)
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '')
  return value === undefined ? `${field}: ${message}; it is missing` : `${field}: ${message}; got ${show(value)}`
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  )
}

/** A value as an error message shows it. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
