import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Alternatives, TrainSequence } from '../../policy/types.js'
import { normalizeGroup } from '../advantages.js'
import { entropyBonus } from '../exploration/entropy-bonus.js'
import { groupMethod, groupMethodOptions, type GroupMethodOptions } from '../multi/group-method.js'
import { onSampled, reward, spread } from '../multi/statistics.js'
import { objective } from '../objective.js'
import type { Algorithm, Needs } from '../types.js'

/**
 * Self-certainty: KL(uniform || p) = -log V - mean_v log p_v, of a distribution over V tokens of which the K most probable
 * are known. What is left of the probability is shared out evenly among the others, which makes the result a lower bound of
 * the true one, equal to it when K = V (or the tail is even). In nats, at least 0.
 *
 * @param logprobs of the known tokens: [K]
 * @param vocabulary V
 * @throws MyriadError 'usage' where V is less than the number of known tokens
 * @example selfCertainty([Math.log(0.7), Math.log(0.3)], 2)
 */
export function selfCertainty(logprobs: readonly number[], vocabulary: number): number {
  const others = vocabulary - logprobs.length
  if (others < 0) throw new MyriadError('usage', `a vocabulary of ${vocabulary} has no ${logprobs.length} alternatives`)
  const known = logprobs.reduce((sum, logprob) => sum + logprob, 0)
  const mass = logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)
  // Rounding may leave nothing, whose logarithm would be infinite.
  const tail = others === 0 ? 0 : others * Math.log(Math.max(1 - mass, 1e-12) / others)
  return -Math.log(vocabulary) - (known + tail) / vocabulary
}

function alternativesAt({ count, ids, logprobs }: Alternatives, t: number): number[] {
  return [...logprobs.subarray(t * count, (t + 1) * count)].filter((_, k) => ids[t * count + k] >= 0)
}

function meanOver({ mask }: TrainSequence, valueAt: (t: number) => number): number {
  let [sum, count] = [0, 0]
  mask.forEach((trained, t) => {
    if (!trained) return
    sum += valueAt(t)
    count++
  })
  return count === 0 ? 0 : sum / count
}

/**
 * Rewards that only scored sequences can tell: advantages are made anew when sequences are refined, from
 * taskWeight * reward + score, normalized within groups.
 */
function scored(
  name: string,
  options: GroupMethodOptions & { taskWeight: number },
  needs: Needs,
  scoreOf: (sequences: readonly TrainSequence[]) => number[],
): Algorithm {
  const method = groupMethod(name, options, {
    dynamicSampling: false,
    // Sequences have no advantage before they are scored.
    advantage: (groups) =>
      spread(
        groups,
        groups.map(({ trajectories }) => trajectories.map(() => 0)),
      ),
    needs,
  })
  return {
    ...method,
    refine: (sequences) => {
      const scores = scoreOf(sequences)
      const rewards = sequences.map(({ info }, i) => options.taskWeight * (info?.reward ?? 0) + scores[i])
      const advantages = sequences.map(() => 0)
      for (const group of new Set(sequences.map(({ info }) => info?.group))) {
        const members = sequences.flatMap(({ info }, i) => (info?.group === group ? [i] : []))
        const normalized = normalizeGroup(
          members.map((i) => rewards[i]),
          options,
        )
        members.forEach((i, k) => (advantages[i] = normalized[k]))
      }
      return sequences.map((sequence, i) => ({ ...sequence, advantages: onSampled(sequence, advantages[i]) }))
    },
  }
}

/** The mean self-certainty of each sequence's trained tokens, from their alternatives. */
function certaintyOf(sequences: readonly TrainSequence[], given: number | undefined): number[] {
  const lists = sequences.map(({ alternatives }) => {
    if (!alternatives) throw new MyriadError('usage', 'self-certainty needs alternatives of each token')
    return alternatives
  })
  const largest = (ids: ArrayLike<number>): number => Array.from(ids).reduce((most, id) => Math.max(most, id), 0)
  const seen = 1 + Math.max(0, ...sequences.map(({ tokens }, i) => Math.max(largest(tokens), largest(lists[i].ids))))
  const vocabulary = given ?? seen
  return sequences.map((sequence, i) =>
    meanOver(sequence, (t) => selfCertainty(alternativesAt(lists[i], t), vocabulary)),
  )
}

const scoredOptions = {
  ...groupMethodOptions,
  /** Weight of the ordinary reward beside the score: 0 learns without labels. */
  taskWeight: z.number().default(0),
}

