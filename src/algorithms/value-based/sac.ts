import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { legalActions, logSoftmax, requireFinite, softmax, type Legal, type Row, type ValueLoss } from './rows.js'

/** The least of several critics, action by action. */
export function leastOf(critics: readonly Row[]): Float64Array {
  return Float64Array.from(critics[0], (_, action) => Math.min(...critics.map((row) => row[action])))
}

/** Entropy of a policy over its legal actions, in nats. */
export function policyEntropy(logits: Row, legal?: Legal): number {
  const logprobs = logSoftmax(logits, legal)
  return 0 - legalActions(logits, legal).reduce((sum, a) => sum + Math.exp(logprobs[a]) * logprobs[a], 0)
}

/**
 * The soft value of a state, V = sum_a pi_a (min_i Qbar_i(a) - alpha log pi_a); a critic's target is r + discount V. 0 where
 * no action is legal.
 *
 * Source: discrete SAC, arXiv 1910.07207.
 *
 * @param critics values of the target critics: [critics][actions]
 * @example softValue([0, 0], [[1, 3]], 0) // 2
 */
export function softValue(logits: Row, critics: readonly Row[], alpha: number, legal?: Legal): number {
  const logprobs = logSoftmax(logits, legal)
  const least = leastOf(critics)
  return legalActions(logits, legal).reduce(
    (sum, a) => sum + (logprobs[a] === -Infinity ? 0 : Math.exp(logprobs[a]) * (least[a] - alpha * logprobs[a])),
    0,
  )
}

/**
 * The actor's loss in one state, J = sum_a pi_a (alpha log pi_a - min_i Q_i(a)), and its gradient with respect to logits:
 * pi_a [(alpha log pi_a - Q_a) - J].
 *
 * @param critics constants: [critics][actions]
 */
export function actorLoss(logits: Row, critics: readonly Row[], alpha: number, legal?: Legal): ValueLoss {
  const gradient = new Float64Array(logits.length)
  const actions = legalActions(logits, legal)
  if (actions.length === 0) return { value: 0, gradient }
  const logprobs = logSoftmax(logits, legal)
  const least = leastOf(critics)
  const cost = (a: number): number => (alpha === 0 ? 0 : alpha * Math.max(logprobs[a], -1e300)) - least[a]
  const value = actions.reduce((sum, a) => sum + Math.exp(logprobs[a]) * cost(a), 0)
  requireFinite("the actor's loss", value)
  for (const a of actions) gradient[a] = Math.exp(logprobs[a]) * (cost(a) - value)
  return { value, gradient }
}

/**
 * The temperature's loss, alpha mean(H - H_target) over states with more than one legal action, and its derivative with
 * respect to log alpha, which is the same number. It lowers alpha where entropy is above its target.
 *
 * @param states entropies and numbers of legal actions; the target of a state is `share` log(actions)
 * @param share 0.98 in discrete SAC
 */
export function temperatureLoss(
  logAlpha: number,
  states: readonly { entropy: number; actions: number }[],
  share = 0.98,
): { value: number; gradient: number } {
  const free = states.filter(({ actions }) => actions > 1)
  if (free.length === 0) return { value: 0, gradient: 0 }
  const gap = free.reduce((sum, { entropy, actions }) => sum + (entropy - share * Math.log(actions)) / free.length, 0)
  const value = requireFinite("the temperature's loss", Math.exp(logAlpha) * gap)
  return { value, gradient: value }
}

/**
 * Log-probabilities of actions that are texts: the sums of their tokens' logprobs, or their means with `average`, made to sum
 * to 1 over the list. Sums favour short texts.
 *
 * @param tokens logprobs of each action's tokens: [actions][tokens]
 * @throws MyriadError 'usage' on an action without tokens
 * @example textActionLogprobs([[-1, -1], [-2]]) // [log 0.5, log 0.5]
 */
export function textActionLogprobs(tokens: readonly Row[], options: { average?: boolean } = {}): Float64Array {
  return logSoftmax(
    tokens.map((logprobs) => {
      if (logprobs.length === 0) throw new MyriadError('usage', 'an action must have at least one token')
      const sum = Array.from(logprobs).reduce((total, logprob) => total + logprob, 0)
      return options.average ? sum / logprobs.length : sum
    }),
  )
}

export const discreteSac = objective({
  kind: 'function',
  name: 'discrete-sac',
  family: 'value-based',
  summary:
    'Soft actor-critic over listed actions: two critics, a policy that values entropy, a temperature that adapts.',
  formula:
    'y = r + gamma d sum_a pi_a [min Qbar - alpha log pi_a];  J = sum_a pi_a (alpha log pi_a - min Q);  dlog alpha = alpha (H - H*)',
  reference: 'arXiv 1910.07207; on texts SAC-GLAM, arXiv 2410.12481 (how it mixes its losses: not known here)',
  standing: 'second-hand',
  use: 'Off-policy agents with listed actions, with hindsight for sparse goals. Critics by the half-square td loss.',
  rows: ['A096'],
  options: z.strictObject({
    /** H* as a share of log(actions). */
    targetShare: z.number().min(0).max(1).default(0.98),
  }),
  make: ({ targetShare }) => ({
    value: softValue,
    actor: actorLoss,
    policy: softmax,
    temperature: (logAlpha: number, states: readonly { entropy: number; actions: number }[]) =>
      temperatureLoss(logAlpha, states, targetShare),
  }),
})
