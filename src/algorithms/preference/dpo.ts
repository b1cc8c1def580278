import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { logRatio, type Completion, type TokenFactor } from './completions.js'
import type { Slope } from './logistic.js'
import {
  discoveredMargin,
  divergenceScore,
  DIVERGENCES,
  exoMargin,
  hingeMargin,
  logisticMargin,
  robustMargin,
  squaredMargin,
  type Divergence,
} from './margins.js'
import { lossAndMethod } from './method.js'
import { pairLoss } from './pair-loss.js'

export interface MarginLossOptions {
  name: string
  /** The loss of x = beta (g_w - g_l). */
  link: (x: number) => Slope
  beta: number
  /** Scores are of sums of logprobs, or of the mean over tokens ('sum'). */
  normalization?: 'sum' | 'mean'
  /** Leave the reference out: r = s. */
  referenceFree?: boolean
  /** ('reverse-kl') */
  divergence?: Divergence
  /** Of the divergence 'alpha'. */
  alpha?: number
  /** Weight of tokens beyond the length of the shorter reply (1; below it, LD-DPO, arXiv 2409.06411). */
  tail?: number
  /** Weight of the token-mean negative logprob of the chosen (0). */
  nll?: number
}

/**
 * A loss of the margin between two completions. With r = s - s_ref (r = s when reference-free), score g(r) of the
 * divergence, divided by the number of tokens where the normalization is 'mean':
 *
 *     L = mean over pairs of link(beta (g(r_w) - g(r_l))) + nll * token mean of -lp over the chosen
 *     dL/ds_w = link' beta g'(r_w) [/ n_w],  dL/ds_l = -link' beta g'(r_l) [/ n_l]
 *
 * @throws MyriadError (when evaluated) 'usage' without reference logprobs, unless reference-free
 * @example marginLoss({ name: 'dpo', link: (x) => logisticMargin(x, 0), beta: 0.1 })
 */
export function marginLoss(options: MarginLossOptions): Loss {
  const { name, link, beta, normalization = 'sum', referenceFree = false, divergence = 'reverse-kl', nll } = options
  const { tail = 1, alpha } = options
  const score = (completion: Completion): Slope => {
    const r = referenceFree ? completion.logprob : logRatio(completion)
    const { value, slope } = divergenceScore(r, divergence, alpha)
    const length = normalization === 'mean' ? completion.length : 1
    return { value: value / length, slope: slope / length }
  }
  const tokenFactor: TokenFactor = (k, shared) => (k < shared ? 1 : tail)
  return pairLoss({
    name,
    reference: !referenceFree,
    nll,
    ...(tail === 1 ? {} : { tokenFactor }),
    compare({ chosen, rejected }) {
      const [won, lost] = [score(chosen), score(rejected)]
      const { value, slope } = link(beta * (won.value - lost.value))
      return { value, chosen: slope * beta * won.slope, rejected: -slope * beta * lost.slope }
    },
  })
}

const smoothing = z.number().min(0).lt(0.5)

const shape = {
  /** Strength of the pull to the reference: implicit rewards are beta (s - s_ref). */
  beta: z.number().positive().default(0.1),
  /** Sums of logprobs over a reply's tokens, or their mean. */
  normalization: z.enum(['sum', 'mean']).default('sum'),
  /** Compare without a reference. */
  referenceFree: z.boolean().default(false),
  /** Weight of tokens past the length of the shorter reply. */
  tail: z.number().min(0).max(1).default(1),
  /** Weight of the negative log-likelihood of the chosen, a mean over its tokens. */
  nll: z.number().min(0).default(0),
}

const withReference = ({ referenceFree }: { referenceFree: boolean }): boolean => !referenceFree

export const dpo = lossAndMethod({
  name: 'dpo',
  summary: 'The better reply is made likelier against the worse one, relative to a reference (DPO).',
  formula: 'L = -log sig(beta h),  h = (s_w - s_w_ref) - (s_l - s_l_ref)',
  reference:
    'arXiv 2305.18290; TRL "sigmoid"; tail: LD-DPO, 2409.06411; nll: iterative reasoning preference, 2404.19733',
  standing: 'source',
  use: 'The first to try on comparisons. Both replies may become less likely; nll or a bounded loss holds the chosen up.',
  rows: ['A036', 'A056', 'B017', 'A013', 'A042'],
  shape: {
    ...shape,
    /** How likely a label is to be wrong. */
    labelSmoothing: smoothing.default(0),
  },
  loss: ({ labelSmoothing, ...rest }) =>
    marginLoss({ name: 'dpo', link: (x) => logisticMargin(x, labelSmoothing), ...rest }),
  referenceNeeded: withReference,
})

export const cdpo = lossAndMethod({
  name: 'cdpo',
  summary: 'DPO that believes labels to be wrong now and then; the margin stays bounded.',
  formula: 'L = -(1 - e) log sig(beta h) - e log sig(-beta h)',
  reference: 'E. Mitchell, "A note on DPO with noisy preferences", 2023; original DPO repository, OpenRLHF',
  standing: 'source',
  use: 'Noisy judges. The margin rests at log((1 - e) / e) / beta.',
  rows: [],
  shape: { ...shape, labelSmoothing: smoothing.default(0.1) },
  loss: ({ labelSmoothing, ...rest }) =>
    marginLoss({ name: 'cdpo', link: (x) => logisticMargin(x, labelSmoothing), ...rest }),
  referenceNeeded: withReference,
})

