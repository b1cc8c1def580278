import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { weigh } from '../compose.js'
import { objective } from '../objective.js'
import { clippedTerm } from '../policy-gradient/clip.js'
import { klEstimate } from '../policy-gradient/kl.js'
import { tokenLoss } from '../policy-gradient/token-loss.js'
import { mix } from '../supervised/shown.js'
import type { Algorithm, Group, Needs } from '../types.js'
import { averaging } from './methods.js'

/** Log-ratios to a teacher are held to this range: what the teacher thinks impossible counts -20 nats. */
export const TEACHER_GAP = 20

/**
 * Reverse KL from the sampled token alone, with w = sg min(exp(lp - olp), cap) (1 where cap is null):
 *
 *     score   sg(lp - lpT) lp w,  slope (lp - lpT) w: an unbiased gradient of KL(S || T) while on-policy
 *     k2      (lp - lpT)^2 / 2 w,  slope (lp - lpT) w: the same gradient, and a value that says how far they are
 *
 * The gap lp - lpT is held to [-20, 20]; outside k2 has slope 0. Differentiating lp - lpT itself teaches nothing: its
 * expected gradient is 0. Sources: joschu.net/blog/kl-approx; TRL compute_sampled_token_self_distillation_loss.
 *
 * @throws MyriadError 'usage' from `evaluate` without teacher logprobs
 * @example sampledReverseKl('k2')
 */
export function sampledReverseKl(form: 'score' | 'k2', weightCap: number | null = null): Loss {
  return tokenLoss(`sampled-reverse-kl-${form}`, ({ logprobs, oldLogprobs, teacherLogprobs }, t) => {
    if (!teacherLogprobs) throw new MyriadError('usage', 'sampled reverse KL needs teacher logprobs; ask for a teacher')
    const raw = logprobs[t] - teacherLogprobs[t]
    const gap = held(raw)
    const weight = weightCap === null ? 1 : Math.min(weightCap, clampedExp(logprobs[t] - oldLogprobs[t]).value)
    if (form === 'score') return { value: weight * gap * logprobs[t], slope: weight * gap }
    const { value } = klEstimate('k2', gap, 0, 0)
    return { value: weight * value, slope: gap === raw ? weight * gap : 0 }
  })
}

/** A log-ratio to a teacher within +-TEACHER_GAP. */
export const held = (gap: number): number => Math.max(-TEACHER_GAP, Math.min(TEACHER_GAP, gap))

/**
 * -r A, with its clip where a range is given; r = exp(lp - olp).
 *
 * @example importanceLoss({ clipLow: 0.2, clipHigh: 0.2 })
 */
export function importanceLoss(clip: { clipLow: number; clipHigh: number } | null): Loss {
  const range = clip ?? { clipLow: Infinity, clipHigh: Infinity }
  return tokenLoss('importance', ({ logprobs, oldLogprobs, advantages }, t) =>
    clippedTerm(logprobs[t] - oldLogprobs[t], advantages[t], range),
  )
}

/**
 * How much more the teacher likes each trainable token than the policy that sampled it: lpT - lpS, held to [-20, 20],
 * 0 where the mask is. [tokens]
 *
 * @throws MyriadError 'usage' where the sequence was not scored by a teacher
 * @example sequences.map((sequence) => ({ ...sequence, advantages: teacherGap(sequence) }))
 */
export function teacherGap({ mask, teacherLogprobs, oldLogprobs, logprobs }: TrainSequence): Float32Array {
  if (!teacherLogprobs) throw new MyriadError('usage', 'distillation needs teacher logprobs; ask for a teacher')
  const own = oldLogprobs ?? logprobs
  return Float32Array.from(mask, (m, t) => (m ? held(teacherLogprobs[t] - own[t]) : 0))
}

/**
 * sum_{t' >= t} gamma^(t' - t) x_t', over trainable tokens. [tokens]
 *
 * @example discounted(Float32Array.of(1, 2), Uint8Array.of(1, 1), 0.5) // 2 2
 */
export function discounted(values: Float32Array, mask: Uint8Array, gamma: number): Float32Array {
  const sums = new Float32Array(values.length)
  let sum = 0
  for (let t = values.length - 1; t >= 0; t--) {
    if (!mask[t]) continue
    sum = values[t] + gamma * sum
    sums[t] = sum
  }
  return sums
}

