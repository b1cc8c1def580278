import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { hasVariance, normalizeGroup } from '../advantages.js'
import { clampedExp, clippedLoss } from '../clipped.js'
import { FIRST_STEP } from '../compose.js'
import { crossEntropy } from '../cross-entropy.js'
import { entropyBonus } from '../exploration/entropy-bonus.js'
import { objective } from '../objective.js'
import { dualClipLoss } from '../policy-gradient/clip.js'
import { sumLosses } from '../sum-losses.js'
import type { Algorithm, Group, LearnContext } from '../types.js'
import { AGGREGATIONS, type Aggregation } from '../weights.js'
import { replayed } from './filtered.js'
import { dftLoss, phiLoss } from './likelihood.js'
import { byRole, isRight, mix, thresholdOption, weighByRole } from './shown.js'
import { mixtureAt, scheduleOf, scheduleOptions } from './schedule.js'
import { tokenLoss } from '../policy-gradient/token-loss.js'

/** Options of the RL half of a mixture, with a method's own defaults. */
export const halfOptions = (
  defaults: { normalization?: 'mean' | 'mean-std'; aggregation?: Aggregation; clipHigh?: number } = {},
) => ({
  normalization: z.enum(['mean', 'mean-std']).default(defaults.normalization ?? 'mean-std'),
  /** Added to standard deviations. */
  epsilon: z.number().positive().default(1e-6),
  clipLow: z.number().min(0).default(0.2),
  clipHigh: z
    .number()
    .min(0)
    .default(defaults.clipHigh ?? 0.2),
  /** Of sampled tokens. Demonstrated ones have the token mean of their own. */
  aggregation: z.enum(AGGREGATIONS).default(defaults.aggregation ?? 'token-mean'),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
})

type HalfOptions = z.output<z.ZodObject<ReturnType<typeof halfOptions>>>

/**
 * Group advantages of the trajectories; null where all rewards are equal, so that the group is left out.
 *
 * @example advantagesOf(group, { normalization: 'mean' }) // rewards 0, 1: [-0.5, 0.5]
 */
export function advantagesOf(
  group: Group,
  options: { normalization: 'mean' | 'mean-std'; epsilon?: number },
): number[] | null {
  const rewards = group.trajectories.map(({ reward }) => reward)
  return hasVariance(group) ? normalizeGroup(rewards, options) : null
}

/** (1 - mu) L_RL + mu L_SFT, mu by the step. */
function mixture(
  name: string,
  options: HalfOptions,
  losses: { samples: Loss; demonstrations: Loss },
  muAt: (step: number) => number,
): Algorithm {
  const base = mix({
    name,
    needs: { demonstrations: true },
    loss: byRole(losses.samples, losses.demonstrations),
    weigh: weighByRole(options.aggregation, 'token-mean', options.fixedLength),
    teach: (group, _, { step }) => {
      const mu = muAt(step)
      return {
        samples: advantagesOf(group, options),
        demonstration: 1,
        sampleFactor: 1 - mu,
        demonstrationFactor: mu,
      }
    },
  })
  return {
    ...base,
    learn: (groups, context = FIRST_STEP) => {
      const lesson = base.learn(groups, context)
      return { ...lesson, metrics: { ...lesson.metrics, mu: muAt(context.step) } }
    },
  }
}

const about = { kind: 'method' as const, family: 'supervised' as const, standing: 'source' as const }

export const scheduledMixture = objective({
  ...about,
  name: 'scheduled-mixture',
  summary: 'RL on samples and likelihood of demonstrations in one loss, whose share moves with the step.',
  formula: 'L = (1 - mu_t) L_clip + mu_t L_NLL, each over its own tokens',
  reference: 'CHORD-mu, arXiv 2508.11408, section 3; here with a schedule of choice',
  use: 'From imitation to RL without a break. With mu constant it is RL with a likelihood term.',
  rows: [],
  options: z.strictObject({
    ...halfOptions(),
    ...scheduleOptions({ kind: 'cosine', from: 0.9, to: 0.05, warmupSteps: 0, decaySteps: 100 }),
  }),
  make: (options) =>
    mixture('scheduled-mixture', options, { samples: clippedLoss(options), demonstrations: crossEntropy() }, (step) =>
      mixtureAt(scheduleOf(options), step),
    ),
})

export const interleaved = objective({
  ...about,
  name: 'interleaved',
  summary: 'RL steps with a step of likelihood of demonstrations after every so many.',
  formula: 'L = L_NLL where step mod every = 0, else L_clip',
  reference: 'ours; the plain form of ReLIFT, arXiv 2506.07527',
  standing: 'ours',
  use: 'When the two gradients should not be summed. Adam still remembers the other kind.',
  rows: [],
  options: z.strictObject({ ...halfOptions(), every: z.int().min(2).default(5) }),
  make: (options) =>
    mixture('interleaved', options, { samples: clippedLoss(options), demonstrations: crossEntropy() }, (step) =>
      step % options.every === 0 ? 1 : 0,
    ),
})

