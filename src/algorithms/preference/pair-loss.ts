import type { Loss } from '../../policy/types.js'
import { logRatio, pairsOf, sequenceLoss, type Pair, type SequenceTerms, type TokenFactor } from './completions.js'

/** The loss of one pair and its derivatives by the sums of logprobs of its members. */
export interface PairTerms {
  value: number
  chosen: number
  rejected: number
}

export interface PairLossOptions {
  name: string
  /** Refuse a batch without reference logprobs. */
  reference: boolean
  compare: (pair: Pair) => PairTerms
  /** Weight of the mean negative logprob of a chosen token, over all chosen tokens of the batch (0). */
  nll?: number
  tokenFactor?: TokenFactor
}

/**
 * The mean over pairs of a loss of two completions, plus `nll` times the token mean of -logprob over the chosen ones. Pairs
 * of which a member is missing or empty do not count.
 *
 * @example pairLoss({ name: 'mine', reference: true, compare: (pair) => ({ value, chosen, rejected }) })
 */
export function pairLoss(options: PairLossOptions): Loss {
  const { name, reference, compare, nll = 0, tokenFactor } = options
  return sequenceLoss({
    name,
    reference,
    tokenFactor,
    evaluate(completions, tokens) {
      const pairs = pairsOf(completions)
      const terms = meanOverPairs(pairs, compare)
      if (nll === 0 || pairs.length === 0) return terms
      const chosen = pairs.map((pair) => pair.chosen)
      const count = chosen.reduce((sum, { length }) => sum + length, 0)
      const tokenSlopes = new Float64Array(tokens.logprobs.length)
      let mean = 0
      for (const { start, length } of chosen)
        for (let t = start; t < start + length; t++) {
          mean -= tokens.logprobs[t] / count
          tokenSlopes[t] -= nll / count
        }
      return { ...terms, value: terms.value + nll * mean, tokenSlopes, metrics: { ...terms.metrics, nll: mean } }
    },
  })
}

/** Metrics are means over pairs; accuracy is the share whose chosen log-ratio is the larger, active the share that teaches. */
export function meanOverPairs(pairs: readonly Pair[], compare: PairLossOptions['compare']): SequenceTerms {
  const slopes = new Map<Pair['chosen'], number>()
  const add = (completion: Pair['chosen'], slope: number): void => {
    slopes.set(completion, (slopes.get(completion) ?? 0) + slope / pairs.length)
  }
  let [value, accuracy, margin, chosenLogRatio, active] = [0, 0, 0, 0, 0]
  for (const pair of pairs) {
    const terms = compare(pair)
    value += terms.value / pairs.length
    add(pair.chosen, terms.chosen)
    add(pair.rejected, terms.rejected)
    const [won, lost] = [logRatio(pair.chosen), logRatio(pair.rejected)]
    active += terms.chosen !== 0 || terms.rejected !== 0 ? 1 / pairs.length : 0
    accuracy += won > lost ? 1 / pairs.length : 0
    margin += (won - lost) / pairs.length
    chosenLogRatio += won / pairs.length
  }
  return { value, slopes, metrics: pairs.length === 0 ? {} : { accuracy, margin, chosenLogRatio, active } }
}
