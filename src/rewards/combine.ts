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
  return {
    name,
    score: async (transcript) => {
      const parts: Record<string, number> = {}
      for (const [part, [reward, weight]] of Object.entries(rewards)) {
        const value = await checkedScore(reward, transcript, part)
        if (value === null) continue
        if (typeof value === 'number') parts[part] = weight * value
        else for (const [inner, number] of Object.entries(value)) parts[`${part}.${inner}`] = weight * number
      }
      return Object.keys(parts).length === 0 ? null : parts
    },
  }
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
  const value = await checkedScore(reward, transcript, reward.name)
  if (value === null) return { reward: 0, parts: {} }
  const parts = typeof value === 'number' ? { [reward.name]: value } : { ...value }
  return { reward: Object.values(parts).reduce((a, b) => a + b, 0), parts }
}

async function checkedScore(reward: Reward, transcript: Transcript, name: string): Promise<RewardValue> {
  const { task, language, key } = transcript.problem
  const where = `reward "${name}" on problem ${task}/${language}/${key}`
  let value: RewardValue
  try {
    value = await reward.score(transcript)
  } catch (error) {
    if (error instanceof MyriadError && error.code === 'reward') throw error
    throw new MyriadError('reward', `${where} failed: ${messageOf(error)}`, { cause: error })
  }
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
