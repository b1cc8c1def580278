import { MyriadError } from '../core/index.js'
import type { Reward, Transcript } from '../rewards/types.js'

/** What a finished episode is worth. */
export interface Score {
  reward: number
  /** By name; they sum to `reward`. */
  parts: Record<string, number>
  /** Null: the replies carry no language. */
  languageConsistent: boolean | null
}

/** Scores a finished episode; throwing drops the trajectory. */
export type Scorer = (transcript: Transcript) => Score | Promise<Score>

/**
 * A scorer from a reward and a judge of language. A reward of null ("does not apply") counts as 0 without parts.
 *
 * @throws MyriadError 'numeric' (from the scorer) when the reward is NaN or infinite
 */
export function createScorer(reward: Reward, judgeLanguage: (transcript: Transcript) => boolean | null): Scorer {
  return async (transcript) => {
    const value = await reward.score(transcript)
    const parts: Record<string, number> =
      value === null ? {} : typeof value === 'number' ? { [reward.name]: value } : { ...value }
    const bad = Object.entries(parts).find(([, part]) => !Number.isFinite(part))
    if (bad) {
      const { task, language } = transcript.problem
      throw new MyriadError(
        'numeric',
        `reward "${reward.name}": part "${bad[0]}" is ${bad[1]} on ${task} (${language})`,
      )
    }
    const total = Object.values(parts).reduce((sum, part) => sum + part, 0)
    return { reward: total, parts, languageConsistent: judgeLanguage(transcript) }
  }
}
