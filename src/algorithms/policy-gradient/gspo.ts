import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { objective } from '../objective.js'
import { clipOptions, clippedTerm, type ClipRange } from './clip.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { sequenceLoss, spansOf, tokenLoss } from './token-loss.js'

function meanLogRatio(
  { logprobs, oldLogprobs }: { logprobs: Float64Array; oldLogprobs: Float64Array },
  { start, end }: { start: number; end: number },
): number {
  let sum = 0
  for (let t = start; t < end; t++) sum += logprobs[t] - oldLogprobs[t]
  return sum / (end - start)
}

/**
 * Group sequence policy optimization: the clipped loss on the geometric mean of a sequence's ratios.
 *
 *     s_i = exp(mean_t (lp - olp));  l_i = -min(s_i A_i, clip(s_i) A_i);  d l_i / d lp_it = -s_i A_i / T_i, or 0 where clipped
 *
 * A_i is the mean of the sequence's advantages; sequences weigh the sum of their token weights, 1/N with
 * 'sequence-mean-token-mean'. Source: GSPO, arXiv 2507.18071.
 *
 * @example const loss = gspoLoss({ clipLow: 3e-4, clipHigh: 4e-4 })
 */
export function gspoLoss(range: ClipRange): Loss {
  return sequenceLoss('gspo', (tokens, span) => {
    const { slope, ...rest } = clippedTerm(meanLogRatio(tokens, span), span.advantage, range)
    return { ...rest, slopes: slope / span.length }
  })
}

/**
 * GSPO by token: s_it = sg[s_i] exp(lp_it - sg[lp_it]), clipped by each token's own advantage.
 *
 *     value -min(s_i A_it, clip(s_i) A_it);   d / d lp_it = -s_i A_it, or 0 where clipped
 *
 * With one advantage for all tokens of a sequence its gradient is that of `gspoLoss`.
 * Source: GSPO, arXiv 2507.18071, section 4.3; verl and SkyRL run it under the name "gspo".
 */
export function gspoTokenLoss(range: ClipRange): Loss {
  return {
    name: 'gspo-token',
    evaluate: (tokens) => {
      const logRatios = new Float64Array(tokens.logprobs.length)
      for (const span of spansOf(tokens)) logRatios.fill(meanLogRatio(tokens, span), span.start, span.end)
      return tokenLoss('gspo-token', ({ advantages }, t) => clippedTerm(logRatios[t], advantages[t], range)).evaluate(
        tokens,
      )
    },
  }
}

const about = { family: 'policy-gradient' as const, standing: 'source' as const, rows: [] }

const gspoClip = {
  clipLow: clipOptions.clipLow.default(3e-4),
  clipHigh: clipOptions.clipHigh.default(4e-4),
}

/** Options of group-relative advantages. */
export const groupOptions = {
  normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
  /** Added to the standard deviation. */
  epsilon: z.number().min(0).default(1e-6),
}

export const gspoPart = objective({
  ...about,
  kind: 'loss',
  name: 'gspo-loss',
  summary: 'The clipped loss on the geometric mean of the ratios of a sequence.',
  formula: 'l_i = -min(s_i A_i, clip(s_i) A_i), s_i = exp(mean_t (lp - olp))',
  reference: 'GSPO, arXiv 2507.18071',
  use: 'One advantage a sequence.',
  options: z.strictObject(gspoClip),
  make: gspoLoss,
})

export const gspoTokenPart = objective({
  ...about,
  kind: 'loss',
  name: 'gspo-token-loss',
  summary: 'GSPO with an advantage for each token.',
  formula: 'l = -min(s A_t, clip(s) A_t), s = sg[s_i] exp(lp_t - sg[lp_t])',
  reference: 'GSPO, arXiv 2507.18071, section 4.3',
  use: 'Advantages that differ within a sequence: turns, steps, process rewards.',
  options: z.strictObject(gspoClip),
  make: gspoTokenLoss,
})

export const gspo = objective({
  ...about,
  kind: 'method',
  name: 'gspo',
  summary: 'Group-relative advantages with sequence ratios.',
  formula: 'L = mean_i -min(s_i A_i, clip(s_i, 1 - 3e-4, 1 + 4e-4) A_i)',
  reference: 'GSPO, arXiv 2507.18071, section 5.1',
  use: 'Mixture-of-experts models and long replies, several updates a batch. On the first update it equals grpo.',
  options: z.strictObject({
    ...groupOptions,
    ...gspoClip,
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) => method('gspo', options, { advantage: groupAdvantages(options), loss: gspoLoss(options) }),
})

export const gspoToken = objective({
  ...gspo,
  name: 'gspo-token',
  summary: "GSPO whose clip looks at each token's own advantage.",
  formula: gspoTokenPart.formula,
  reference: gspoTokenPart.reference,
  use: 'With an adjustment that tells tokens apart; else gspo, whose gradient it has.',
  make: (options) =>
    method('gspo-token', options, { advantage: groupAdvantages(options), loss: gspoTokenLoss(options) }),
})
