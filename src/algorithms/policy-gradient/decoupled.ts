import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { objective, type Selection, type Shaping } from '../objective.js'
import { clipOptions } from './clip.js'
import { groupOptions } from './gspo.js'
import { mismatchRatios } from './importance.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'

/**
 * The behaviour weight of decoupled PPO, w = exp(plp - blp), where the proximal policy is the trainer's at the start of the
 * update (oldLogprobs). A weight above `cap` is 0 ('mask'), the cap ('clamp') or as it is ('none').
 *
 * Sources: arXiv 2110.00641; AReaL, arXiv 2505.24298.
 */
export function behaviourWeight(options: { cap: number; beyond: 'mask' | 'clamp' | 'none' }): Selection {
  const { cap, beyond } = options
  return (sequences) =>
    sequences.map((sequence) =>
      Float32Array.from(mismatchRatios(sequence, 'token'), (ratio) => {
        if (ratio <= cap || beyond === 'none') return ratio
        return beyond === 'mask' ? 0 : cap
      }),
    )
}

/**
 * Silences trajectories that were sampled more than `maxStaleness` versions before the newest of the step; their rewards
 * still count in the group's mean.
 */
export function silenceStale(maxStaleness: number): Shaping {
  return (groups) => {
    const versions = groups.flatMap(({ trajectories }) => trajectories.map(({ version }) => version))
    const newest = versions.reduce((largest, version) => Math.max(largest, version), -Infinity)
    const stale = (version: number): boolean => newest - version > maxStaleness
    return {
      groups: groups.map((group) => ({
        ...group,
        trajectories: group.trajectories.map((trajectory) =>
          stale(trajectory.version) ? { ...trajectory, mask: new Uint8Array(trajectory.mask.length) } : trajectory,
        ),
      })),
      metrics: { staleTrajectories: versions.filter(stale).length },
    }
  }
}

/**
 * Whether an asynchronous sampler may begin another trajectory: floor(submitted / batchSize) <= version + maxStaleness, with
 * `submitted` those begun so far and `version` the updates applied.
 *
 * Source: AReaL, arXiv 2505.24298, section 5.1 (there with submitted - 1).
 *
 * @throws MyriadError 'usage' on a batch size that is not positive
 * @example mayBegin({ submitted: 96, batchSize: 32, version: 0, maxStaleness: 2 }) // false
 */
export function mayBegin(options: {
  submitted: number
  batchSize: number
  version: number
  maxStaleness: number
}): boolean {
  const { submitted, batchSize, version, maxStaleness } = options
  if (!(batchSize > 0)) throw new MyriadError('usage', `a batch of ${batchSize} trajectories cannot be filled`)
  return Math.floor(submitted / batchSize) <= version + maxStaleness
}

/**
 * Proximal logprobs without a pass of the model, on the line between sampler and policy by version:
 * plp = blp + a (lp - blp), a = (proximal - behaviour) / (current - behaviour), 1 where current equals behaviour.
 *
 * Source: AReaL, prox_logp_method "loglinear".
 *
 * @param logprobs of the policy as it is [tokens] @param behaviourLogprobs [tokens]
 */
export function loglinearProximal(
  logprobs: ArrayLike<number>,
  behaviourLogprobs: ArrayLike<number>,
  versions: { behaviour: number; proximal: number; current: number },
): Float64Array {
  const { behaviour, proximal, current } = versions
  const a = current === behaviour ? 1 : (proximal - behaviour) / (current - behaviour)
  return Float64Array.from(logprobs, (logprob, t) => behaviourLogprobs[t] + a * (logprob - behaviourLogprobs[t]))
}

const about = { family: 'policy-gradient' as const, rows: ['B049', 'B153'] }

const weight = {
  /** Largest weight. */
  cap: z.number().positive().default(5),
  /** What becomes of larger weights. */
  beyond: z.enum(['mask', 'clamp', 'none']).default('mask'),
}

const formula = 'l = -w min(r A, clip(r) A), r = exp(lp - olp), w = exp(olp - blp), 0 where above cap'
const reference = 'AReaL, arXiv 2505.24298; decoupling, arXiv 2110.00641'

export const behaviourWeightPart = objective({
  ...about,
  kind: 'selection',
  name: 'behaviour-weight',
  standing: 'source',
  summary: 'Weights tokens by the ratio of the proximal policy to the sampler.',
  formula: 'w = exp(olp - blp), 0 where above cap',
  reference,
  use: 'Stale samples under a clipped loss.',
  needs: { old: true },
  options: z.strictObject(weight),
  make: behaviourWeight,
})

export const silenceStalePart = objective({
  ...about,
  kind: 'shaping',
  name: 'silence-stale',
  standing: 'ours',
  summary: 'Silences trajectories sampled too many versions ago.',
  formula: 'train on a trajectory iff newest version - its version <= maxStaleness',
  reference:
    'AReaL, arXiv 2505.24298, bounds staleness when sampling begins; decided here: at learning, against the newest of the step',
  use: 'With a sampler that runs ahead. With one that waits it does nothing.',
  options: z.strictObject({ maxStaleness: z.int().min(0).default(4) }),
  make: ({ maxStaleness }) => silenceStale(maxStaleness),
})

export const mayBeginPart = objective({
  ...about,
  kind: 'function',
  name: 'staleness-admission',
  standing: 'source',
  summary: 'Whether an asynchronous sampler may begin another trajectory.',
  formula: 'floor(submitted / batchSize) <= version + maxStaleness',
  reference,
  use: 'In a sampler that runs beside training.',
  options: z.strictObject({ batchSize: z.int().positive().default(32), maxStaleness: z.int().min(0).default(4) }),
  make: (options) => (submitted: number, version: number) => mayBegin({ ...options, submitted, version }),
})

export const loglinearProximalPart = objective({
  ...about,
  kind: 'function',
  name: 'loglinear-proximal',
  standing: 'source',
  summary: 'Proximal logprobs interpolated by version, without a pass of the model.',
  formula: 'plp = blp + a (lp - blp), a = (v_prox - v_b) / (v - v_b)',
  reference: 'AReaL, prox_logp_method "loglinear"',
  use: 'When scoring the batch again costs too much.',
  options: z.strictObject({}),
  make: () => loglinearProximal,
})

export const decoupledPpo = objective({
  ...about,
  kind: 'method',
  name: 'decoupled-ppo',
  standing: 'source',
  summary:
    'The clip against the policy at the start of the update, the weight against the sampler, and stale samples silenced.',
  formula,
  reference,
  use: 'Asynchronous sampling. With a fresh sampler w is about 1 and it is grpo.',
  options: z.strictObject({
    ...groupOptions,
    ...weight,
    /** Versions a trajectory may lie behind the newest of the step. */
    maxStaleness: z.int().min(0).default(4),
    ...clipOptions,
    ...klOptions,
    ...aggregationOptions('token-mean'),
  }),
  make: (options) =>
    method('decoupled-ppo', options, {
      shaping: [{ name: 'silence-stale', run: silenceStale(options.maxStaleness) }],
      advantage: groupAdvantages(options),
      selections: [{ name: 'behaviour-weight', run: behaviourWeight(options) }],
      loss: clippedLoss({ clipLow: options.clipLow, clipHigh: options.clipHigh }),
      needs: { old: true },
    }),
})