/**
 * IW-OPD's factors: tokens count less the more student and teacher have already differed before them,
 *
 *     1 + gamma (1 - sum_{t' < t} |A_t'| / sum |A|)
 *
 * Source: arXiv 2606.22600; TRL IWOPDTrainer.
 *
 * @example prefixFactors(Float32Array.of(1, -1), 0.5) // 1.5 1.25
 */
export function prefixFactors(advantages: Float32Array, gamma: number): Float32Array {
  const total = Math.max(
    1e-8,
    advantages.reduce((sum, a) => sum + Math.abs(a), 0),
  )
  let before = 0
  return advantages.map((advantage) => {
    const factor = 1 + gamma * (1 - before / total)
    before += Math.abs(advantage)
    return factor
  })
}

/** Options of methods by importance-weighted policy gradient. */
export const importanceOptions = {
  /** Bounds of the ratio; null: none. */
  clip: z
    .strictObject({ clipLow: z.number().min(0).default(0.2), clipHigh: z.number().min(0).default(0.2) })
    .nullable()
    .default(null),
  ...averaging,
}

type ImportanceOptions = z.output<z.ZodObject<typeof importanceOptions>>

/**
 * A method whose advantages come of scored sequences, with those of `teach` (0 unless given) as `advantages` before.
 *
 * @example fromScores('mine', options, { teacher: 'model', old: true }, (sequences) => sequences.map(refineOne))
 */
export function fromScores(
  name: string,
  options: ImportanceOptions,
  needs: Needs,
  refine: NonNullable<Algorithm['refine']>,
  teach: (group: Group) => readonly number[] = ({ trajectories }) => trajectories.map(() => 0),
): Algorithm {
  return mix({
    name,
    needs,
    loss: importanceLoss(options.clip),
    weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
    refine,
    teach: (group) => ({ samples: teach(group) }),
  })
}

const loss = {
  kind: 'loss' as const,
  family: 'distillation' as const,
  standing: 'source' as const,
  rows: [],
  needs: { teacher: 'model' as const },
  options: z.strictObject({
    /** Bound of the importance weight; null: no weight. */
    weightCap: z.number().positive().nullable().default(null),
  }),
}

export const sampledReverseKlPart = objective({
  ...loss,
  name: 'sampled-reverse-kl',
  summary: 'Reverse KL from the sampled token, as a score: sg(lp - lpT) lp.',
  formula: 'sg(lp - lpT) lp;  slope lp - lpT',
  reference: 'TRL compute_sampled_token_self_distillation_loss; joschu.net/blog/kl-approx',
  use: 'A teacher that tells one logprob a token. On own samples only. Its value means nothing.',
  make: ({ weightCap }) => sampledReverseKl('score', weightCap),
})

export const sampledK2Part = objective({
  ...loss,
  name: 'sampled-reverse-kl-k2',
  summary: 'Reverse KL from the sampled token, as half the squared log-ratio.',
  formula: '(lp - lpT)^2 / 2;  slope lp - lpT',
  reference: 'joschu.net/blog/kl-approx, estimator k2',
  use: 'As sampled-reverse-kl, with a value to watch. Off policy it still pulls lp to lpT.',
  make: ({ weightCap }) => sampledReverseKl('k2', weightCap),
})

export const sampledDistillation = objective({
  kind: 'method',
  name: 'sampled-distillation',
  family: 'distillation',
  summary: 'Reverse KL to the teacher from sampled tokens, whose gap moves as the policy does.',
  formula: 'sum_t c_t sg(lp - lpT) lp  or  c_t (lp - lpT)^2 / 2',
  reference: 'TRL self-distillation, mode "sampled_token"; joschu.net/blog/kl-approx',
  standing: 'source',
  use: 'One logprob of the teacher a token. Over several updates the gap shrinks, where on-policy-distillation keeps the first.',
  rows: [],
  options: z.strictObject({ ...averaging, ...loss.options.shape, form: z.enum(['score', 'k2']).default('score') }),
  make: (options) =>
    mix({
      name: 'sampled-distillation',
      needs: { teacher: 'model', ...(options.weightCap === null ? {} : { old: true }) },
      loss: sampledReverseKl(options.form, options.weightCap),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      teach: ({ trajectories }) => ({ samples: trajectories.map(() => 0) }),
    }),
})
