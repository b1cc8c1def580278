import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { sigmoid, softplus } from '../preference/logistic.js'
import { comparisonsOf, finiteResult, oneHead, type ScoreLoss } from './types.js'

export interface BradleyTerryOptions {
  /** Weight of the squared sum of both scores, which fixes their level (0). */
  centering?: number
  /** How likely a label is to be wrong, in [0, 1/2) (0). */
  labelSmoothing?: number
  /** Margins are multiplied by it (1). */
  marginScale?: number
  /** `subtract` a margin from the difference, or `scale` the loss of the pair by it (NeMo-Aligner) ('subtract'). */
  marginUse?: 'subtract' | 'scale'
}

/** One comparison: value and derivatives by both scores. */
export interface ScorePair {
  value: number
  better: number
  worse: number
}

/**
 * Bradley-Terry loss of one pair. With d = better - worse - margin and q the probability that the label is right:
 *
 *     l = -q log sig(d) - (1 - q) log sig(-d) + c (better + worse)^2
 *     dl/dbetter = sig(d) - q + 2 c (better + worse),   dl/dworse = q - sig(d) + 2 c (better + worse)
 *
 * A tie is q = 1/2. Sources: Bradley and Terry 1952; margin: arXiv 2307.09288; centering: 2312.09244.
 *
 * @example bradleyTerryPair(1, 0) // { value: 0.313, better: -0.269, worse: 0.269 }
 */
export function bradleyTerryPair(
  better: number,
  worse: number,
  options: { margin?: number; probability?: number; centering?: number } = {},
): ScorePair {
  const { margin = 0, probability = 1, centering = 0 } = options
  const d = better - worse - margin
  const level = better + worse
  const slope = sigmoid(d) - probability
  return {
    value: probability * softplus(-d) + (1 - probability) * softplus(d) + centering * level * level,
    better: slope + 2 * centering * level,
    worse: -slope + 2 * centering * level,
  }
}

/**
 * The mean over pairs of bradleyTerryPair. A pair is a comparison of two items, of rank 0 and more; two of equal rank are a tie.
 * Margins and probabilities are read from the item of rank 0; smoothing e makes a probability q into q (1 - 2 e) + e.
 *
 * @throws MyriadError (when evaluated) 'usage' on comparisons of other than two, 'numeric' on overflow
 * @example bradleyTerryLoss({ centering: 0.01 })
 */
export function bradleyTerryLoss(options: BradleyTerryOptions = {}): ScoreLoss {
  const { centering = 0, labelSmoothing = 0, marginScale = 1, marginUse = 'subtract' } = options
  const name = 'bradley-terry'
  return {
    name,
    evaluate(batch) {
      const scores = oneHead(name, batch)
      const { items } = batch
      const gradient = new Float64Array(scores.length)
      const pairs = comparisonsOf(items)
      let [value, accuracy, difference] = [0, 0, 0]
      for (const members of pairs) {
        if (members.length !== 2)
          throw new MyriadError(
            'usage',
            `"${name}" compares two; one comparison has ${members.length}: use plackett-luce`,
          )
        const [i, j] =
          (items[members[0]].rank ?? 0) <= (items[members[1]].rank ?? 1) ? members : [members[1], members[0]]
        const { margin = 0, probability } = items[i]
        const isTie = items[i].rank !== undefined && items[i].rank === items[j].rank
        const q = isTie ? 0.5 : (probability ?? 1)
        const size = margin * marginScale
        const terms = bradleyTerryPair(scores[i], scores[j], {
          margin: marginUse === 'subtract' ? size : 0,
          probability: q * (1 - 2 * labelSmoothing) + labelSmoothing,
        })
        const weight = (marginUse === 'scale' ? size : 1) / pairs.length
        const level = scores[i] + scores[j]
        const pull = (2 * centering * level) / pairs.length
        value += weight * terms.value + (centering * level * level) / pairs.length
        gradient[i] += weight * terms.better + pull
        gradient[j] += weight * terms.worse + pull
        accuracy += scores[i] > scores[j] ? 1 / pairs.length : 0
        difference += (scores[i] - scores[j]) / pairs.length
      }
      return finiteResult(name, {
        value,
        gradient,
        metrics: pairs.length === 0 ? {} : { accuracy, margin: difference },
      })
    },
  }
}

export const bradleyTerry = objective({
  kind: 'function',
  name: 'bradley-terry',
  family: 'reward-model',
  summary: 'The better of two replies scores higher, with margins, unsure labels and a fixed level.',
  formula: 'L = mean[-q log sig(d) - (1 - q) log sig(-d)] + c mean[(R_w + R_l)^2],  d = R_w - R_l - m',
  reference: 'Bradley and Terry 1952; TRL RewardTrainer, OpenRLHF, NeMo-Aligner; arXiv 2307.09288 (m), 2312.09244 (c)',
  standing: 'source',
  use: 'The usual loss of a reward model. Without centering only differences of scores mean something.',
  rows: ['A005', 'A015', 'A022', 'A043', 'B046', 'B154', 'B171', 'B197', 'B220'],
  options: z.strictObject({
    centering: z.number().min(0).default(0),
    labelSmoothing: z.number().min(0).lt(0.5).default(0),
    marginScale: z.number().min(0).default(1),
    marginUse: z.enum(['subtract', 'scale']).default('subtract'),
  }),
  make: bradleyTerryLoss,
})
