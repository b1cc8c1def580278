import { z } from 'zod'
import { isConfusable } from '../../text/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { lastReply } from '../references.js'
import type { Reward, RewardValue, Transcript } from '../types.js'
import { lengthRewards } from './length-rewards.js'
import {
  createLanguageTools,
  measureLanguage,
  scriptShare,
  type LanguageMeasure,
  type LanguageTools,
} from './measure.js'
import { splitThinking, writtenText } from './parts.js'

const tag = z
  .string()
  .regex(/^[\w-]+$/)
  .default('think')
  .describe('name of the tags around reasoning')
const tagOptions = z.strictObject({ tag })
const common = { group: 'language', codes: ['R4'] } as const

/** All the policy was given: quotations of it do not count against a writer. */
function givenOf({ messages }: Transcript): string[] {
  return messages.filter(({ role }) => role !== 'assistant').map(({ content }) => content)
}

/** Languages that a reply might be in: those of the task, the one asked for, and English, the likeliest to slip into. */
function candidatesOf({ task, problem }: Transcript): string[] {
  return [...new Set([problem.language, ...task.languages, 'en'])]
}

/** Whether a part is in a language; null when it carries none. */
function isIn(
  text: string | null,
  language: string,
  transcript: Transcript,
  { identify }: LanguageTools,
): boolean | null {
  if (text === null) return null
  const written = writtenText(text.slice(0, 100_000), givenOf(transcript))
  const told = identify(written, { candidates: [...new Set([language, ...candidatesOf(transcript)])], groups: true })
  return told.language === null ? null : isConfusable(told.language, language)
}

function measureOf(text: string, transcript: Transcript, { spans }: LanguageTools): LanguageMeasure {
  const { language } = transcript.problem
  return measureLanguage(text, { language, candidates: candidatesOf(transcript), given: givenOf(transcript) }, spans)
}

function judged(
  name: string,
  judge: (transcript: Transcript, tools: LanguageTools) => RewardValue,
  tools = createLanguageTools(),
): Reward {
  return { name, score: async (transcript) => judge(transcript, await tools()) }
}

/** Of a text's told letters, the share in the language asked for; null when nothing is told. */
function shareOf({ target, other }: LanguageMeasure): number | null {
  return target + other === 0 ? null : target / (target + other)
}

const toNumber = (verdict: boolean | null): number | null => (verdict === null ? null : Number(verdict))

export const languageBridge = reward({
  ...common,
  name: 'language-bridge',
  summary: 'is the reasoning in the language of the question?',
  range: '0 or 1',
  applies: 'replies with reasoning between tags that carries a language; null elsewhere',
  reference: 'GeoFact-X + BRIDGE (systems.tsv A002): the language of the trace equals that of the input',
  options: tagOptions,
  make: (options) =>
    judged('language-bridge', (transcript, tools) => {
      const { thinking } = splitThinking(lastReply(transcript), options.tag)
      return toNumber(isIn(thinking, transcript.problem.language, transcript, tools))
    }),
})

export const languageMThinker = reward({
  ...common,
  name: 'language-m-thinker',
  summary: 'are question, reasoning and answer in one language, without a stretch in another?',
  range: '0 or 1',
  applies: 'replies that carry a language; 0 where one is expected between tags and they are missing (`required`)',
  reference: 'M-Thinker (systems.tsv A009): strict language consistency of input, thought and answer; 0 and 1 are ours',
  options: z.strictObject({
    tag,
    required: z.boolean().default(true).describe('a reply without tags scores 0'),
    stretch: z.int().positive().default(12).describe('letters in a row in another language that spoil a part'),
  }),
  make: ({ tag: name, required, stretch }) =>
    judged('language-m-thinker', (transcript, tools) => {
      const { thinking, answer } = splitThinking(lastReply(transcript), name)
      if (thinking === null && required) return 0
      const parts = [thinking, answer].filter((part) => part !== null).map((part) => measureOf(part, transcript, tools))
      if (parts.every(({ target, other }) => target + other === 0)) return null
      return Number(parts.every(({ target, other, longestOther }) => other <= target && longestOther < stretch))
    }),
})

