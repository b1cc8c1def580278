import {
  builtinRewards,
  createLanguageJudge,
  languageConsistency,
  rewardFromConfig,
  scoreTranscript,
  scoreTranscripts,
  type LanguageJudge,
  type RewardConfig,
} from '../rewards/index.js'
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
export interface Scorer {
  (transcript: Transcript): Promise<Score>
  /** Where rewards compare: all finished episodes of a problem at once. An error stands in the place of one that failed. */
  group?(transcripts: readonly Transcript[]): Promise<(Score | Error)[]>
  /** Ends what its rewards hold: processes, sessions. */
  close?(): Promise<void>
}

/** A scorer from a reward and a judge of language. */
export function createScorer(reward: Reward, judge: LanguageJudge = createLanguageJudge()): Scorer {
  const scorer: Scorer = async (transcript) => ({
    ...(await scoreTranscript(reward, transcript)),
    languageConsistent: await judge(transcript),
  })
  if (reward.groupwise)
    scorer.group = async (transcripts) => {
      const scores = await scoreTranscripts(reward, transcripts)
      const judged = scores.map(async (score, i) =>
        score instanceof Error ? score : { ...score, languageConsistent: await judge(transcripts[i]) },
      )
      return Promise.all(judged)
    }
  scorer.close = async () => reward.close?.()
  return scorer
}

/**
 * The scorer of a configuration: the weighted sum of the rewards it names, built-in ones and those of the user's own.
 *
 * @throws MyriadError 'usage' on an unknown reward or a wrong weight or option
 * @example configuredScorer({ task: 1, language: 0.2 })
 */
export function configuredScorer(config: RewardConfig, own: readonly Reward[] = []): Scorer {
  const judge = judgeOnce(createLanguageJudge())
  const registry = {
    ...builtinRewards,
    language: () => languageConsistency(judge),
    ...Object.fromEntries(own.map((reward) => [reward.name, () => reward])),
  }
  return createScorer(rewardFromConfig(config, registry), judge)
}

/** The language reward and the metric ask the same question of the same transcript. */
function judgeOnce(judge: LanguageJudge): LanguageJudge {
  const answers = new WeakMap<object, ReturnType<LanguageJudge>>()
  return (transcript) => {
    let answer = answers.get(transcript)
    if (!answer) answers.set(transcript, (answer = judge(transcript)))
    return answer
  }
}
