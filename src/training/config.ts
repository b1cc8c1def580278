import { z } from 'zod'
import { describeIssue, seeOptions } from '../algorithms/options.js'
import { partsShape } from '../algorithms/composed.js'
import { listObjectives } from '../algorithms/registry.js'
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
  /** Keep what the task says that turns earned on their way, for methods with credit for turns; unless given, only of tasks of your own. */
  turnRewards: z.boolean().optional(),
})

/** What the loop itself reads of `algorithm`, whatever the method. */
const LOOP_FIELDS = ['name', 'epochs', 'minibatches', 'importanceCap', 'with'] as const

const algorithmFields = z.looseObject({
  /** The method, as `myriad algorithms` lists it; its options stand beside this field. */
  name: z.string().min(1).default('grpo'),
  /** How often the episodes of a step are learnt from. */
  epochs: count.default(1),
  /** Where sampling is in few bits: the most that a token's importance weight may be. */
  importanceCap: z.number().min(1).default(2),
  /** Optimizer steps per epoch; groups are shared out among them at random. */
  minibatches: count.default(1),
  /** Further parts of a composed method by name; an advantage or a loss takes the place of its own. */
  with: z.strictObject(partsShape).optional(),
})

/** Options of a built-in method are checked by its own schema; those of methods from modules when the modules are there. */
const algorithmSchema = algorithmFields.transform((given, context): z.output<typeof algorithmFields> => {
  const method = listObjectives().find(({ name, kind }) => name === given.name && kind === 'method')
  if (!method) return given
  const parsed = method.options.safeParse(methodOptions(given))
  if (parsed.success) return { ...given, ...(parsed.data as object) }
  context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: given }) as z.core.$ZodRawIssue))
  return z.NEVER
})

/** The options of the method that `algorithm` names: all but what is for the loop. */
export function methodOptions(algorithm: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(algorithm).filter(([field]) => !(LOOP_FIELDS as readonly string[]).includes(field)),
  )
}

const curriculumSchema = z.strictObject({
  /** What task weights share out: 0 groups, 1 sampled tokens (cheap tasks get more groups), or between. */
  tokenBalance: share.default(1),
  /** How much tasks whose groups teach nothing (solved, or hopeless yet) give way to the others. */
  learnability: share.default(0),
  /** Ask each problem in so many languages of its task within a step, in as many groups. */
  languagesPerProblem: count.optional(),
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
  /** File of a chat template for a model that has none, or in place of its own; paths like `model`. 'default': Myriad's own. */
  chatTemplate: z.string().min(1).optional(),
  /** JavaScript modules that export tasks, rewards or objectives of your own, by any name; paths like `model`. */
  modules: z.array(z.string().min(1)).default([]),
  tasks: z.array(taskSchema).min(1),
  /** By name, a weight, or a weight with options: { "task": 1, "length": { "weight": 0.1, "free": 80, "limit": 200 } }. */
  rewards: z.record(z.string(), z.union([z.number(), z.looseObject({ weight: z.number() })])).default({ task: 1 }),
  algorithm: algorithmSchema.prefault({}),
  /** Folder of the model that a method with a teacher learns from; like `model`. */
  teacher: z.string().min(1).optional(),
  /** Folder of the model that the teacher was made from, for methods that learn the difference (opd2); `model` unless given. */
  teacherBase: z.string().min(1).optional(),
  /** Folders of teachers by language (BCP 47); 'default', or `teacher`, teaches the others. */
  teachers: z.record(z.string().min(1), z.string().min(1)).optional(),
  /**
   * Where the model itself, told the solution, is the teacher: what it reads in place of the last message before its first
   * reply. {prompt} is that message, {solution} what the task's expert says (for sdpo: a right reply of the group), {sibling}
   * a right reply of the group.
   */
  teacherPrompt: z
    .string()
    .refine((template) => /\{(solution|sibling)\}/.test(template), 'must contain {solution} or {sibling}')
    .default('{prompt}\n\n{solution}'),
  curriculum: curriculumSchema.prefault({}),
  steps: count,
  /** Problems per step ... */
  groupsPerStep: count.default(16),
  /** ... each tried this often. */
  samplesPerProblem: z.int().min(2).default(8),
  /**
   * Replace groups whose rewards are all equal by those of further problems, for at most so many rounds a step. (The option of
   * that name in `algorithm` leaves such groups out.)
   */
  dynamicSampling: z.strictObject({ rounds: count }).optional(),
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
  const problems = result.error.issues.map((issue) =>
    describeIssue(issue, input, { unknown: whereFieldsAre(issue, input) }),
  )
  throw new MyriadError('usage', [`${source} is not a valid configuration:`, ...problems].join('\n  '))
}

function whereFieldsAre(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.path[0] === 'adapter') return 'see docs/adapters.md for the fields there are'
  if (issue.path[0] !== 'algorithm') return 'see docs/loop.md for the fields there are'
  const { algorithm } = input as { algorithm?: { name?: unknown } }
  return seeOptions(String(algorithm?.name ?? 'grpo'))
}
