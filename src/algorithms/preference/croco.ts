import { z } from 'zod'
import { objective } from '../objective.js'
import { pairGroups, pairingOptions } from './comparisons.js'
import { marginLoss } from './dpo.js'
import { logisticMargin } from './margins.js'
import { preferenceMethod } from './method.js'

export const croco = objective({
  kind: 'method',
  name: 'croco',
  family: 'preference',
  summary: 'DPO with a controlled gap: the best reply against the one whose reward is nearest to mean - 2 std (CroCo).',
  formula: 'w = argmax R;  l = argmin |R - (mean - 2 std)| among R < R_w;  L = -log sig(beta h)',
  reference: 'arXiv 2605.26293 and its repository (pool of 64 replies, population std); its scope "in-language"',
  standing: 'source',
  use: 'Large groups scored by a reward model, whose worst replies are outliers that teach little. In small ones it is best-worst.',
  rows: ['A054'],
  options: z.strictObject({
    beta: z.number().positive().default(0.1),
    minimumGap: pairingOptions.minimumGap,
    truncated: pairingOptions.truncated,
  }),
  make: ({ beta, minimumGap, truncated }) =>
    preferenceMethod({
      name: 'croco',
      loss: marginLoss({ name: 'dpo', link: (x) => logisticMargin(x, 0), beta }),
      needs: { reference: 'initial' },
      truncated,
      compare: (groups, context) => pairGroups(groups, { pairing: 'near-deviation', minimumGap }, context),
    }),
})
