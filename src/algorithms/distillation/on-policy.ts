import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { normalizeGroup } from '../advantages.js'
import { objective } from '../objective.js'
import { discounted, fromScores, held, importanceOptions, prefixFactors, teacherGap } from './sampled.js'

const about = { kind: 'method' as const, family: 'distillation' as const, standing: 'source' as const }

export const onPolicyDistillation = objective({
  ...about,
  name: 'on-policy-distillation',
  summary: 'RL whose reward is, token by token, how much more the teacher likes it than the policy does.',
  formula: "A_t = c sum_{t' >= t} gamma^(t'-t) (lpT - olp)_t' + outcome A;  l = -r A",
  reference:
    'Thinking Machines, "On-Policy Distillation", 2025, and tinker-cookbook (c 1, gamma 0); prefixGamma: IW-OPD, arXiv 2606.22600 (0.5 in TRL)',
  use: 'A stronger teacher of the same vocabulary. Dense rewards: a few samples a problem are enough.',
  rows: ['A025', 'A027'],
  options: z.strictObject({
    ...importanceOptions,
    /** c. */
    coefficient: z.number().default(1),
    /** Discount of later tokens' gaps; 0: each token its own. */
    gamma: z.number().min(0).max(1).default(0),
    /** Of IW-OPD's weights, which fall along the reply; 0: none. */
    prefixGamma: z.number().min(0).default(0),
    /** Weight of the group-relative advantage of rewards that is added. */
    outcome: z.number().min(0).default(0),
    normalization: z.enum(['mean', 'mean-std']).default('mean'),
  }),
  make: (options) =>
    fromScores(
      'on-policy-distillation',
      options,
      { teacher: 'model', old: true },
      (sequences) =>
        sequences.map((sequence) => {
          const gaps = discounted(teacherGap(sequence), sequence.mask, options.gamma)
          const factors = prefixFactors(gaps, options.prefixGamma)
          const advantages = sequence.advantages.map(
            (outcome, t) => outcome + options.coefficient * factors[t] * gaps[t],
          )
          return { ...sequence, advantages }
        }),
      ({ trajectories }) =>
        normalizeGroup(
          trajectories.map(({ reward }) => reward),
          options,
        ).map((advantage) => options.outcome * advantage),
    ),
})

/**
 * The advantages of OPD^2: how much more post-training made the teacher like a token than its base did, against what the
 * policy would expect of its own choice; 0 where that points away from the teacher.
 *
 *     signal = (lpT - lpB)(y) - E_S[lpT - lpB],   d = (lpT - lpS)(y) - E_S[lpT - lpS],   A = signal where signal d >= 0
 *
 * E_S is over the alternatives, S_v as they are (no renormalization): inexact where they leave out much.
 *
 * @throws MyriadError 'usage' where alternatives, teacher or reference were not scored
 * @returns 0 where the mask is 0: [tokens]
 * @example refine: (sequences) => sequences.map((sequence) => ({ ...sequence, advantages: deltaAdvantages(sequence) }))
 */
export function deltaAdvantages(sequence: TrainSequence): Float32Array {
  const { mask, alternatives, teacherAlternatives, referenceAlternatives, teacherLogprobs, referenceLogprobs } =
    sequence
  const own = sequence.oldLogprobs ?? sequence.logprobs
  if (!alternatives || !teacherAlternatives || !referenceAlternatives || !teacherLogprobs || !referenceLogprobs)
    throw new MyriadError('usage', 'opd2 needs logprobs of teacher and reference, of the alternatives too')
  const { count, ids, logprobs } = alternatives
  return Float32Array.from(mask, (m, t) => {
    if (!m) return 0
    let [delta, gap] = [0, 0]
    for (let k = t * count; k < (t + 1) * count; k++) {
      if (ids[k] < 0) continue
      const probability = Math.exp(logprobs[k])
      delta += probability * held(teacherAlternatives[k] - referenceAlternatives[k])
      gap += probability * held(teacherAlternatives[k] - logprobs[k])
    }
    const signal = held(teacherLogprobs[t] - referenceLogprobs[t]) - delta
    return signal * (held(teacherLogprobs[t] - own[t]) - gap) >= 0 ? signal : 0
  })
}

