import { z } from 'zod'
import { createRandom, deriveSeed } from '../../core/index.js'
import { FIRST_STEP, weigh } from '../compose.js'
import { objective } from '../objective.js'
import { mix } from '../supervised/shown.js'
import type { Algorithm, Needs } from '../types.js'
import { AGGREGATIONS } from '../weights.js'
import { divergenceOf, divergenceOptions, type DivergenceConfig } from './divergence.js'

/** How tokens are averaged: over all that are learnt, unless said otherwise. */
export const averaging = {
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
}

type Averaging = z.output<z.ZodObject<typeof averaging>>

/** Options of methods whose teacher is the model itself, told the solution. */
export const selfTeaching = {
  /** How fast the teacher follows the policy, a step; null: it stays the model the run began with. */
  teacherRate: z.number().gt(0).max(1).nullable().default(null),
}

/**
 * What a privileged teacher needs: solutions to read, and its way of following the policy.
 *
 * @example privileged(0.05) // { teacher: 'privileged', demonstrations: true, reference: { rate: 0.05 } }
 */
export const privileged = (teacherRate: number | null, demonstrations = true): Needs => ({
  teacher: 'privileged',
  ...(demonstrations && { demonstrations }),
  ...(teacherRate === null ? {} : { reference: { rate: teacherRate } }),
})

/**
 * Distillation over alternatives, on samples or on demonstrations. A problem without a solution has nothing to teach a
 * privileged teacher's student, and is left out.
 *
 * @example distil('mine', options, 'samples', 'model')
 */
export function distil(
  name: string,
  options: DivergenceConfig & Averaging & { teacherRate?: number | null },
  on: 'samples' | 'demonstrations',
  teacher: 'model' | 'privileged',
): Algorithm {
  return mix({
    name,
    needs: {
      ...(teacher === 'model' ? { teacher } : privileged(options.teacherRate ?? null)),
      alternatives: options.alternatives,
      ...(on === 'demonstrations' ? { demonstrations: true } : {}),
      ...(options.weightCap === null ? {} : { old: true }),
    },
    loss: divergenceOf(options),
    weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
    teach: ({ trajectories }, shown) => {
      if (on === 'demonstrations') return { demonstration: 1 }
      return teacher === 'model' || shown ? { samples: trajectories.map(() => 0) } : {}
    },
  })
}

const about = { kind: 'method' as const, family: 'distillation' as const, standing: 'source' as const }

export const gkd = objective({
  ...about,
  name: 'gkd',
  summary: 'Generalised knowledge distillation: a share of the steps on own samples, the others on demonstrations.',
  formula: 'mean_t J_beta(T, S);  samples with probability lambda, else demonstrations',
  reference: 'GKD, arXiv 2306.13649; TRL GKDTrainer (lambda 0.5, beta 0.5, temperature 0.9: there of logits)',
  use: 'A teacher of the same vocabulary. A problem without a demonstration gives its samples in either case.',
  rows: ['A027', 'B095'],
  options: z.strictObject({
    ...divergenceOptions({ beta: 0.5 }),
    ...averaging,
    /** Share of steps on own samples. */
    lambda: z.number().min(0).max(1).default(0.5),
  }),
  make: ({ lambda, ...options }) => {
    const base = distil('gkd', options, 'samples', 'model')
    if (lambda === 1) return base
    const both = mix({
      ...base,
      needs: { ...base.needs, demonstrations: true },
      teach: ({ trajectories }, shown, { seed, step }) => {
        const onPolicy = createRandom(deriveSeed(seed, 'gkd', step)).uniform() < lambda
        return onPolicy || !shown ? { samples: trajectories.map(() => 0) } : { demonstration: 1 }
      },
    })
    return both
  },
})

