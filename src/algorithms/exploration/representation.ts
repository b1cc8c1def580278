import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { reward } from '../multi/statistics.js'
import { objective, type Shaping } from '../objective.js'
import { featureOptions, hashedNgrams, repliesOf, type Featurizer } from './features.js'

/**
 * Elliptical bonuses: how much each sample's features reach into directions that the group hardly covers. With h_i centred
 * within the group:
 *
 *     Lambda = ridge I + sum_i h_i h_i^T,   b_i = h_i^T Lambda^-1 h_i         from 0 to below 1
 *     b_i / (1 - b_i)                                                         with `leaveOneOut`: sample i is not in Lambda
 *
 * Solved in the space of samples, as the diagonal of K (K + ridge I)^-1 with K_ij = h_i . h_j.
 * Source: RepExp, arXiv 2510.11686, where h are mean last hidden states of a frozen model, randomly projected.
 *
 * @param features [samples][dimensions]
 * @throws MyriadError 'usage' on features of unequal lengths or a ridge that is not positive
 * @example ellipticalBonus([[1, 0], [1, 0], [0, 1]], { ridge: 0.01 })
 */
export function ellipticalBonus(
  features: readonly ArrayLike<number>[],
  options: { ridge?: number; leaveOneOut?: boolean } = {},
): number[] {
  const { ridge = 0.01, leaveOneOut = false } = options
  const n = features.length
  if (n === 0) return []
  const dimensions = features[0].length
  if (!(ridge > 0)) throw new MyriadError('usage', `the ridge must be positive, not ${ridge}`)
  if (features.some(({ length }) => length !== dimensions))
    throw new MyriadError('usage', 'all samples need features of one length')
  const centred = features.map((row) => Float64Array.from(row))
  for (let d = 0; d < dimensions; d++) {
    const mean = centred.reduce((sum, row) => sum + row[d] / n, 0)
    for (const row of centred) row[d] -= mean
  }
  const products = centred.map((a) => centred.map((b) => a.reduce((sum, value, d) => sum + value * b[d], 0)))
  const solve = choleskySolver(products.map((row, i) => row.map((value, j) => value + (i === j ? ridge : 0))))
  return products.map((row, i) => {
    const bonus = Math.max(0, solve(row)[i])
    return leaveOneOut ? bonus / (1 - bonus) : bonus
  })
}

/** Solves A x = b for a symmetric positive definite A. */
function choleskySolver(a: readonly (readonly number[])[]): (b: readonly number[]) => number[] {
  const n = a.length
  const lower = a.map((row) => row.map(() => 0))
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let rest = a[i][j]
      for (let k = 0; k < j; k++) rest -= lower[i][k] * lower[j][k]
      if (i === j && !(rest > 0))
        throw new MyriadError('numeric', 'the features are not finite, or too large for the ridge')
      lower[i][j] = i === j ? Math.sqrt(rest) : rest / lower[j][j]
    }
  return (b) => {
    const x = [...b]
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) x[i] -= lower[i][k] * x[k]
      x[i] /= lower[i][i]
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) x[i] -= lower[k][i] * x[k]
      x[i] /= lower[i][i]
    }
    return x
  }
}

interface RepresentationOptions {
  coefficient: number
  ridge: number
  leaveOneOut: boolean
}

/**
 * Adds elliptical bonuses to the rewards of groups in which at least one trajectory succeeded.
 *
 * @param featurize features of all that the policy said
 */
export function representationExploration(options: RepresentationOptions, featurize: Featurizer): Shaping {
  return (groups) => {
    const bonuses = groups.map(({ trajectories }) =>
      trajectories.some(({ outcome }) => outcome.success)
        ? ellipticalBonus(
            trajectories.map((trajectory) => featurize(repliesOf(trajectory))),
            options,
          )
        : trajectories.map(() => 0),
    )
    return {
      groups: reward(groups, 'novelty', (trajectory, g, i) => trajectory.reward + options.coefficient * bonuses[g][i]),
    }
  }
}

const options = {
  ...featureOptions,
  coefficient: z.number().default(0.01),
  /** lambda. */
  ridge: z.number().positive().default(0.01),
  /** Leave a sample out of the covariance it is measured by. */
  leaveOneOut: z.boolean().default(false),
}

export const representationPart = objective({
  kind: 'shaping',
  name: 'representation-novelty',
  family: 'exploration',
  summary: "Rewards replies whose features reach into directions that the group's other replies do not.",
  formula: 'R_i + beta h_i^T (lambda I + sum_j h_j h_j^T)^-1 h_i, h centred in the group; 0 where none succeeded',
  reference: 'RepExp, arXiv 2510.11686; ours: h are hashed character n-grams of the replies, not hidden states',
  standing: 'ours',
  use: 'Variety of solutions (pass@k). The features know spelling only; from code any featurizer can be given.',
  rows: ['B213'],
  options: z.strictObject(options),
  make: (given) => representationExploration(given, (text) => hashedNgrams(text, given.dimensions, given.gram)),
})

export const representationMethod = objective({
  ...representationPart,
  kind: 'method',
  name: 'rep-exp',
  options: z.strictObject({ ...groupMethodOptions, ...options }),
  make: (given) =>
    groupMethod('rep-exp', given, {
      shaping: [{ name: 'representation-novelty', run: representationPart.make(given) }],
    }),
})
