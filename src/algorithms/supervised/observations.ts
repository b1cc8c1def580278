import { z } from 'zod'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { clippedLoss } from '../clipped.js'
import { FIRST_STEP } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { objective } from '../objective.js'
import { tokenLoss } from '../policy-gradient/token-loss.js'
import type { Algorithm, Group, Lesson, Trajectory } from '../types.js'
import { demonstrationSequence, byRole, mix, weighByRole } from './shown.js'
import { advantagesOf, halfOptions } from './mixture.js'

/**
 * A likelihood that forgives noise: the absolute error 1 - p of the token, of which tokens with p >= `confident` are a
 * constant. With weight A:
 *
 *     l = A (1 - p),  slope -A p        p < confident;   l = A (1 - confident), slope 0 otherwise
 *
 * Source: PaW, arXiv 2606.02388, from notes on it; the threshold is ours.
 *
 * @example byRole(clippedLoss(), absoluteErrorLoss(0.9))
 */
export function absoluteErrorLoss(confident: number): Loss {
  return tokenLoss('absolute-error', ({ logprobs, advantages }, t) => {
    const p = Math.min(1, Math.exp(logprobs[t]))
    if (p >= confident) return { value: advantages[t] * (1 - confident), slope: 0 }
    return { value: advantages[t] * (1 - p), slope: -advantages[t] * p }
  })
}

/** The observations of an episode: runs of tokens it did not sample, after a reply, and how sure that reply was. */
export interface Observation {
  /** From `start` to before `end`. */
  start: number
  end: number
  /** Mean -logprob of the reply before it, in nats: an estimate of its entropy. */
  entropy: number
}

/**
 * @example observationsOf(trajectory) // mask 0 1 1 0 0 1: [{ start: 3, end: 5, entropy }]
 */
export function observationsOf({ mask, logprobs }: Trajectory): Observation[] {
  const observations: Observation[] = []
  let [sum, count] = [0, 0]
  for (let t = 0; t < mask.length; t++) {
    if (mask[t]) {
      if (t > 0 && !mask[t - 1]) [sum, count] = [0, 0]
      sum -= logprobs[t]
      count++
    } else if (count > 0) {
      if (mask[t - 1]) observations.push({ start: t, end: t, entropy: sum / count })
      observations[observations.length - 1].end = t + 1
    }
  }
  return observations
}

/** Trajectories of a step again, with the chosen observations to be learnt at the advantage given, after those of their group. */
function withObservations(
  lesson: Lesson,
  groups: readonly Group[],
  chosen: readonly Found[],
  advantage: number,
): Pick<Lesson, 'sequences' | 'origins'> {
  const sequences: TrainSequence[] = []
  const origins: Lesson['origins'] = []
  groups.forEach((group, g) => {
    lesson.sequences.forEach((sequence, i) => {
      if (lesson.origins[i].group !== g) return
      sequences.push(sequence)
      origins.push(lesson.origins[i])
    })
    if (advantage === 0) return
    for (const trajectory of group.trajectories) {
      const mask = new Uint8Array(trajectory.tokens.length)
      for (const item of chosen)
        if (item.trajectory === trajectory) mask.fill(1, item.observation.start, item.observation.end)
      if (!mask.includes(1)) continue
      sequences.push(demonstrationSequence({ tokens: trajectory.tokens, mask }, group.problem, g, advantage))
      origins.push({ group: g, trajectory: -1 })
    }
  })
  return { sequences, origins }
}

interface Found {
  observation: Observation
  trajectory: Trajectory
}

const foundIn = (groups: readonly Group[]): Found[] =>
  groups.flatMap(({ trajectories }) =>
    trajectories.flatMap((trajectory) =>
      observationsOf(trajectory).map((observation) => ({ observation, trajectory })),
    ),
  )

export const paw = objective({
  kind: 'method',
  name: 'paw',
  family: 'supervised',
  summary: 'RL, and beside it the policy predicts what the world answers after its uncertain replies.',
  formula: 'L = L_clip + lambda mean_obs (1 - p) 1[p < confident];  lambda = lambda0 (1 - mean R), at least 0',
  reference:
    'PaW, arXiv 2606.02388, from notes on it. Ours: lambda, the share of replies, the threshold, and entropy as mean -lp of a reply',
  standing: 'ours',
  use: 'Tasks of several turns whose answers carry information. Fixed phrases of the world saturate at once.',
  rows: ['A104'],
  options: z.strictObject({
    ...halfOptions(),
    /** lambda0: weight of the prediction while nothing is solved. */
    coefficient: z.number().min(0).default(0.1),
    /** Share of replies, most uncertain first, whose answers are predicted. */
    uncertainShare: z.number().min(0).max(1).default(0.5),
    /** Tokens this probable are known. */
    confident: z.number().gt(0).max(1).default(0.9),
  }),
  make: (options): Algorithm => {
    const base = mix({
      name: 'paw',
      needs: {},
      loss: byRole(clippedLoss(options), absoluteErrorLoss(options.confident)),
      weigh: weighByRole(options.aggregation, 'token-mean', options.fixedLength),
      teach: (group) => ({ samples: advantagesOf(group, options) }),
    })
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const found = foundIn(groups).sort((a, b) => b.observation.entropy - a.observation.entropy)
        const chosen = found.slice(0, Math.ceil(options.uncertainShare * found.length))
        const rewards = groups.flatMap(({ trajectories }) => trajectories.map(({ reward }) => reward))
        const mean = rewards.reduce((sum, reward) => sum + reward / rewards.length, 0)
        const lambda = options.coefficient * Math.max(0, 1 - mean)
        const placed = withObservations(lesson, groups, chosen, lambda)
        return { ...lesson, ...placed, metrics: { lambda, observations: chosen.length } }
      },
    }
  },
})

export const worldModelFirst = objective({
  kind: 'method',
  name: 'world-model-first',
  family: 'supervised',
  summary: 'The policy first learns to predict what the world answers in its own episodes; then RL begins.',
  formula: 'step <= worldSteps: L = -mean lp of observed tokens;  after: L_clip',
  reference:
    "SPA, arXiv 2510.15047. Ours: it predicts the world's words as they come, where SPA has the policy write state and next state, overwritten with the truth",
  standing: 'ours',
  use: 'Worlds with rules to learn before their rewards are in reach. paw does both at once.',
  rows: ['A101'],
  options: z.strictObject({
    ...halfOptions(),
    /** Steps of prediction before RL. */
    worldSteps: z.int().min(0).default(20),
  }),
  make: (options): Algorithm => {
    const base = mix({
      name: 'world-model-first',
      needs: {},
      loss: byRole(clippedLoss(options), crossEntropy()),
      weigh: weighByRole(options.aggregation, 'token-mean', options.fixedLength),
      teach: (group, _, { step }) => ({ samples: step > options.worldSteps ? advantagesOf(group, options) : null }),
    })
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        if (context.step > options.worldSteps) return lesson
        const found = foundIn(groups)
        return { ...lesson, ...withObservations(lesson, groups, found, 1), metrics: { observations: found.length } }
      },
    }
  },
})