export const onPolicyDivergence = objective({
  ...about,
  name: 'on-policy-kl',
  summary: 'Divergence from the teacher over alternatives, on own samples only.',
  formula: 'mean_t KL(S || T) over alternatives (beta 1; other beta: J_beta)',
  reference: 'GKD, arXiv 2306.13649, lambda 1; DistiLLM notes the cost of sampling',
  use: 'The dense form of on-policy-distillation: less variance, K logprobs of the teacher a token.',
  rows: [],
  options: z.strictObject({ ...divergenceOptions({ beta: 1 }), ...averaging }),
  make: (options) => distil('on-policy-kl', options, 'samples', 'model'),
})

export const offPolicyDivergence = objective({
  ...about,
  name: 'off-policy-kl',
  summary: 'Divergence from the teacher over alternatives, on demonstrations only.',
  formula: 'mean_t KL(T || S) over alternatives (beta 0; other beta: J_beta)',
  reference: 'arXiv 1503.02531 at every token of given text; GKD, arXiv 2306.13649, lambda 0',
  use: 'No rollouts are learnt. The policy never sees its own mistakes.',
  rows: [],
  options: z.strictObject({ ...divergenceOptions({ beta: 0 }), ...averaging }),
  make: (options) => distil('off-policy-kl', options, 'demonstrations', 'model'),
})

export const contextDistillation = objective({
  ...about,
  name: 'context-distillation',
  summary: 'The policy without a hint learns to answer as it does with the hint in its prompt.',
  formula: 'mean_t KL(pi(. | hint, x, y_<t) || pi(. | x, y_<t)) on demonstrations or own samples',
  reference:
    "arXiv 2209.15189. Ours: answers are demonstrations or the policy's own, where the paper samples from the hinted model",
  standing: 'ours',
  use: 'To take instructions, examples or solutions into the weights.',
  rows: ['B100'],
  options: z.strictObject({
    ...divergenceOptions({ beta: 0 }),
    ...averaging,
    ...selfTeaching,
    on: z.enum(['demonstrations', 'samples']).default('samples'),
  }),
  make: ({ on, ...options }) => distil('context-distillation', options, on, 'privileged'),
})

export const copsd = objective({
  ...about,
  name: 'copsd',
  summary: 'Self-distillation from the model that has read the solution; no outcome adds more than 0.05.',
  formula: 'mean_t sum_v min(T_v log(T_v / S_v), 0.05) on own samples, temperature 1.1',
  reference:
    "COPSD and its authors' code. Ours: over K alternatives, renormalized. The teacher reads what the loop's teacherPrompt says of the solution; no translation",
  use: 'Low-resource languages. With the bound it is no divergence: it may be negative, and the largest gaps do not pull.',
  rows: ['A038'],
  options: z.strictObject({
    ...divergenceOptions({ beta: 0, support: 'renormalize', temperature: 1.1, elementLimit: 0.05 }),
    ...averaging,
    ...selfTeaching,
  }),
  make: (options) => distil('copsd', options, 'samples', 'privileged'),
})

export const sdft = objective({
  ...about,
  name: 'sdft',
  summary: 'Self-distillation fine-tuning: the teacher is the model shown the demonstration, the samples are its own.',
  formula: 'mean_t min(exp(lp - olp), 2) J_alpha(T, S) over the 100 most probable tokens',
  reference: 'SDFT, arXiv 2601.19897; TRL SDFTTrainer. skip: tinker leaves out the first 3 tokens of a reply',
  use: 'To learn from demonstrations without forgetting. Needs a model that makes use of what it is shown.',
  rows: [],
  options: z.strictObject({
    ...divergenceOptions({ beta: 0.5, alternatives: 100, weightCap: 2 }),
    ...averaging,
    ...selfTeaching,
    /** So many sampled tokens at the beginning of a reply are left out. */
    skip: z.int().min(0).default(0),
  }),
  make: ({ skip, ...options }): Algorithm => {
    const base = distil('sdft', options, 'samples', 'privileged')
    if (skip === 0) return base
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const sequences = lesson.sequences.map((sequence) => {
          let seen = 0
          return { ...sequence, mask: sequence.mask.map((m) => (m && seen++ >= skip ? 1 : 0)) }
        })
        return { ...lesson, sequences }
      },
    }
  },
})
