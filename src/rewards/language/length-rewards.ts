import { z } from 'zod'
import { countGraphemes, homuraBand, homuraDuration, LENGTH_UNITS, lengthRatio } from '../../text/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply, sourceOf } from '../references.js'
import type { Transcript } from '../types.js'

/** Longer replies are as wrong as this: the ratio is far out of any band. In UTF-16 units. */
const longest = 50_000

function sourceLanguageOf(transcript: Transcript, fallback: string): string {
  const given = dataField(transcript, 'sourceLanguage')
  return typeof given === 'string' ? given : fallback
}

export const syllableRatio = reward({
  name: 'syllable-ratio',
  group: 'language',
  codes: ['R9'],
  summary: 'does the translation take the time to say that the source leaves it?',
  range: '[0, 1]',
  applies:
    'problems with data.source (its language in data.sourceLanguage) or a first message; null without letters there',
  reference:
    'Homura (systems.tsv A018), arXiv 2601.10187 and its reward manager: 1 in the band, exp(-100 d^2) outside, d to the farther bound',
  options: z.strictObject({
    low: z.number().positive().default(0.8),
    high: z.number().positive().default(0.9),
    sourceLanguage: z.string().default('zh').describe('of sources without data.sourceLanguage'),
    unit: z.enum(LENGTH_UNITS).default('syllables'),
  }),
  make: ({ low, high, sourceLanguage, unit }) => ({
    name: 'syllable-ratio',
    score: (transcript) => {
      const source = sourceOf(transcript)
      if (source === null || !/\p{L}/u.test(source)) return null
      const language = sourceLanguageOf(transcript, sourceLanguage)
      const ratio = lengthRatio(
        { text: source, language },
        { text: lastReply(transcript).slice(0, longest), language: transcript.problem.language },
        unit,
      )
      return homuraDuration(ratio, homuraBand(countGraphemes(source.trim()), { low, high }))
    },
  }),
})

export const lengthRewards = [syllableRatio] as unknown as readonly RewardDeclaration[]
