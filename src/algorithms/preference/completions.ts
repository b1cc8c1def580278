import { MyriadError } from '../../core/index.js'
import type { Loss, LossResult, LossTokens, SequenceInfo } from '../../policy/types.js'

/** The trainable tokens of one sequence, as sums of logprobs in nats. */
export interface Completion {
  info: SequenceInfo
  /** Its tokens are those from `start` on, `length` of them (at least 1). */
  start: number
  length: number
  /** s: under the policy. */
  logprob: number
  /** Under the policy before the update. */
  old: number
  /** Under the reference; 0 where the batch holds none. */
  reference: number
}

/** A comparison that was decided. */
export interface Pair {
  chosen: Completion
  rejected: Completion
}

/** How much token k of a completion counts in its sums; `shared` is the shortest length among what it is compared with. */
export type TokenFactor = (k: number, shared: number) => number

/** s - s_ref: the log-ratio of a completion. */
export function logRatio(completion: Completion): number {
  return completion.logprob - completion.reference
}

/**
 * Sums of logprobs by sequence. Sequences without a trainable token are not in a batch, so they are not here either.
 *
 * @throws MyriadError 'usage' when the batch does not say what its sequences are
 * @example completionsOf(tokens).map(({ logprob, length }) => logprob / length)
 */
export function completionsOf(tokens: LossTokens, factor?: TokenFactor): Completion[] {
  const { segments, sequences, logprobs, oldLogprobs, referenceLogprobs } = tokens
  if (!sequences) throw new MyriadError('usage', 'a preference loss needs to know of each sequence what it is: info')
  const completions: Completion[] = []
  for (let t = 0; t < segments.length; t++) {
    if (t === 0 || segments[t] !== segments[t - 1])
      completions.push({ info: sequences[segments[t]], start: t, length: 0, logprob: 0, old: 0, reference: 0 })
    completions.at(-1)!.length++
  }
  const shared = factor ? sharedLengths(completions) : []
  completions.forEach((completion, i) => {
    for (let k = 0; k < completion.length; k++) {
      const t = completion.start + k
      const share = factor ? factor(k, shared[i]) : 1
      completion.logprob += share * logprobs[t]
      completion.old += share * oldLogprobs[t]
      completion.reference += share * (referenceLogprobs?.[t] ?? 0)
    }
  })
  return completions
}

/** The shortest length among the completions that share a pair with each. */
export function sharedLengths(completions: readonly Completion[]): number[] {
  const shortest = new Map<number, number>()
  for (const { info, length } of completions)
    if (info.pair !== undefined) shortest.set(info.pair, Math.min(length, shortest.get(info.pair) ?? length))
  return completions.map(({ info, length }) => shortest.get(info.pair ?? -1) ?? length)
}

/** Completions that share a pair, in order of first appearance. */
export function rankingsOf(completions: readonly Completion[]): Completion[][] {
  const rankings = new Map<number, Completion[]>()
  for (const completion of completions) {
    const { pair } = completion.info
    if (pair === undefined) continue
    if (!rankings.has(pair)) rankings.set(pair, [])
    rankings.get(pair)!.push(completion)
  }
  return [...rankings.values()]
}

/** Pairs of which both members are here; an empty completion leaves its partner without comparison. */
export function pairsOf(completions: readonly Completion[]): Pair[] {
  return rankingsOf(completions).flatMap((members) => {
    const chosen = members.find(({ info }) => info.role === 'chosen')
    const rejected = members.find(({ info }) => info.role === 'rejected')
    return chosen && rejected ? [{ chosen, rejected }] : []
  })
}

/** What a loss on whole sequences answers before it is spread to tokens. */
export interface SequenceTerms {
  value: number
  /** d value / d s of each completion; what is not here has none. */
  slopes: ReadonlyMap<Completion, number>
  /** d value / d logprob beside that: [tokens]. */
  tokenSlopes?: Float64Array
  metrics: Record<string, number>
}

export interface SequenceLossOptions {
  name: string
  /** Refuse a batch without reference logprobs. */
  reference: boolean
  tokenFactor?: TokenFactor
  evaluate: (completions: readonly Completion[], tokens: LossTokens) => SequenceTerms
}

/**
 * A loss on sums of logprobs of whole sequences. The derivative of a sum goes to each of its tokens alike (times the token's
 * factor). It is a mean over pairs, rankings or sequences as the loss says; aggregation weights are not read.
 *
 * @throws MyriadError (when evaluated) 'usage' without the reference it needs, 'numeric' when value or slopes overflow
 * @example sequenceLoss({ name: 'mine', reference: false, evaluate: (completions) => ... })
 */
export function sequenceLoss(options: SequenceLossOptions): Loss {
  return { name: options.name, evaluate: (tokens) => evaluateSequences(options, tokens) }
}

function evaluateSequences(options: SequenceLossOptions, tokens: LossTokens): LossResult {
  const { name, reference, tokenFactor } = options
  const gradient = new Float64Array(tokens.logprobs.length)
  if (gradient.length === 0) return { value: 0, gradient, metrics: {} }
  if (reference && !tokens.referenceLogprobs)
    throw new MyriadError('usage', `"${name}" compares with a reference but the batch holds no reference logprobs`)
  const completions = completionsOf(tokens, tokenFactor)
  const { value, slopes, tokenSlopes, metrics } = options.evaluate(completions, tokens)
  if (tokenSlopes) gradient.set(tokenSlopes)
  const shared = tokenFactor ? sharedLengths(completions) : []
  completions.forEach((completion, i) => {
    const slope = slopes.get(completion) ?? 0
    for (let k = 0; k < completion.length; k++)
      gradient[completion.start + k] += tokenFactor ? slope * tokenFactor(k, shared[i]) : slope
  })
  if (!Number.isFinite(value) || !gradient.every(Number.isFinite)) throw notFinite(name, value, completions)
  return { value, gradient, metrics }
}

function notFinite(name: string, value: number, completions: readonly Completion[]): MyriadError {
  const largest = completions.reduce((a, b) => (Math.abs(logRatio(b)) > Math.abs(logRatio(a)) ? b : a))
  return new MyriadError(
    'numeric',
    `${name} is not finite (value ${value}); the largest log-ratio is ${logRatio(largest)}, over ${largest.length} tokens`,
  )
}
