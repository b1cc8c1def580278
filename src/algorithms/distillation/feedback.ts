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
    "SDPO, arXiv 2601.20802, its authors' code and TRL SDPOTrainer; without feedback of the world in the teacher's prompt",
  standing: 'source',
  use: 'Groups with some success: no expert is needed. The teacher reads the sibling as teacherPrompt of the configuration says.',
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
    /** What the teacher reads: a right reply of the same group, or what the task's expert says, where the group has a success. */
    solution: z.enum(['sibling', 'expert']).default('sibling'),
  }),
  make: (options) => {
    const { mode, weightCap, alternatives } = options
    const isShown = options.solution === 'expert'
    return mix({
      name: 'sdpo',
      needs: { ...privileged(options.teacherRate, isShown), old: true, ...(mode === 'topk' ? { alternatives } : {}) },
      loss: mode === 'topk' ? divergenceOf(options) : sampledReverseKl('score', weightCap),
      weigh: (sequences) => weigh(sequences, options.aggregation, options.fixedLength),
      teach: (group, shown, { seed, step }, index) => {
        if (isShown && !shown) return {}
        const random = createRandom(deriveSeed(seed, 'sdpo', step, index))
        const siblings = siblingSolutions(group, options, random).map((j) => (j < 0 ? null : j))
        return { samples: siblings.map((j) => (j === null ? null : 0)), ...(!isShown && { siblings }) }
      },
    })
  },
})
