import { z } from 'zod'
import { normalizeGroup } from '../advantages.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Trajectory } from '../types.js'
import { turnSpans } from './turns.js'

/**
 * Where the second part of a reply begins: behind the first occurrence of `marker` among its sampled tokens, or at the
 * second turn where no marker is given; -1 where there is no second part.
 *
 * @example boundaryOf({ tokens: [5, 1, 9, 2], mask: Uint8Array.of(0, 1, 1, 1) }, [9]) // 3
 */
export function boundaryOf({ tokens, mask }: Pick<Trajectory, 'tokens' | 'mask'>, marker?: readonly number[]): number {
  if (!marker || marker.length === 0) return turnSpans(mask)[1]?.start ?? -1
  for (let t = mask.indexOf(1); t >= 0 && t + marker.length <= tokens.length; t++) {
    if (marker.every((token, k) => tokens[t + k] === token && mask[t + k])) return t + marker.length
  }
  return -1
}

export interface SegmentAdvantageOptions {
  /** Token ids that end the first part. */
  marker?: readonly number[]
  /** Reward part of the first part of the reply; the rest of the reward is that of the second. */
  part: string
  /** Share of the second part's advantage that the first part gets too. */
  sharing: number
  normalization: 'mean' | 'mean-std'
  epsilon: number
}

/**
 * Two group advantages: that of one reward part on the first part of the reply, that of the rest of the reward on the
 * second. A reply without a second part is all second.
 */
export function segmentAdvantages(options: SegmentAdvantageOptions): AdvantageEstimator {
  return (groups) =>
    groups.map(({ trajectories }) => {
      const own = trajectories.map(({ rewardParts }) => rewardParts[options.part] ?? 0)
      const first = normalizeGroup(own, options)
      const second = normalizeGroup(
        trajectories.map(({ reward }, i) => reward - own[i]),
        options,
      )
      return trajectories.map((trajectory, i) => {
        const boundary = boundaryOf(trajectory, options.marker)
        return Float32Array.from(trajectory.mask, (sampled, t) => {
          if (!sampled) return 0
          return t < boundary ? first[i] + options.sharing * second[i] : second[i]
        })
      })
    })
}

const options = {
  marker: z.array(z.number().int()).optional(),
  part: z.string().default('understanding'),
  sharing: z.number().default(0),
}

export const segmentPart = objective({
  kind: 'advantage',
  name: 'segment-advantages',
  family: 'credit',
  summary: 'One reward part for the first part of a reply, the rest of the reward for the second.',
  formula: 'A_t = norm(r_u) before the boundary, norm(R - r_u) behind it',
  reference:
    'TAPO, arXiv 2603.25419, from its abstract. Decided here: no sharing; without a boundary all is the second part',
  standing: 'ours',
  use: 'Replies that restate (or translate, or plan) and then answer, with a score for each. In two turns or by a marker.',
  rows: ['A034'],
  options: z.strictObject({
    ...options,
    normalization: groupMethodOptions.normalization,
    epsilon: groupMethodOptions.epsilon,
  }),
  make: segmentAdvantages,
})

export const tapo = objective({
  ...segmentPart,
  kind: 'method',
  name: 'tapo',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (chosen) => groupMethod('tapo', chosen, { advantage: segmentAdvantages(chosen), dynamicSampling: false }),
})
