import { loadLanguageIdentifier, type IdentifyLanguage } from '../../text/index.js'
import { createEvidenceJudge, type EvidenceJudge } from './evidence.js'
import type { Reward, Transcript } from '../types.js'

/** What of an episode tells its language. */
export type LanguageTranscript = Pick<Transcript, 'task' | 'problem' | 'messages' | 'replies'>

/**
 * Did the policy answer in the language it was asked in? True or false; null when the replies carry no language (numbers,
 * single letters, only words of the problem itself, or too little to say).
 *
 * Pure. Short replies are judged by the task's lexicon and by script; longer prose by `identify`, with the task's
 * languages as candidates. Without `identify`, prose in a fitting script is null unless words of the lexicon decide.
 *
 * @example isLanguageConsistent(transcript, await loadLanguageIdentifier())
 */
export function isLanguageConsistent(
  transcript: LanguageTranscript,
  identify?: IdentifyLanguage,
  evidenceOf: EvidenceJudge = createEvidenceJudge(),
): boolean | null {
  const { verdict, rest } = evidenceOf(questionOf(transcript))
  return (rest === '' || identify === undefined ? null : byIdentifier(transcript, rest, identify)) ?? verdict
}

/** Judges many episodes; loads the identifiers when the first one needs them. */
export type LanguageJudge = (transcript: LanguageTranscript) => Promise<boolean | null>

/**
 * Makes a judge to be shared by a whole run: it remembers lexicons and scripts, and loads the language identifiers (200 ms,
 * some 100 MB) only when a reply is long enough to need them.
 *
 * @example const judge = createLanguageJudge(); await judge(transcript)
 */
export function createLanguageJudge(load: () => Promise<IdentifyLanguage> = loadLanguageIdentifier): LanguageJudge {
  const evidenceOf = createEvidenceJudge()
  let loading: Promise<IdentifyLanguage> | undefined
  return async (transcript) => {
    const { verdict, rest } = evidenceOf(questionOf(transcript))
    if (rest === '') return verdict
    loading ??= load()
    return byIdentifier(transcript, rest, await loading) ?? verdict
  }
}

/** 1 for a reply in the language asked for, 0 for another language, null where replies carry no language. */
export function languageConsistency(judge: LanguageJudge = createLanguageJudge()): Reward {
  return {
    name: 'language',
    score: async (transcript) => {
      const consistent = await judge(transcript)
      return consistent === null ? null : consistent ? 1 : 0
    },
  }
}

/**
 * Code units of a reply that are judged: enough to tell a language by, and an endless reply, whose evidence takes time with the
 * square of its length, does not stop a run.
 */
const MOST_JUDGED = 8000

function questionOf({ task, problem, messages, replies }: LanguageTranscript): Parameters<EvidenceJudge>[0] {
  return {
    replies: replies.map((reply) => reply.slice(0, MOST_JUDGED)),
    given: messages.filter((message) => message.role !== 'assistant').map((message) => message.content),
    language: problem.language,
    languages: task.languages,
    lexicon: task.lexicon,
  }
}

function byIdentifier({ task, problem }: LanguageTranscript, rest: string, identify: IdentifyLanguage): boolean | null {
  const { language } = identify(rest, { candidates: task.languages })
  return language === null ? null : sameLanguage(language, problem.language)
}

/** Regional and script variants are one language to an identifier: `zh-Hant` is answered by `zh`. */
function sameLanguage(a: string, b: string): boolean {
  return new Intl.Locale(a).language === new Intl.Locale(b).language
}