export const intuitor = objective({
  kind: 'method',
  name: 'intuitor',
  family: 'label-free',
  summary: "The policy's self-certainty, its mean divergence from the uniform distribution, is the reward.",
  formula: 'R_i = mean_t KL(U || p_t), p_t from the top K and an even tail;  GRPO with std',
  reference:
    'Intuitor, arXiv 2505.19590; ours: the tail beyond K alternatives is even, a lower bound that is exact for K = V',
  standing: 'ours',
  use: 'No labels and no answers to compare. Small learning rates: confidence that rewards itself collapses. A larger K is nearer.',
  rows: [],
  options: z.strictObject({
    ...scoredOptions,
    klCoefficient: groupMethodOptions.klCoefficient.default(0.005),
    /** K. */
    alternatives: z.number().int().positive().default(64),
    /** V; one more than the largest id of the batch unless given. */
    vocabulary: z.number().int().positive().optional(),
  }),
  make: (options) =>
    scored(
      'intuitor',
      options,
      {
        alternatives: options.alternatives,
        ...(options.klCoefficient === 0 ? {} : { reference: 'initial' as const }),
      },
      (sequences) => certaintyOf(sequences, options.vocabulary),
    ),
})

export const entropyMinimizationPart = objective({
  kind: 'loss',
  name: 'entropy-minimization',
  family: 'label-free',
  summary: "Lowers the policy's entropy on its own samples; nothing else.",
  formula: 'L = sum_t c_t H_t',
  reference: 'EM-FT, arXiv 2505.15134',
  standing: 'second-hand',
  use: 'A few steps on a policy that knows more than it shows. Without an end it collapses onto one answer.',
  rows: ['B208'],
  options: z.strictObject({}),
  make: () => entropyMinimization,
})

/** sum c H: the entropy bonus with the other sign. */
const entropyMinimization = { ...entropyBonus(-1), name: 'entropy-minimization' }

export const entropyMinimizationMethod = objective({
  ...entropyMinimizationPart,
  kind: 'method',
  name: 'em-ft',
  options: z.strictObject({ aggregation: groupMethodOptions.aggregation, fixedLength: groupMethodOptions.fixedLength }),
  make: (options) =>
    groupMethod(
      'em-ft',
      { ...z.object(groupMethodOptions).parse({}), ...options },
      { dynamicSampling: false, loss: entropyMinimization },
    ),
})

const averageOption = {
  /** Mean over tokens; their sum, as published, favours short replies. */
  average: z.boolean().default(false),
}

export const entropyReward = objective({
  kind: 'method',
  name: 'em-rl-token',
  family: 'label-free',
  summary: 'The negative entropy of the policy at the tokens of a sample is its reward.',
  formula: 'R_i = -sum_t H_t (or -mean_t H_t);  GRPO',
  reference:
    'EM-RL (token), arXiv 2505.15134, takes the sum, with a constant baseline; RENT, arXiv 2505.22660, the mean',
  standing: 'second-hand',
  use: 'As em-ft, but tokens answer for the entropy that comes after them.',
  rows: [],
  options: z.strictObject({ ...scoredOptions, ...averageOption }),
  make: (options) =>
    scored(
      'em-rl-token',
      options,
      { old: true, ...(options.klCoefficient === 0 ? {} : { reference: 'initial' as const }) },
      (sequences) =>
        sequences.map((sequence) => {
          const { entropy, mask } = sequence
          if (!entropy) throw new MyriadError('usage', 'em-rl-token needs the entropy of each token')
          const tokens = options.average ? 1 : mask.reduce((sum, trained) => sum + (trained ? 1 : 0), 0)
          return 0 - tokens * meanOver(sequence, (t) => entropy[t])
        }),
    ),
})

const likelihoodOptions = {
  ...averageOption,
  /** Weight of the ordinary reward beside the likelihood. */
  taskWeight: z.number().default(0),
}

export const likelihoodPart = objective({
  kind: 'shaping',
  name: 'sequence-likelihood',
  family: 'label-free',
  summary: 'The logprob of a sample under the policy that drew it is its reward.',
  formula: 'R_i = sum_t blp_t (or mean_t)',
  reference: 'EM-RL (sequence), arXiv 2505.15134, takes the sum',
  standing: 'second-hand',
  use: 'As em-rl-token, one sample of the entropy instead of its value: needs no scoring.',
  rows: [],
  options: z.strictObject(likelihoodOptions),
  make:
    ({ average, taskWeight }) =>
    (groups) => ({
      groups: reward(groups, 'likelihood', (trajectory) => {
        const sampled = [...trajectory.logprobs].filter((_, t) => trajectory.mask[t])
        const sum = sampled.reduce((total, logprob) => total + logprob, 0)
        return taskWeight * trajectory.reward + (average ? sum / Math.max(1, sampled.length) : sum)
      }),
    }),
})

export const likelihoodMethod = objective({
  ...likelihoodPart,
  kind: 'method',
  name: 'em-rl-sequence',
  options: z.strictObject({ ...groupMethodOptions, ...likelihoodOptions }),
  make: (options) =>
    groupMethod('em-rl-sequence', options, {
      shaping: [{ name: 'sequence-likelihood', run: likelihoodPart.make(options) }],
    }),
})
