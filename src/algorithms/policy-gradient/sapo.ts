import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { clampedExp } from '../clipped.js'
import { objective } from '../objective.js'
import { groupOptions } from './gspo.js'
import { klOptions } from './kl.js'
import { aggregationOptions, method } from './method-options.js'
import { tokenLoss } from './token-loss.js'

/**
 * Soft adaptive policy optimization: a sigmoid gate in place of the clip.
 *
 *     f(r) = (4 / tau) s(tau (r - 1)), tau = positive where A > 0, else negative;   l = -f(r) A
 *     d l / d lp = -4 q (1 - q) r A,  q = s(tau (r - 1));   at r = 1 this is -A, the value -(2 / tau) A
 *
 * Source: SAPO, arXiv 2511.20347.
 *
 * @example const loss = sapoLoss({ temperaturePositive: 1, temperatureNegative: 1.05 })
 */
export function sapoLoss(options: { temperaturePositive: number; temperatureNegative: number }): Loss {
  return tokenLoss('sapo', ({ logprobs, oldLogprobs, advantages }, t) => {
    const { value: ratio, slope } = clampedExp(logprobs[t] - oldLogprobs[t])
    const tau = advantages[t] > 0 ? options.temperaturePositive : options.temperatureNegative
    const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)))
    return { value: (-4 / tau) * gate * advantages[t], slope: -4 * gate * (1 - gate) * slope * advantages[t], ratio }
  })
}

const temperatures = {
  /** tau where the advantage is positive. */
  temperaturePositive: z.number().positive().default(1),
  /** tau elsewhere; larger decays sooner. */
  temperatureNegative: z.number().positive().default(1.05),
}

const about = {
  family: 'policy-gradient' as const,
  standing: 'source' as const,
  rows: [],
  formula: 'l = -(4 / tau) sigmoid(tau (r - 1)) A',
  reference: 'SAPO, arXiv 2511.20347',
}

export const sapoPart = objective({
  ...about,
  kind: 'loss',
  name: 'sapo-loss',
  summary: 'A sigmoid gate on the ratio in place of a clip.',
  use: 'Smooth off-policy decay on both sides. Values do not compare with those of the clipped loss.',
  options: z.strictObject(temperatures),
  make: sapoLoss,
})

export const sapo = objective({
  ...about,
  kind: 'method',
  name: 'sapo',
  summary: 'Group-relative advantages with a soft gate on the ratio.',
  use: 'Several updates a batch, where hard clipping makes training uneven.',
  options: z.strictObject({
    ...groupOptions,
    ...temperatures,
    ...klOptions,
    ...aggregationOptions('sequence-mean-token-mean'),
  }),
  make: (options) => method('sapo', options, { advantage: groupAdvantages(options), loss: sapoLoss(options) }),
})
