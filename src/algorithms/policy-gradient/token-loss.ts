import { MyriadError } from '../../core/index.js'
import type { Loss, LossTokens } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'

/** What one token adds to a loss before its weight. */
export interface Term {
  value: number
  /** d value / d logprob. */
  slope: number
  /** Whether the ratio was held back; counted in the metric clipFraction. */
  clipped?: boolean
  /** Averaged in the metric ratio. */
  ratio?: number
}

/**
 * A loss that is the sum over tokens of c_t l_t, each l_t a function of that token alone.
 *
 * @throws MyriadError 'numeric' from `evaluate` where a value or slope is not finite
 * @example tokenLoss('linear', ({ logprobs, advantages }, t) => ({ value: -advantages[t] * logprobs[t], slope: -advantages[t] }))
 */
export function tokenLoss(name: string, term: (tokens: LossTokens, t: number) => Term): Loss {
  return {
    name,
    evaluate: (tokens) => {
      const { logprobs, weights } = tokens
      const count = logprobs.length
      const gradient = new Float64Array(count)
      const metrics: Record<string, number> = {}
      let value = 0
      for (let t = 0; t < count; t++) {
        const { value: loss, slope, clipped, ratio } = term(tokens, t)
        value += weights[t] * loss
        gradient[t] = weights[t] * slope
        if (!Number.isFinite(value) || !Number.isFinite(gradient[t])) throw notFinite(name, tokens, t)
        if (clipped !== undefined) metrics.clipFraction = (metrics.clipFraction ?? 0) + Number(clipped) / count
        if (ratio !== undefined) metrics.ratio = (metrics.ratio ?? 0) + ratio / count
      }
      return { value, gradient, metrics }
    },
  }
}

/** The trainable tokens of one sequence: from `start` to before `end`. */
export interface Span {
  start: number
  end: number
  /** Index of the sequence. */
  segment: number
  length: number
  /** C_i: the sum of the weights of its tokens. */
  weight: number
  /** A_i: the mean of the advantages of its tokens. */
  advantage: number
}

/** The sequences of a batch, in order. */
export function spansOf({ segments, weights, advantages }: LossTokens): Span[] {
  const spans: Span[] = []
  for (let start = 0, end = 0; start < segments.length; start = end) {
    let [weight, advantage] = [0, 0]
    for (; end < segments.length && segments[end] === segments[start]; end++) {
      weight += weights[end]
      advantage += advantages[end]
    }
    const length = end - start
    spans.push({ start, end, segment: segments[start], length, weight, advantage: advantage / length })
  }
  return spans
}

/** What one sequence adds to a loss before its weight. */
export interface SequenceTerm {
  value: number
  /** d value / d logprob of each token, or one number for all of them. */
  slopes: number | readonly number[]
  clipped?: boolean
  ratio?: number
}

/**
 * A loss that is the sum over sequences of C_i l_i, where C_i = sum_t c_it. With the aggregation
 * 'sequence-mean-token-mean' C_i is 1/N, so the loss is the mean over sequences; with 'token-mean' long ones weigh more.
 *
 * @throws MyriadError 'numeric' from `evaluate` where a value or slope is not finite
 */
export function sequenceLoss(name: string, term: (tokens: LossTokens, span: Span) => SequenceTerm): Loss {
  return {
    name,
    evaluate: (tokens) => {
      const gradient = new Float64Array(tokens.logprobs.length)
      const metrics: Record<string, number> = {}
      const spans = spansOf(tokens)
      let value = 0
      for (const span of spans) {
        const { value: loss, slopes, clipped, ratio } = term(tokens, span)
        value += span.weight * loss
        for (let t = span.start; t < span.end; t++) {
          gradient[t] = span.weight * (typeof slopes === 'number' ? slopes : slopes[t - span.start])
          if (!Number.isFinite(value) || !Number.isFinite(gradient[t])) throw notFinite(name, tokens, t)
        }
        if (clipped !== undefined) metrics.clipFraction = (metrics.clipFraction ?? 0) + Number(clipped) / spans.length
        if (ratio !== undefined) metrics.ratio = (metrics.ratio ?? 0) + ratio / spans.length
      }
      return { value, gradient, metrics }
    },
  }
}

/** A constant factor for every token: what a stop-gradient holds. [tokens] */
export type Multiplier = (tokens: LossTokens) => { factors: Float64Array; metrics?: Record<string, number> }

/**
 * Likelihood with constant weights, sum_t -c_t sg[w_t] A_t lp_t: the gradient is -c w A exactly, while the value moves with
 * lp and says little. w is computed from the policy as it is and never differentiated.
 *
 * @example weightedLikelihood('rapid', (tokens) => ({ factors: ratios(tokens).map((r) => Math.min(r, 2)) }))
 */
export function weightedLikelihood(name: string, multiplier: Multiplier): Loss {
  return {
    name,
    evaluate: (tokens) => {
      const { factors, metrics = {} } = multiplier(tokens)
      const { value, gradient } = tokenLoss(name, ({ logprobs, advantages }, t) => {
        const slope = -factors[t] * advantages[t]
        return { value: slope * logprobs[t], slope }
      }).evaluate(tokens)
      return { value, gradient, metrics }
    },
  }
}

/** exp(lp - olp), or exp(lp - blp) for 'behaviour', log-ratios clamped. [tokens] */
export function ratiosTo(tokens: LossTokens, policy: 'old' | 'behaviour' = 'old'): Float64Array {
  const base = policy === 'behaviour' ? (tokens.behaviourLogprobs ?? tokens.oldLogprobs) : tokens.oldLogprobs
  return tokens.logprobs.map((logprob, t) => clampedExp(logprob - base[t]).value)
}

/** Mean of numbers, 0 of none. */
export function meanOf(values: ArrayLike<number>): number {
  let mean = 0
  for (let i = 0; i < values.length; i++) mean += values[i] / values.length
  return mean
}

function notFinite(name: string, tokens: LossTokens, t: number): MyriadError {
  return new MyriadError(
    'numeric',
    `${name} loss is not finite at token ${t} of sequence ${tokens.segments[t]}: logprob ${tokens.logprobs[t]}, ` +
      `old ${tokens.oldLogprobs[t]}, advantage ${tokens.advantages[t]}, weight ${tokens.weights[t]}`,
  )
}