export const opd2 = objective({
  ...about,
  name: 'opd2',
  summary: 'On-policy distillation of what post-training changed in the teacher, rather than of the teacher.',
  formula:
    'A = signal 1[signal d >= 0],  signal = (lpT - lpB)(y) - E_S[lpT - lpB],  d = (lpT - lpS)(y) - E_S[lpT - lpS]',
  reference: 'OPD^2, arXiv 2607.15161, from a port of its code',
  standing: 'second-hand',
  use: 'A post-trained teacher whose base is at hand: teacherBase of the configuration, or the model the run begins with.',
  rows: ['A025'],
  options: z.strictObject({
    ...importanceOptions,
    alternatives: z.int().positive().default(256),
    /** Taken from every advantage. */
    bias: z.number().default(0),
  }),
  make: (options) =>
    fromScores(
      'opd2',
      options,
      { teacher: 'model', reference: 'teacher-base', old: true, alternatives: options.alternatives },
      (sequences) =>
        sequences.map((sequence) => ({
          ...sequence,
          advantages: deltaAdvantages(sequence).map((a, t) => (sequence.mask[t] ? a - options.bias : 0)),
        })),
    ),
})

/**
 * For code that routes itself. Of the teachers of several languages (or domains), the one for this: by the whole tag, then by its first part, then the
 * fallback.
 *
 * @returns the key of the teacher, or null: leave the problem out
 * @example teacherFor('pt-BR', ['en', 'pt'], 'en') // 'pt'
 */
export function teacherFor(
  language: string,
  teachers: readonly string[],
  fallback: string | null = null,
): string | null {
  return [language, language.split('-')[0]].find((tag) => teachers.includes(tag)) ?? fallback
}

/**
 * Factors that bring the advantages of each language to the spread of all: clip(std_all / std_language, low, high), 1 where
 * there is nothing to compare; a language without spread has `high`.
 *
 * @param advantages by language, of all tokens
 * @example languageScales({ en: [1, -1], sw: [4, -4] }) // { en: 2.915..., sw: 0.728... }
 */
export function languageScales(
  advantages: Readonly<Record<string, readonly number[]>>,
  [low, high]: readonly [number, number] = [0.25, 4],
): Record<string, number> {
  const all = deviation(Object.values(advantages).flat())
  return Object.fromEntries(
    Object.entries(advantages).map(([language, own]) => {
      const spread = deviation(own)
      if (all === 0) return [language, 1]
      return [language, spread === 0 ? high : Math.min(high, Math.max(low, all / spread))]
    }),
  )
}

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value / values.length, 0)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2 / values.length, 0))
}

export const lsMopd = objective({
  ...about,
  name: 'ls-mopd',
  summary: 'On-policy distillation from a teacher for each language, with advantages brought to one spread.',
  formula: 'A_t = w_l (lpT_l - olp);  w_l = clip(std_all / std_l, 0.25, 4);  l = -r A',
  reference:
    'MOPD, arXiv 2606.30406, and NeMo-RL; LS-MOPD is known by its abstract. Ours: the direction (reverse), the scales (DN-MOPD), std over n',
  standing: 'ours',
  use: 'A specialist per language: a teacher for each in the configuration of the run, which routes by language.',
  rows: ['A041'],
  options: z.strictObject({
    ...importanceOptions,
    coefficient: z.number().default(1),
    /** Bounds of the scale of a language; null: no scales. */
    scales: z.tuple([z.number().positive(), z.number().positive()]).nullable().default([0.25, 4]),
  }),
  make: (options) =>
    fromScores('ls-mopd', options, { teacher: 'model', old: true }, (sequences) => {
      const gaps = sequences.map(teacherGap)
      const byLanguage: Record<string, number[]> = {}
      sequences.forEach(({ mask, info }, i) => {
        const own = (byLanguage[info!.language] ??= [])
        mask.forEach((m, t) => m && own.push(gaps[i][t]))
      })
      const scales = options.scales ? languageScales(byLanguage, options.scales) : {}
      return sequences.map((sequence, i) => {
        const factor = options.coefficient * (scales[sequence.info!.language] ?? 1)
        return { ...sequence, advantages: gaps[i].map((gap) => factor * gap) }
      })
    }),
})
