import { z } from 'zod'
import { createRandom, deriveSeed, type Random } from '../../core/index.js'
import { weigh } from '../compose.js'
import { objective } from '../objective.js'
import { isRight, mix, thresholdOption } from '../supervised/shown.js'
import type { Group } from '../types.js'
import { divergenceOf, divergenceOptions } from './divergence.js'
import { averaging, privileged } from './methods.js'
import { sampledReverseKl } from './sampled.js'

/**
 * For each trajectory of a group, a successful sibling whose reply its teacher may read; itself only where `own` allows it.
 *
 * @returns index of the sibling, or -1: nothing to learn from. [trajectories]
 * @example siblingSolutions(group, {}, createRandom(1)) // one of those that succeeded
 */
export function siblingSolutions(
  { trajectories }: Group,
  { threshold = null, own = false }: { threshold?: number | null; own?: boolean },
  random: Random,
): number[] {
  const right = trajectories.flatMap((trajectory, i) =>
    isRight(trajectory, threshold) && trajectory.mask.includes(1) ? [i] : [],
  )
  return trajectories.map((_, i) => {
    const others = right.filter((j) => own || j !== i)
    return others.length === 0 ? -1 : random.pick(others)
  })
}

export const sdpo = objective({
  kind: 'method',
  name: 'sdpo',
  family: 'distillation',
  summary: 'Self-distillation on own samples from the model that has read a right one of the same group.',
  formula:
    'sampled: w sg(lp - lpT) lp;  topk: w J_alpha(T, S);  w = min(exp(lp - olp), 2);  only groups with a success',
  reference:
    "SDPO, arXiv 2601.20802, its authors' code and TRL SDPOTrainer. Ours: the teacher reads the task's solution instead of a sibling's reply",
  standing: 'ours',
  use: "Groups with some success. The loop cannot yet put a sibling (siblingSolutions) or feedback into the teacher's prompt.",
  rows: [],
  options: z.strictObject({
    ...divergenceOptions({ beta: 1, weightCap: 2, alternatives: 100 }),
    ...averaging,
    /** How fast the teacher follows the policy, a step; null: it stays the model the run began with. */
    teacherRate: z.number().gt(0).max(1).nullable().default(0.05),
    mode: z.enum(['sampled', 'topk']).default('sampled'),
    threshold: thresholdOption,
    /** A successful sample may be its own solution. */
    own: z.boolean().default(false),
  }),
  make: (options) => {
    const { mode, weightCap, alternatives } = options
    return mix({
      name: 'sdpo',
      needs: { ...privileged(options.teacherRate), old: true, ...(mode === 'topk' ? { alternatives } : {}) },
      loss: mode === 'topk' ? divergenceOf(options) : sampledReverseKl('score', weightCap),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      teach: (group, shown, { seed, step }, index) => {
        if (!shown) return {}
        const random = createRandom(deriveSeed(seed, 'sdpo', step, index))
        return { samples: siblingSolutions(group, options, random).map((j) => (j < 0 ? null : 0)) }
      },
    })
  },
})