export const languageMagistral = reward({
  ...common,
  name: 'language-magistral',
  summary: 'a bonus when question, reasoning and answer are identified as one language',
  range: '0 or the bonus (0.1)',
  applies: 'always: a part that is missing or carries no language earns no bonus',
  reference: 'Magistral (systems.tsv A097, B068): formulas and code removed, one classifier on all three, 0.1',
  options: z.strictObject({ tag, bonus: z.number().positive().default(0.1) }),
  make: (options) =>
    judged('language-magistral', (transcript, tools) => {
      const { thinking, answer } = splitThinking(lastReply(transcript), options.tag)
      const { language } = transcript.problem
      const same = [thinking, answer].every((part) => isIn(part, language, transcript, tools) === true)
      return same ? options.bonus : 0
    }),
})

export const languageCureMed = reward({
  ...common,
  name: 'language-cure-med',
  summary: 'reasoning and answer in the language of the question, judged and reported apart',
  range: '[0, 1], as parts of 0 or their weight',
  applies: 'replies of which some part carries a language; null elsewhere',
  reference:
    'CURE-MED (systems.tsv A006): consistency of the response language beside correctness; the halves are ours',
  options: z.strictObject({ tag, reasoning: z.number().min(0).default(0.5), answer: z.number().min(0).default(0.5) }),
  make: (options) =>
    judged('language-cure-med', (transcript, tools) => {
      const { thinking, answer } = splitThinking(lastReply(transcript), options.tag)
      const { language } = transcript.problem
      const verdicts = [isIn(thinking, language, transcript, tools), isIn(answer, language, transcript, tools)]
      if (verdicts.every((verdict) => verdict === null)) return null
      const [reasoning, last] = verdicts.map((verdict) => Number(verdict ?? false))
      return { reasoning: options.reasoning * reasoning, answer: options.answer * last }
    }),
})

export const targetLanguageThinking = reward({
  ...common,
  name: 'target-language-thinking',
  summary: 'share of the reasoning that is in the language asked for',
  range: '[0, 1]',
  applies: 'replies with reasoning between tags that carries a language; null elsewhere',
  reference: 'BRIDGE (systems.tsv A002) by letters instead of all or nothing; ours',
  options: tagOptions,
  make: (options) =>
    judged('target-language-thinking', (transcript, tools) => {
      const { thinking } = splitThinking(lastReply(transcript), options.tag)
      return thinking === null ? null : shareOf(measureOf(thinking, transcript, tools))
    }),
})

export const languageShare = reward({
  ...common,
  name: 'language-share',
  summary: 'share of letters in words of the language asked for',
  range: '[0, 1]',
  applies: 'last replies that carry a language; null elsewhere',
  reference: 'ours; the language check of WALAR (systems.tsv A007) and MiLMMT (A027) by letters',
  options: z.strictObject({}),
  make: () =>
    judged('language-share', (transcript, tools) => shareOf(measureOf(lastReply(transcript), transcript, tools))),
})

export const codeSwitchRate = reward({
  ...common,
  name: 'code-switch-rate',
  summary: 'how seldom the reply changes its language: 1 less the changes a word, against the language asked for',
  range: '[0, 1]; 1 for a reply in one language',
  applies: 'last replies of two words and more that carry a language; null elsewhere',
  reference:
    'switch points a pair of words (I-index of Guzmán et al. 2017); penalised as in Qwen-Scope (systems.tsv A050)',
  options: z.strictObject({}),
  make: () =>
    judged('code-switch-rate', (transcript, tools) => {
      const { words, switches } = measureOf(lastReply(transcript), transcript, tools)
      return words < 2 ? null : 1 - switches / (words - 1)
    }),
})

export const scriptShareReward = reward({
  ...common,
  name: 'script-share',
  summary: 'share of letters in a script of the language asked for',
  range: '[0, 1]',
  applies: 'last replies with letters; null elsewhere',
  reference: 'ours; the cheapest part of language consistency as in M-Thinker (systems.tsv A009)',
  options: z.strictObject({}),
  make: () => ({
    name: 'script-share',
    score: (transcript) => scriptShare(lastReply(transcript), transcript.problem.language, givenOf(transcript)),
  }),
})

export const languageRewards: readonly RewardDeclaration[] = [
  languageBridge,
  languageMThinker,
  languageMagistral,
  languageCureMed,
  targetLanguageThinking,
  languageShare,
  codeSwitchRate,
  scriptShareReward,
  ...lengthRewards,
] as readonly RewardDeclaration[]
