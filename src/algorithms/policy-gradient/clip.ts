import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { clampedExp, clippedLoss } from '../clipped.js'
import { objective } from '../objective.js'
import { tokenLoss, type Term } from './token-loss.js'

/** Bounds of a ratio. */
export interface ClipRange {
  clipLow: number
  clipHigh: number
  /** Where the advantage is negative, the ratio counts no more than this (at least 1 + clipHigh); null: no bound. */
  dualClip?: number | null
}

/** Options of the clip range, with PPO's defaults. */
export const clipOptions = {
  /** The ratio may fall to 1 - clipLow for negative advantages. */
  clipLow: z.number().min(0).default(0.2),
  /** The ratio may rise to 1 + clipHigh for positive advantages. */
  clipHigh: z.number().min(0).default(0.2),
}

/**
 * l = -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A), for A < 0 no more than dualClip |A|; r = exp(logRatio) clamped.
 * The slope is with respect to the log-ratio: -r A, or 0 where clipped. At a bound the unclipped slope is used.
 */
export function clippedTerm(logRatio: number, advantage: number, range: ClipRange): Term {
  const { value: ratio, slope } = clampedExp(logRatio)
  const { clipLow, clipHigh, dualClip = null } = range
  const clipped =
    (advantage > 0 && ratio > 1 + clipHigh) ||
    (advantage < 0 && (ratio < 1 - clipLow || (dualClip !== null && ratio > dualClip)))
  const upper = advantage > 0 ? 1 + clipHigh : advantage < 0 && dualClip !== null ? dualClip : Infinity
  const lower = advantage < 0 ? 1 - clipLow : 0
  const value = -Math.min(Math.max(ratio, lower), upper) * advantage
  return { value, slope: clipped ? 0 : -slope * advantage, clipped, ratio }
}

/**
 * The clipped loss of PPO with a bound for negative advantages: where A < 0 the loss is no more than dualClip |A|, so that a
 * token whose ratio ran away upwards does not throw the policy about. With `dualClip: null` it is `clippedLoss`, and
 * compiled.
 *
 * Sources: arXiv 1912.09729 (c = 3); INTELLECT-2's two-sided clip, TRL's `delta`, is the same.
 *
 * @example const loss = dualClipLoss({ clipLow: 0.2, clipHigh: 0.2, dualClip: 3 })
 */
export function dualClipLoss(range: ClipRange): Loss {
  const { clipLow, clipHigh, dualClip = null } = range
  if (dualClip === null) return clippedLoss({ clipLow, clipHigh })
  return tokenLoss('dual-clip', ({ logprobs, oldLogprobs, advantages }, t) =>
    clippedTerm(logprobs[t] - oldLogprobs[t], advantages[t], range),
  )
}

const about = { kind: 'loss' as const, family: 'policy-gradient' as const, standing: 'source' as const, rows: [] }

export const clipped = objective({
  ...about,
  name: 'clipped',
  summary: 'The clipped policy-gradient loss of PPO and GRPO, with an optional divergence from the reference.',
  formula: 'l = -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) + klCoefficient k',
  reference: 'PPO, arXiv 1707.06347; two bounds, DAPO, arXiv 2503.14476',
  use: 'The default. Compiled into the training graph. Needs a reference where klCoefficient is not 0.',
  options: z.strictObject({
    ...clipOptions,
    klCoefficient: z.number().min(0).default(0),
    klEstimator: z.enum(['k1', 'k2', 'k3']).default('k3'),
  }),
  make: clippedLoss,
})

export const dualClip = objective({
  ...about,
  name: 'dual-clip',
  summary: 'The clipped loss, bounded for negative advantages as well.',
  formula: 'l = -min(r A, clip(r) A);  where A < 0 also l <= dualClip |A|',
  reference: 'arXiv 1912.09729; always on in verl; TRL delta',
  use: 'Many updates a batch, or a stale sampler. Not differentiable inside the graph: evaluated beside it.',
  options: z.strictObject({
    ...clipOptions,
    /** Must lie above 1 + clipHigh to differ from an early stop. */
    dualClip: z.number().gt(1).default(3),
  }),
  make: dualClipLoss,
})
