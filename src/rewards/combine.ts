import { MyriadError, messageOf } from '../core/index.js'
import type { Reward, RewardValue, Transcript } from './types.js'

/** A reward and what it counts. */
export type Weighted = readonly [reward: Reward, weight: number]

/**
 * The weighted sum of several rewards, kept as named parts. A reward that does not apply (null) is left out; if none
 * applies, the answer is null. Parts of a part are named `outer.inner`.
 *
 * @throws MyriadError 'usage' when a weight is not a finite number.
 * @example weighted({ task: [taskReward(), 1], language: [languageConsistency(), 0.2] })
 */
export function weighted(rewards: Readonly<Record<string, Weighted>>, name = 'weighted'): Reward {
  for (const [part, [, weight]] of Object.entries(rewards))
    if (!Number.isFinite(weight))
      throw new MyriadError('usage', `reward "${part}": its weight must be a number, got ${weight}`)
  const groupwise = Object.values(rewards).some(([reward]) => reward.groupwise)
  return {
    name,
    ...(groupwise && { groupwise }),
    score: async (transcript) => raised((await weighAll(rewards, [transcript]))[0]),
    scoreAll: (transcripts) => weighAll(rewards, transcripts),
    close: async () => {
      for (const [reward] of Object.values(rewards)) await reward.close?.()
    },
  }
}

function raised(value: RewardValue | Error): RewardValue {
  if (value instanceof Error) throw value
  return value
}

async function weighAll(
  rewards: Readonly<Record<string, Weighted>>,
  transcripts: readonly Transcript[],
): Promise<(RewardValue | Error)[]> {
  const sums: (Record<string, number> | Error)[] = transcripts.map(() => ({}))
  for (const [part, [reward, weight]] of Object.entries(rewards)) {
    // What an earlier part failed on is lost already.
    const open = transcripts.flatMap((_, i) => (sums[i] instanceof Error ? [] : [i]))
    const values = await checkedScores(
      reward,
      open.map((i) => transcripts[i]),
      part,
    )
    open.forEach((i, k) => {
      const value = values[k]
      const sum = sums[i] as Record<string, number>
      if (value instanceof Error) sums[i] = value
      else if (typeof value === 'number') sum[part] = weight * value
      else for (const [inner, number] of Object.entries(value ?? {})) sum[`${part}.${inner}`] = weight * number
    })
  }
  return sums.map((sum) => (sum instanceof Error || Object.keys(sum).length > 0 ? sum : null))
}

/** What an episode earned: the sum, and the parts it is made of (one part, called as the reward, for a plain number). */
export interface ScoredTranscript {
  reward: number
  parts: Record<string, number>
}

/**
 * Scores an episode; the one place where the loop meets rewards. A reward that does not apply counts 0, with no parts.
 *
 * @throws MyriadError 'reward' naming the reward and the problem, when the reward throws or answers something that is not
 * a finite number. The caller drops the trajectory and counts it.
 */
export async function scoreTranscript(reward: Reward, transcript: Transcript): Promise<ScoredTranscript> {
  const [scored] = await scoreTranscripts(reward, [transcript])
  if (scored instanceof Error) throw scored
  return scored
}

/** Many episodes, at once where the reward can; an error stands in the place of one that failed. */
export async function scoreTranscripts(
  reward: Reward,
  transcripts: readonly Transcript[],
): Promise<(ScoredTranscript | Error)[]> {
  return (await checkedScores(reward, transcripts, reward.name)).map((value) => {
    if (value instanceof Error) return value
    if (value === null) return { reward: 0, parts: {} }
    const parts = typeof value === 'number' ? { [reward.name]: value } : { ...value }
    return { reward: Object.values(parts).reduce((a, b) => a + b, 0), parts }
  })
}

async function checkedScores(
  reward: Reward,
  transcripts: readonly Transcript[],
  name: string,
): Promise<(RewardValue | Error)[]> {
  let values: (RewardValue | Error)[]
  try {
    values = reward.scoreAll ? await reward.scoreAll(transcripts) : await scoreEach(reward, transcripts)
  } catch (error) {
    values = transcripts.map(() => (error instanceof Error ? error : new Error(messageOf(error))))
  }
  return transcripts.map((transcript, i) => {
    try {
      return checked(values[i], transcript, name)
    } catch (error) {
      return error as Error
    }
  })
}

async function scoreEach(reward: Reward, transcripts: readonly Transcript[]): Promise<(RewardValue | Error)[]> {
  const values: (RewardValue | Error)[] = []
  for (const transcript of transcripts) {
    try {
      values.push(await reward.score(transcript))
    } catch (error) {
      values.push(error instanceof Error ? error : new Error(messageOf(error)))
    }
  }
  return values
}

function checked(value: RewardValue | Error | undefined, { problem }: Transcript, name: string): RewardValue {
  const where = `reward "${name}" on problem ${problem.task}/${problem.language}/${problem.key}`
  if (value instanceof MyriadError && value.code === 'reward') throw value
  if (value instanceof Error) throw new MyriadError('reward', `${where} failed: ${messageOf(value)}`, { cause: value })
  if (value === null) return null
  if (typeof value === 'number') return finite(value, where)
  if (typeof value !== 'object')
    throw new MyriadError('reward', `${where} answered ${String(value)}, not a number, parts or null`)
  for (const [part, number] of Object.entries(value)) finite(number, `${where}, part "${part}"`)
  return value
}

function finite(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new MyriadError('reward', `${where} answered ${String(value)}, not a finite number`)
  return value
}