export const chord = objective({
  ...about,
  name: 'chord',
  summary: 'Mixture of RL and demonstrations weighted by p (1 - p), with a share that warms up and decays.',
  formula: 'L = (1 - mu_t) L_clip + mu_t L_phi;  L_phi = -mean sg(p (1 - p)) lp',
  reference:
    "CHORD, arXiv 2508.11408, and its authors' framework, where phi goes with mu 0.1 throughout; without weighting ms-swift has a cosine from 0.9 to 0.05 in 200 steps",
  use: 'Demonstrations of another model beside RL: phi leaves alone what is known and what is foreign.',
  rows: [],
  options: z.strictObject({
    ...halfOptions(),
    ...scheduleOptions({ kind: 'constant', from: 0.1, to: 0.1, warmupSteps: 0, decaySteps: 0 }),
    /** phi: p (1 - p); probability: p (its importance weighting); none: CHORD-mu. */
    weighting: z.enum(['phi', 'probability', 'none']).default('phi'),
  }),
  make: (options) => {
    const demonstrations = { phi: phiLoss, probability: dftLoss, none: crossEntropy }[options.weighting]()
    return mixture('chord', options, { samples: clippedLoss(options), demonstrations }, (step) =>
      mixtureAt(scheduleOf(options), step),
    )
  },
})

export const datamind = objective({
  ...about,
  name: 'datamind',
  summary: 'Mixture of dual-clipped RL and expert trajectories; the share of these falls from .9 to .05 in 350 steps.',
  formula: 'L = (1 - mu_t) L_dualclip + mu_t L_NLL;  mu_t = .05 + .425 (1 + cos(pi min(t, 350) / 350))',
  reference: "DataMind, arXiv 2509.25084, and its authors' code",
  use: 'Agents over several turns that start from few expert trajectories.',
  rows: ['B019'],
  options: z.strictObject({
    ...halfOptions({ clipHigh: 0.28 }),
    ...scheduleOptions({ kind: 'cosine', from: 0.9, to: 0.05, warmupSteps: 0, decaySteps: 350 }),
    dualClip: z.number().gt(1).default(10),
  }),
  make: (options) =>
    mixture('datamind', options, { samples: dualClipLoss(options), demonstrations: crossEntropy() }, (step) =>
      mixtureAt(scheduleOf(options), step),
    ),
})

/**
 * -r A without a clip, r = exp(lp - olp) with its log clamped.
 *
 * @example byRole(ratioLoss(), crossEntropy())
 */
export function ratioLoss(): Loss {
  return tokenLoss('ratio', ({ logprobs, oldLogprobs, advantages }, t) => {
    const ratio = clampedExp(logprobs[t] - oldLogprobs[t])
    return { value: -ratio.value * advantages[t], slope: -ratio.slope * advantages[t], ratio: ratio.value }
  })
}

interface Buffered {
  tokens: number[]
  mask: number[]
  task: string
  language: string
}

export const relift = objective({
  ...about,
  name: 'relift',
  summary:
    'RL; demonstrations of problems that no sample solved are kept, and once there are enough a step learns them.',
  formula: 'RL: -r A, A = R - mean, summed / (N L);  buffer full: -mean lp - 0.001 mean H on its demonstrations',
  reference:
    "ReLIFT, arXiv 2506.07527, and its authors' code. Ours: the step that learns the buffer does no RL; one optimizer for both (theirs has its own rate)",
  use: 'Hard problems with solutions at hand. RL never sees problems that are never solved; this does.',
  rows: ['B030'],
  options: z.strictObject({
    threshold: thresholdOption,
    /** Demonstrations that make a step of likelihood. */
    bufferSize: z.int().positive().default(128),
    entropyCoefficient: z.number().min(0).default(0.001),
    /** L in tokens: the limit of a reply. */
    fixedLength: z.number().positive().default(1024),
  }),
  make: (options): Algorithm => {
    const base = mix({
      name: 'relift',
      needs: { demonstrations: true },
      loss: byRole(
        ratioLoss(),
        sumLosses([{ loss: crossEntropy() }, { loss: entropyBonus(1), coefficient: options.entropyCoefficient }]),
      ),
      weigh: weighByRole('fixed-length', 'token-mean', options.fixedLength),
      teach: (group) => ({ samples: advantagesOf(group, { normalization: 'mean' }) }),
    })
    return {
      ...base,
      learn: (groups, context = FIRST_STEP) => {
        const lesson = base.learn(groups, context)
        const buffer = [
          ...((context.state as unknown as Buffered[] | null) ?? []),
          ...unsolved(groups, context, options),
        ]
        const full = buffer.length >= options.bufferSize && groups.length > 0
        return {
          ...lesson,
          ...(full ? replayed(buffer, groups) : {}),
          state: (full ? [] : buffer) as unknown as LearnContext['state'],
          metrics: { demonstrations: full ? buffer.length : 0, buffer: full ? 0 : buffer.length },
        }
      },
    }
  },
})

function unsolved(
  groups: readonly Group[],
  context: LearnContext,
  { threshold }: { threshold: number | null },
): Buffered[] {
  return groups.flatMap(({ problem, trajectories }, g) => {
    const shown = context.demonstrations?.[g]
    if (!shown?.mask.includes(1) || trajectories.some((trajectory) => isRight(trajectory, threshold))) return []
    return [{ tokens: [...shown.tokens], mask: [...shown.mask], task: problem.task, language: problem.language }]
  })
}
