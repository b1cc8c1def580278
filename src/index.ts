/**
 * Myriad: reinforcement-learning post-training of language models. What most programs need is here; every layer has more
 * under its own name (`myriad-rl/engine`, `myriad-rl/tasks`, ...).
 *
 * @example
 * import { baseModel, train } from 'myriad-rl'
 * const summary = await train({ model: baseModel(), tasks: [{ id: 'sort' }], steps: 50 })
 */
export {
  MyriadError,
  createRandom,
  deriveSeed,
  messageOf,
  type ErrorCode,
  type Json,
  type Random,
} from './core/index.js'
export type { ChatFormat, Message, Tokenizer } from './text/types.js'
export { openLocalPolicy } from './policy/index.js'
export type { Completion, Loss, Policy, SampleRequest, TrainSequence } from './policy/types.js'
export { defineTask, end, listTasks, malformed, say, singleTurn, taskById } from './tasks/index.js'
export type { Episode, Outcome, Problem, Task, Turn } from './tasks/types.js'
export * as rewards from './rewards/index.js'
export type { Reward, RewardValue, Transcript } from './rewards/types.js'
export { clippedLoss, grpo } from './algorithms/index.js'
export { evaluate, randomPlayer, writeReport, type Evaluation, type EvaluationRow } from './evaluation/index.js'
export { resumeTraining, train } from './training/index.js'
export type { Summary, TrainConfig, TrainConfigInput, TrainEvent, TrainOptions } from './training/index.js'
export { baseModel } from './cli/models.js'
