import { z } from 'zod'
import { reward, type RewardDeclaration } from '../declaration.js'
import { lastReply } from '../references.js'
import { batchedReward } from '../semantic/batched.js'
import type { Reward, Transcript } from '../types.js'
import { MEMBER_REDUCTIONS } from './ensemble.js'
import type { Scorable } from './features.js'
import { mergeSteps, STEP_MERGES, stepScorables, stepsOf } from './process.js'
import { onScale, openRewardModel, SCORE_SCALES, type OpenRewardModel } from './reward-model.js'

const folder = z.string().min(1).describe('folder of a saved reward model')

const modelOptions = z.strictObject({
  model: folder,
  scale: z.enum(SCORE_SCALES).default('raw'),
  /** How the members of an ensemble are made one. */
  members: z.enum(MEMBER_REDUCTIONS).default('mean'),
  /** Of disagreement, in `deviation` and `variance`. */
  penalty: z.number().min(0).default(1),
  /** Each head as a part of its own, in place of their weighted sum; `scale` and `members` do not apply then. */
  parts: z.boolean().default(false),
})
const processOptions = z.strictObject({
  model: folder,
  steps: z.enum(STEP_MERGES).default('min'),
  /** Between steps; a line break unless given. */
  separator: z.string().min(1).default('\n'),
})

/** What the last reply answers: the messages before it, the system's too, joined by line breaks. */
export function promptOf({ messages }: Pick<Transcript, 'messages'>): string {
  const last = messages.map(({ role }) => role).lastIndexOf('assistant')
  return messages
    .slice(0, last < 0 ? undefined : last)
    .map(({ content }) => content)
    .join('\n')
}

/**
 * What a trained reward model says of the last reply to the messages before it. An ensemble may count its disagreement against
 * the reply: `members: 'deviation'`.
 *
 * @example learnedReward({ model: 'rewards/polite', scale: 'probability' })
 */
export function learnedReward(options: z.input<typeof modelOptions>): Reward {
  const { model, scale, members, penalty, parts } = modelOptions.parse(options)
  return batchedReward<OpenRewardModel, Scorable>({
    name: 'reward-model',
    open: () => openRewardModel(model),
    item: (transcript) => ({ item: { prompt: promptOf(transcript), reply: lastReply(transcript) } }),
    async score(opened, items) {
      const { description } = opened
      return (await opened.score(items, { by: members, penalty })).map(({ score, heads }) =>
        parts
          ? Object.fromEntries(description.heads.map((name, k) => [name, description.weights[k] * heads[k]]))
          : onScale(score, scale, description),
      )
    },
  })
}

/**
 * What a trained process reward model says of the steps of the last reply, each read after the prompt and the steps before it.
 * A reply without a step scores 0.
 */
export function learnedProcessReward(options: z.input<typeof processOptions>): Reward {
  const { model, steps, separator } = processOptions.parse(options)
  return batchedReward<OpenRewardModel, readonly Scorable[]>({
    name: 'process-reward-model',
    open: () => openRewardModel(model),
    item(transcript) {
      const found = stepsOf(lastReply(transcript), separator)
      return found.length === 0 ? { value: 0 } : { item: stepScorables(promptOf(transcript), found, separator) }
    },
    async score(opened, items) {
      const scores = await opened.score(items.flat())
      let next = 0
      return items.map((own) =>
        mergeSteps(
          own.map(() => scores[next++].score),
          steps,
        ),
      )
    },
  })
}

/** Rewards that were learnt from comparisons, ratings or labelled steps. */
export const learnedRewards: readonly RewardDeclaration[] = [
  reward({
    name: 'reward-model',
    group: 'learned',
    codes: ['R8'],
    summary: 'a trained reward model of one or several heads, or an ensemble, on the last reply',
    range: 'any; (0, 1) as probability',
    applies: 'always',
    reference: 'Bradley and Terry 1952; InstructGPT, arXiv 2203.02155; ensembles: arXiv 2310.02743',
    options: modelOptions,
    make: learnedReward,
  }),
  reward({
    name: 'process-reward-model',
    group: 'learned',
    codes: ['R8'],
    summary: 'a trained judge of steps, merged over the steps of the last reply',
    range: '[0, 1]',
    applies: 'always',
    reference: "Let's verify step by step, arXiv 2305.20050; Math-Shepherd, arXiv 2312.08935",
    options: processOptions,
    make: learnedProcessReward,
  }),
]