export const robustDpo = lossAndMethod({
  name: 'robust-dpo',
  summary: 'DPO whose expectation over labels flipped at a known rate is that of clean labels.',
  formula: 'L = [-(1 - e) log sig(beta h) + e log sig(-beta h)] / (1 - 2 e)',
  reference: 'arXiv 2403.00409; TRL "robust"',
  standing: 'source',
  use: 'Labels known to be flipped at a rate. The loss may be negative and has no minimum: watch the margin.',
  rows: [],
  shape: { ...shape, flipRate: smoothing.default(0.1) },
  loss: ({ flipRate, ...rest }) => marginLoss({ name: 'robust-dpo', link: (x) => robustMargin(x, flipRate), ...rest }),
  referenceNeeded: withReference,
})

export const hingeDpo = lossAndMethod({
  name: 'hinge-dpo',
  summary: 'DPO with a hinge: a pair that is far enough apart teaches nothing more.',
  formula: 'L = max(0, 1 - beta h)',
  reference: 'TRL "hinge"; SLiC-HF, arXiv 2305.10425',
  standing: 'source',
  use: 'When right pairs should be left alone. Every other pair pulls with full force.',
  rows: [],
  shape,
  loss: (options) => marginLoss({ name: 'hinge-dpo', link: hingeMargin, ...options }),
  referenceNeeded: withReference,
})

export const normalizedDpo = lossAndMethod({
  name: 'dpo-norm',
  summary: 'DPO on log-ratios per token, so that length does not decide.',
  formula: 'L = -log sig(beta (r_w / n_w - r_l / n_l))',
  reference: 'TRL "sigmoid_norm"; Tulu 3, arXiv 2411.15124 (beta 5)',
  standing: 'source',
  use: 'Replies of unlike lengths. beta has to be larger than for sums.',
  rows: ['B071'],
  shape: {
    ...shape,
    beta: shape.beta.removeDefault().default(5),
    normalization: shape.normalization.removeDefault().default('mean'),
  },
  loss: (options) => marginLoss({ name: 'dpo-norm', link: (x) => logisticMargin(x, 0), ...options }),
  referenceNeeded: withReference,
})

export const fDpo = lossAndMethod({
  name: 'f-dpo',
  summary: 'DPO that keeps to the reference in another divergence than the reverse KL.',
  formula: 'L = -log sig(beta (g(r_w) - g(r_l))),  g = -exp(-r) | log sig(r) | exp((a - 1) r) / (a - 1)',
  reference: 'arXiv 2309.16240; TRL f_divergence_type',
  standing: 'source',
  use: 'Forward KL and Jensen-Shannon keep more of the reference than DPO. Log-ratios of long replies saturate them.',
  rows: [],
  shape: {
    ...shape,
    divergence: z.enum(DIVERGENCES).default('jensen-shannon'),
    /** Of the divergence 'alpha', below 1 or above. */
    alpha: z.number().default(0.5),
  },
  loss: (options) => marginLoss({ name: 'f-dpo', link: (x) => logisticMargin(x, 0), ...options }),
  referenceNeeded: withReference,
})

export const exo = lossAndMethod({
  name: 'exo',
  summary: 'The reverse divergence of the policy on a pair from smoothed labels (EXO).',
  formula: 'L = sig(x) [log sig(x) - log(1 - e)] + sig(-x) [log sig(-x) - log e],  x = beta h',
  reference: 'arXiv 2402.00856, equation 16; TRL "exo_pair"',
  standing: 'source',
  use: 'A bounded margin, and little force on pairs far on the wrong side.',
  rows: [],
  shape: { ...shape, labelSmoothing: smoothing.gt(0).default(1e-3) },
  loss: ({ labelSmoothing, ...rest }) =>
    marginLoss({ name: 'exo', link: (x) => exoMargin(x, labelSmoothing), ...rest }),
  referenceNeeded: withReference,
})

export const discopop = lossAndMethod({
  name: 'discopop',
  summary: 'A loss found by search: logistic where the pair is wrong, exponential where it is right.',
  formula: 'L = (1 - m) softplus(-x) + m exp(-x),  m = sig(x / tau),  x = beta h',
  reference: 'arXiv 2406.08414, equation 5; TRL "discopop"',
  standing: 'source',
  use: 'A comparison with DPO. It is not convex in the margin.',
  rows: [],
  shape: { ...shape, temperature: z.number().positive().default(0.05) },
  loss: ({ temperature, ...rest }) =>
    marginLoss({ name: 'discopop', link: (x) => discoveredMargin(x, temperature), ...rest }),
  referenceNeeded: withReference,
})

export const ipo = lossAndMethod({
  name: 'ipo',
  summary: 'The margin is regressed onto a constant instead of growing without end (IPO).',
  formula: 'L = (r_w / n_w - r_l / n_l - 1 / (2 tau))^2, or of sums: (r_w - r_l - 1 / (2 tau))^2',
  reference:
    'arXiv 2310.12036; token means: TRL "ipo" (agreed with its authors), sums: the original DPO repository, OpenRLHF',
  standing: 'source',
  use: 'Deterministic preferences, which DPO overfits. tau of sums and of means differ by about the length of a reply.',
  rows: [],
  shape: { ...shape, normalization: shape.normalization.removeDefault().default('mean') },
  loss: (options) => marginLoss({ name: 'ipo', link: (x) => squaredMargin(x, options.beta), ...options }),
  referenceNeeded: withReference,
})
