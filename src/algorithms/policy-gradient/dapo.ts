import { z } from 'zod'
import { groupAdvantages, hasVariance } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { objective, type Shaping } from '../objective.js'
import { handleOverlong } from '../overlong.js'
import type { Group } from '../types.js'
import { clipOptions } from './clip.js'
import { overlongOption } from './grpo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'

/**
 * Groups to learn from: those whose replies neither all succeeded nor all failed ('success'), or whose rewards differ
 * ('reward'). Rewards of the others are made equal to 0, so that `compose` leaves them out whatever is added to rewards later.
 */
export function mixedGroups(metric: 'success' | 'reward'): Shaping {
  return (groups) => {
    const mixed = (group: Group): boolean => {
      if (metric === 'reward') return hasVariance(group)
      return group.trajectories.some(({ outcome }) => outcome.success !== group.trajectories[0].outcome.success)
    }
    const kept = groups.map(mixed)
    return {
      groups: groups.map((group, g) =>
        kept[g] ? group : { ...group, trajectories: group.trajectories.map((t) => ({ ...t, reward: 0 })) },
      ),
      metrics: { keptGroups: kept.filter(Boolean).length },
    }
  }
}

/** The soft punishment for length, only in groups whose rewards differ without it. */
export function punishInMixedGroups(overlong: z.output<typeof overlongOption>): Shaping {
  return (groups) => ({
    groups: groups.map((group) => (hasVariance(group) ? handleOverlong([group], overlong)[0] : group)),
  })
}

export const mixedGroupsPart = objective({
  kind: 'shaping',
  name: 'mixed-groups',
  family: 'policy-gradient',
  summary:
    'Dynamic sampling: groups that all succeeded or all failed are left out, by the verdict and not the shaped reward.',
  formula: 'keep a group iff 0 < #success < G',
  reference: 'DAPO, arXiv 2503.14476, equation 11; its refill is the option dynamicSampling of the loop',
  standing: 'source',
  use: 'First among shapings, where bonuses or penalties would give variance to groups that teach nothing.',
  rows: ['A074', 'B233'],
  options: z.strictObject({ metric: z.enum(['success', 'reward']).default('success') }),
  make: ({ metric }) => mixedGroups(metric),
})

export const dapo = objective({
  kind: 'method',
  name: 'dapo',
  family: 'policy-gradient',
  summary:
    'GRPO with a higher upper clip, dynamic sampling, a mean over tokens, and care for replies that are too long.',
  formula:
    'l = -min(r A, clip(r, 1 - 0.2, 1 + 0.28) A), c = 1 / Ntok;  keep iff 0 < #success < G;  R += soft overlong penalty',
  reference: 'DAPO, arXiv 2503.14476; verl recipe',
  standing: 'source',
  use: 'Long reasoning with verifiable answers. Groups left out are replaced by further problems where the field dynamicSampling of the configuration asks for it.',
  rows: ['A074', 'B233', 'B056', 'B060'],
  options: z.strictObject({
    epsilon: z.number().min(0).default(1e-6),
    ...clipOptions,
    clipHigh: clipOptions.clipHigh.default(0.28),
    /** What tells which groups to keep: the verdict, or the reward. */
    metric: z.enum(['success', 'reward']).default('success'),
    /** Replies cut off are silenced, or punished by { maxTokens, marginTokens }. */
    overlong: overlongOption.default('mask'),
    ...klOptions,
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    method('dapo', options, {
      shaping: [
        { name: 'mixed-groups', run: mixedGroups(options.metric) },
        { name: 'overlong', run: punishInMixedGroups(options.overlong) },
      ],
      advantage: groupAdvantages({ normalization: 'mean-std', epsilon: options.epsilon }),
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
    }),
})
