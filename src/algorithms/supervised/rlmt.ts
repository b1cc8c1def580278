import { z } from 'zod'
import { groupAdvantages } from '../advantages.js'
import { entropyBonus } from '../exploration/entropy-bonus.js'
import { objective } from '../objective.js'
import { dualClipLoss } from '../policy-gradient/clip.js'
import { method } from '../policy-gradient/method-options.js'
import { AGGREGATIONS } from '../weights.js'

/**
 * The part of a reply that a preference model scores: what stands between the response delimiters. Without the opening one
 * the whole text; without the closing one all that follows the opening.
 *
 * Source: RLMT, arXiv 2509.20357, and its authors' code (no penalty for a missing delimiter).
 *
 * @example responseOf('<think>hm</think><response>yes</response>') // 'yes'
 */
export function responseOf(text: string, open = '<response>', close = '</response>'): string {
  const start = text.indexOf(open)
  if (start < 0) return text
  const from = start + open.length
  const end = text.indexOf(close, from)
  return text.slice(from, end < 0 ? undefined : end)
}

export const rlmt = objective({
  kind: 'method',
  name: 'rlmt',
  family: 'supervised',
  summary: 'RL with thinking on open prompts: GRPO with a bound for negative advantages, a little KL and entropy.',
  formula: 'A = (R - mean) / (std + eps);  l = dual clip(r A) + klCoefficient k3 - entropyCoefficient H',
  reference: "RLMT, arXiv 2509.20357, and its authors' code",
  standing: 'source',
  use: 'A reward that scores `responseOf` the reply only: thinking is learnt through it. Empty responses need a penalty of their own.',
  rows: ['B063'],
  options: z.strictObject({
    normalization: z.enum(['mean', 'mean-std']).default('mean-std'),
    epsilon: z.number().min(0).default(1e-6),
    clipLow: z.number().min(0).default(0.2),
    clipHigh: z.number().min(0).default(0.2),
    dualClip: z.number().gt(1).default(3),
    klCoefficient: z.number().min(0).default(0.001),
    entropyCoefficient: z.number().min(0).default(0.001),
    aggregation: z.enum(AGGREGATIONS).default('token-mean'),
    /** L of the aggregation 'fixed-length', in tokens. */
    fixedLength: z.number().positive().optional(),
  }),
  make: (options) =>
    method('rlmt', options, {
      advantage: groupAdvantages(options),
      loss: dualClipLoss(options),
      regularizers: [{ loss: entropyBonus(1), coefficient: options.entropyCoefficient }],
    }),
})
