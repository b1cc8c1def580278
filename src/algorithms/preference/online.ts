import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { compose } from '../compose.js'
import { objective } from '../objective.js'
import type { AdvantageEstimator, Algorithm } from '../types.js'
import { clippedLoss } from '../clipped.js'
import { groupMethodOptions } from '../multi/group-method.js'
import { marginLoss } from './dpo.js'
import { sequenceLoss } from './completions.js'
import { logisticMargin, squaredMargin } from './margins.js'
import { lossAndMethod } from './method.js'
import { winOptions, winRates, type WinOptions } from './regression.js'

export const onlineDpo = lossAndMethod({
  name: 'online-dpo',
  summary: 'Two replies of the policy as it is are judged, and DPO or IPO is taken of them (OAIF).',
  formula: 'L = -log sig(beta h)  or  (h - 1 / (2 beta))^2,  on sums, of two samples of the policy',
  reference: 'arXiv 2402.04792; TRL online DPO. Ties make no pair (TRL takes the first as chosen)',
  standing: 'source',
  use: 'The unbiased pairing: which two are compared does not depend on their rewards, unlike best against worst.',
  rows: ['A056', 'B046'],
  shape: {
    beta: z.number().positive().default(0.1),
    link: z.enum(['logistic', 'squared']).default('logistic'),
  },
  loss: ({ beta, link }) =>
    marginLoss({
      name: 'online-dpo',
      beta,
      link: (x) => (link === 'logistic' ? logisticMargin(x, 0) : squaredMargin(x, beta)),
    }),
  referenceNeeded: true,
  pairing: 'random',
})

/**
 * Win rates less a half, the same on every sampled token: how much likelier than not a reply is to be preferred to another of
 * its group. A group of one, or of equal rewards, has 0.
 *
 * @example winRateAdvantages({ wins: 'hard', winTemperature: 1 })
 */
export function winRateAdvantages(options: WinOptions): AdvantageEstimator {
  return (groups) =>
    groups.map(({ trajectories }) => {
      const rates = winRates(
        trajectories.map(({ reward }) => reward),
        options,
        false,
      )
      return trajectories.map(({ mask }, i) => Float32Array.from(mask, (sampled) => (sampled ? rates[i] - 0.5 : 0)))
    })
}

export const winRatePart = objective({
  kind: 'advantage',
  name: 'win-rate',
  family: 'preference',
  summary: 'How often a reply beats a sibling, less a half.',
  formula: 'A_i = mean over j != i of P(i beats j) - 1/2',
  reference:
    'Pairwise-RL, arXiv 2504.04950 (win probability as reward; its anchor answer is a sibling here), Nash learning, 2312.00886',
  standing: 'ours',
  use: 'Rewards of which only the order can be trusted, or a judge of pairs. In [-1/2, 1/2] whatever the scale of rewards.',
  rows: ['B185', 'A031'],
  options: z.strictObject(winOptions),
  make: winRateAdvantages,
})

export const pairwiseRl = objective({
  ...winRatePart,
  kind: 'method',
  name: 'pairwise-rl',
  summary: 'PPO on the probability to win against a sibling, in place of a scalar reward.',
  formula: 'A_i = mean over j != i of P(i beats j) - 1/2;  L = clipped(ratio, A)',
  options: z.strictObject({
    ...winOptions,
    clipLow: groupMethodOptions.clipLow,
    clipHigh: groupMethodOptions.clipHigh,
    klCoefficient: groupMethodOptions.klCoefficient,
    aggregation: groupMethodOptions.aggregation,
    fixedLength: groupMethodOptions.fixedLength,
  }),
  make: (options): Algorithm =>
    compose({
      name: 'pairwise-rl',
      advantage: winRateAdvantages(options),
      loss: clippedLoss(options),
      aggregation: options.aggregation,
      fixedLength: options.fixedLength,
      needs: options.klCoefficient > 0 ? { reference: 'initial' } : {},
    }),
})

/**
 * Nash learning from preferences: a policy gradient on win probabilities, held to the reference token by token.
 *
 *     L = mean over sequences of sum_t [-A_t lp_t + beta (lp_t - rlp_t)^2 / 2]
 *     dL/dlp_t = [-A_t + beta (lp_t - rlp_t)] / N
 *
 * A is P - 1/2 (winRateAdvantages). The published loss has a constant log-ratio times lp in place of half its square: the
 * derivative is the same. Source: arXiv 2312.00886; TRL Nash-MD.
 *
 * @throws MyriadError (when evaluated) 'usage' without reference logprobs
 * @example nashLoss(0.1)
 */
export function nashLoss(beta: number): Loss {
  return sequenceLoss({
    name: 'nash',
    reference: true,
    evaluate(completions, { logprobs, referenceLogprobs, advantages }) {
      const tokenSlopes = new Float64Array(logprobs.length)
      const n = completions.length
      let [value, kl] = [0, 0]
      for (let t = 0; t < logprobs.length; t++) {
        const d = logprobs[t] - referenceLogprobs![t]
        value += (-advantages[t] * logprobs[t] + (beta * d * d) / 2) / n
        tokenSlopes[t] = (-advantages[t] + beta * d) / n
        kl += d / logprobs.length
      }
      return { value, slopes: new Map(), tokenSlopes, metrics: { kl } }
    },
  })
}

const nashAbout = {
  family: 'preference',
  summary: 'Self-play towards a Nash equilibrium of preferences: win probability, and a pull to the reference.',
  formula: 'L = -(P - 1/2) s + beta sum_t sg(lp_t - rlp_t) lp_t',
  reference:
    'arXiv 2312.00886; TRL Nash-MD. Ours: opponents are siblings, samples of the policy itself (mixture coefficient 0; Nash-MD ' +
    'samples them from a mixture of policy and reference)',
  standing: 'ours',
  use: 'Preferences that no scalar reward explains. Not clipped: one optimizer step per sample.',
  rows: [],
} as const

const nashBeta = z.number().min(0).default(0.1)

export const nashPart = objective({
  ...nashAbout,
  kind: 'loss',
  name: 'nash-loss',
  needs: { reference: 'initial' },
  options: z.strictObject({ beta: nashBeta }),
  make: ({ beta }) => nashLoss(beta),
})

export const nash = objective({
  ...nashAbout,
  kind: 'method',
  name: 'nash',
  options: z.strictObject({ beta: nashBeta, ...winOptions }),
  make: (options): Algorithm =>
    compose({
      name: 'nash',
      advantage: winRateAdvantages(options),
      // Groups of equal rewards are held to the reference all the same.
      dynamicSampling: false,
      loss: nashLoss(options.beta),
      aggregation: 'sequence-mean-token-sum',
      needs: { reference: 'initial' },
    }),
})
