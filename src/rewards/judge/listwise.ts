import { z } from 'zod'
import { createRandom, deriveSeed } from '../../core/index.js'
import type { JudgeClient } from './client.js'
import { shownReferences } from './pointwise.js'
import { defaultSettings, judgeQuestion, type Judged, type JudgeSettings } from './prompts.js'
import { readVerdict } from './verdict.js'

/** Replies a judge is shown at once at most. */
export const MOST_LISTED = 16

export interface ListwiseOptions {
  criteria: string
  /** The criteria are a principle that goes before the judge's own taste (RewardAnything). */
  principle?: boolean
  /** Marks from 1 to so many; 5 unless given. */
  scale?: number
  /** So many shuffled lists are judged and averaged; 1 unless given. */
  rounds?: number
  settings?: JudgeSettings
}

/**
 * Marks of a group of replies that a judge sees side by side, anonymous and in random order: [replies], in [1, scale]. Equal
 * replies are shown once, so they have one mark.
 *
 * @throws MyriadError 'runtime' when the judge fails; RangeError for more than 16 different replies
 * @example await judgeList(client, judged, ['Nairobi', 'Mombasa'], { criteria: 'Is it true?' }) // [5, 1]
 */
export async function judgeList(
  client: JudgeClient,
  judged: Omit<Judged, 'reply'>,
  replies: readonly string[],
  options: ListwiseOptions,
): Promise<number[]> {
  const { rounds = 1 } = options
  const different = [...new Set(replies)]
  if (different.length > MOST_LISTED)
    throw new RangeError(`a list holds at most ${MOST_LISTED} different replies, got ${different.length}`)
  const marks = await Promise.all(
    Array.from({ length: rounds }, (_, round) => oneRound(client, judged, different, options, round)),
  )
  const mean = different.map((_, i) => marks.reduce((sum, of) => sum + of[i], 0) / rounds)
  return replies.map((reply) => mean[different.indexOf(reply)])
}

async function oneRound(
  client: JudgeClient,
  judged: Omit<Judged, 'reply'>,
  replies: readonly string[],
  { criteria, principle = false, scale = 5, settings = defaultSettings }: ListwiseOptions,
  round: number,
): Promise<number[]> {
  const random = createRandom(deriveSeed('list', settings.seed, round, judged.conversation, ...replies))
  const order = random.shuffle(replies.map((_, i) => i))
  const names = order.map((_, place) => String.fromCharCode(65 + place))
  const by = principle
    ? `Judge by this principle, and by nothing else where it says something:\n${criteria}`
    : `Criteria: ${criteria}`
  const whole = { ...judged, reply: '' }
  const { request, schema } = judgeQuestion({
    task: `Compare the replies ${names.join(', ')} with each other${shownReferences(whole)}; their order is by chance. ${by}\nGive each a score, a whole number from 1 (very bad) to ${scale} (as good as can be). Equally good ones have equal scores.`,
    texts: [
      { label: 'CONVERSATION', text: judged.conversation },
      ...judged.references.slice(0, 4).map((text, i) => ({ label: `REFERENCE ${i + 1}`, text })),
      ...order.map((i, place) => ({ label: `REPLY ${names[place]}`, text: replies[i] })),
    ],
    language: judged.language,
    fields: { scores: z.strictObject(Object.fromEntries(names.map((name) => [name, z.int().min(1).max(scale)]))) },
    example: { scores: Object.fromEntries(names.map((name) => [name, Math.ceil(scale / 2)])) },
    settings,
  })
  const { scores } = await client.ask(request, (text) => readVerdict(text, schema))
  const marks = new Array<number>(replies.length).fill(0)
  order.forEach((i, place) => (marks[i] = scores[names[place]]))
  return marks
}
