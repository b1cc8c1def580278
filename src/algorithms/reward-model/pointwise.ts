import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid, softplus, type Slope } from '../preference/logistic.js'
import { finiteResult, type ScoreBatch, type ScoreLoss } from './types.js'

/** (score - label)^2. */
export function squaredError(score: number, label: number): Slope {
  const error = score - label
  return { value: error * error, slope: 2 * error }
}

/** -label log sig(score) - (1 - label) log sig(-score), of a label in [0, 1]; slope sig(score) - label. */
export function binaryCrossEntropy(score: number, label: number): Slope {
  return { value: label * softplus(-score) + (1 - label) * softplus(score), slope: sigmoid(score) - label }
}

/**
 * The mean, over every label of the batch that is not NaN, of the loss of its score. Heads that are labelled more count more,
 * as in HelpSteer's. A batch without a label has value 0.
 *
 * @throws MyriadError (when evaluated) 'usage' when items have other labels than there are heads, 'numeric' on overflow
 * @example pointwiseLoss('regression', squaredError)
 */
export function pointwiseLoss(name: string, of: (score: number, label: number) => Slope): ScoreLoss {
  return {
    name,
    evaluate({ scores, heads = 1, items }: ScoreBatch) {
      const labels = items.flatMap((item, i) => {
        const row = item.labels ?? Array<number>(heads).fill(NaN)
        if (row.length !== heads)
          throw new MyriadError('usage', `"${name}": item ${i} has ${row.length} labels, the model ${heads} heads`)
        return [...row]
      })
      if (labels.length !== scores.length)
        throw new MyriadError('usage', `"${name}": ${scores.length} scores of ${items.length} items of ${heads} heads`)
      const count = labels.filter((label) => !Number.isNaN(label)).length
      const gradient = new Float64Array(scores.length)
      let value = 0
      labels.forEach((label, i) => {
        if (Number.isNaN(label)) return
        const term = of(scores[i], label)
        value += term.value / count
        gradient[i] = term.slope / count
      })
      return finiteResult(name, { value, gradient, metrics: { labels: count } })
    },
  }
}

/**
 * One score out of several heads: a weighted sum, with the derivative by each head its weight.
 *
 * @throws MyriadError 'usage' when a head has no weight
 * @example mergeHeads([3, 1], [1, -0.5]) // 2.5
 */
export function mergeHeads(scores: readonly number[], weights: readonly number[]): number {
  if (scores.length !== weights.length)
    throw new MyriadError('usage', `${scores.length} heads have ${weights.length} weights`)
  return scores.reduce((sum, score, k) => sum + weights[k] * score, 0)
}

export const regressionReward = objective({
  kind: 'function',
  name: 'regression',
  family: 'reward-model',
  summary: 'Scores of one or several attributes are regressed onto ratings (HelpSteer).',
  formula: 'L = sum m (R - y)^2 / sum m,  over items and heads, m: labelled',
  reference: 'HelpSteer, arXiv 2311.09528; NeMo-Aligner (labels -100 left out; here NaN)',
  standing: 'source',
  use: 'Ratings instead of comparisons. A head that is never labelled must have weight 0 in mergeHeads.',
  rows: [],
  options: z.strictObject({}),
  make: () => pointwiseLoss('regression', squaredError),
})

export const binaryReward = objective({
  kind: 'function',
  name: 'binary',
  family: 'reward-model',
  summary: 'A classifier of right and wrong replies; its logit is the reward.',
  formula: 'L = mean[-y log sig(R) - (1 - y) log sig(-R)]',
  reference: 'cross-entropy of a Bernoulli variable; outcome verifiers, arXiv 2110.14168',
  standing: 'source',
  use: 'Replies labelled one by one, also softly, such as by pass rates. Several heads: several questions.',
  rows: ['B144'],
  options: z.strictObject({}),
  make: () => pointwiseLoss('binary', binaryCrossEntropy),
})
