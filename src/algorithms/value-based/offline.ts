import { z } from 'zod'
import { objective } from '../objective.js'
import { logSumExp, requireFinite, softmax, type Legal, type Row, type ValueLoss } from './rows.js'

/**
 * Expectile regression of values on what actions of the data are worth: mean of |tau - 1[u < 0]| u^2, u = Q - V, and
 * dV = -2 |tau - 1[u < 0]| u / n. At 0.5 V is the mean of Q, towards 1 its maximum over the data.
 *
 * Source: IQL, arXiv 2110.06169.
 *
 * @param values V, learnt; @param q constants (the least of the target critics): [items]
 */
export function expectileLoss(values: Row, q: Row, tau: number): ValueLoss {
  const n = values.length
  let value = 0
  const gradient = Float64Array.from(values, (v, i) => {
    const u = q[i] - v
    const weight = (u < 0 ? 1 - tau : tau) / n
    value += weight * u * u
    return -2 * weight * u
  })
  return { value: requireFinite('the expectile loss', value), gradient }
}

/** Mean of (y - Q)^2 and dQ = 2 (Q - y) / n; y = r + discount V(s') for IQL. */
export function squareLoss(predictions: Row, targets: Row): ValueLoss {
  const n = predictions.length
  let value = 0
  const gradient = Float64Array.from(predictions, (prediction, i) => {
    const error = prediction - targets[i]
    value += (error * error) / n
    return (2 * error) / n
  })
  return { value: requireFinite('the square loss', value), gradient }
}

/**
 * Advantage-weighted regression: mean of -w lp, w = min(exp(beta (Q - V)), limit) a constant; dlp = -w / n.
 *
 * @param logprobs of the data's actions: [items]
 */
export function advantageWeightedLoss(
  logprobs: Row,
  advantages: Row,
  options: { beta?: number; limit?: number } = {},
): ValueLoss {
  const { beta = 3, limit = 100 } = options
  const n = logprobs.length
  let value = 0
  const gradient = Float64Array.from(logprobs, (logprob, i) => {
    const weight = Math.min(Math.exp(beta * advantages[i]), limit) / n
    value -= weight * logprob
    return -weight
  })
  return { value: requireFinite('the advantage-weighted loss', value), gradient }
}

/**
 * The conservative term of CQL(H) in one state: T logsumexp(Q / T) - Q_a over legal actions, and its gradient
 * softmax(Q / T) - onehot(a). It presses down what the data does not do.
 *
 * Source: CQL, arXiv 2006.04779.
 *
 * @param action of the data
 * @example conservativeLoss([0, 0], 0).gradient // [-0.5, 0.5]
 */
export function conservativeLoss(
  q: Row,
  action: number,
  options: { temperature?: number; legal?: Legal } = {},
): ValueLoss {
  const { temperature = 1, legal } = options
  const scaled = Float64Array.from(q, (value) => value / temperature)
  const gradient = softmax(scaled, legal)
  gradient[action] -= 1
  const value = requireFinite('the conservative loss', temperature * logSumExp(scaled, legal) - q[action])
  return { value, gradient }
}

/**
 * Backup over the dimensions of an action that are chosen one after the other. The target of a dimension is the best value of
 * the next one (no reward, no discount); that of the last is r + discount max of the first dimension at the next state. None
 * is below the return that the episode had from here.
 *
 * Source: Q-Transformer, arXiv 2309.10150.
 *
 * @param rows target values of each dimension, given the data's choices before it: [dimensions][bins]
 * @param next those of the first dimension at the next state: [bins]
 * @param returnToGo what the episode earned from here, discounted; -Infinity where unknown
 * @returns [dimensions]
 */
export function dimensionTargets(
  rows: readonly Row[],
  reward: number,
  discount: number,
  next: Row,
  returnToGo = -Infinity,
): Float64Array {
  const best = (row: Row): number => Math.max(...Array.from(row))
  return Float64Array.from(rows, (_, d) => {
    const last = d === rows.length - 1
    const target = last ? reward + (discount === 0 ? 0 : discount * best(next)) : best(rows[d + 1])
    return Math.max(target, returnToGo)
  })
}

/**
 * The loss of one dimension: (Q_a - y)^2 / 2 for the data's bin, and alpha / 2 times the mean of (Q_b - minimum)^2 for the
 * others, which ties what the data does not do to the least return. dQ_a = Q_a - y, dQ_b = alpha (Q_b - minimum) / (bins - 1).
 */
export function dimensionLoss(
  q: Row,
  bin: number,
  target: number,
  options: { alpha?: number; minimum?: number } = {},
): ValueLoss {
  const { alpha = 1, minimum = 0 } = options
  const share = q.length > 1 ? alpha / (q.length - 1) : 0
  let value = 0
  const gradient = Float64Array.from(q, (prediction, b) => {
    const error = prediction - (b === bin ? target : minimum)
    const weight = b === bin ? 1 : share
    value += (weight * error * error) / 2
    return weight * error
  })
  return { value: requireFinite('the loss of a dimension', value), gradient }
}

/** One sequence for ILQL: its states are the prefixes before each token. */
export interface IlqlSequence {
  /** Ids: [tokens] */
  tokens: ArrayLike<number>
  /** After each token: [tokens] */
  rewards: Row
  /** Heads, learnt: [heads][tokens][vocabulary] */
  q: readonly (readonly Row[])[]
  /** Copies of the heads that follow them, at the sequence's own tokens: [heads][tokens] */
  targetQ: readonly Row[]
  /** V before each token, learnt: [tokens] */
  values: Row
  /** V after the last token; 0 where the episode truly ended there. (0) */
  lastValue?: number
}

export interface IlqlOptions {
  gamma?: number
  /** Expectile (0.7). */
  tau?: number
  /** Weight of the conservative term (1e-4), and its temperature (1). */
  conservative?: number
  temperature?: number
}

/**
 * Implicit language Q-learning, per token and averaged over tokens: for each head (r + gamma V' - Q)^2, V' a constant; the
 * expectile loss of V on the least target head; and the conservative weight times the cross-entropy of Q / T against the
 * token, for each head.
 *
 * Source: arXiv 2206.11871 and its code.
 *
 * @returns gradients of the heads [heads][tokens][vocabulary] and of V [tokens]
 */
export function ilqlLoss(
  sequence: IlqlSequence,
  options: IlqlOptions = {},
): { value: number; q: Float64Array[][]; values: Float64Array } {
  const { gamma = 0.99, tau = 0.7, conservative = 1e-4, temperature = 1 } = options
  const { tokens, rewards, q, targetQ, values, lastValue = 0 } = sequence
  const n = tokens.length
  const targets = Array.from(rewards, (reward, t) => reward + gamma * (t + 1 < n ? values[t + 1] : lastValue))
  const least = Float64Array.from(values, (_, t) => Math.min(...targetQ.map((row) => row[t])))
  const expectile = expectileLoss(values, least, tau)
  let { value } = expectile
  const gradients = q.map((head) => {
    const chosen = squareLoss(
      head.map((row, t) => row[tokens[t]]),
      targets,
    )
    value += chosen.value
    return head.map((row, t) => {
      const term = conservativeLoss(row, tokens[t], { temperature })
      // T logsumexp(Q/T) - Q_a is T times the cross-entropy of Q/T.
      const scale = conservative / temperature / n
      value += scale * term.value
      const gradient = term.gradient.map((slope) => scale * slope)
      gradient[tokens[t]] += chosen.gradient[t]
      return gradient
    })
  })
  return { value: requireFinite('the loss of ILQL', value), q: gradients, values: expectile.gradient }
}

/** Logits to decode by: those of a language model plus beta (Q - V). V shifts all alike; with beta 0 nothing changes. */
export function steerLogits(logits: Row, q: Row, value: number, beta: number): Float64Array {
  return Float64Array.from(logits, (logit, token) => logit + beta * (q[token] - value))
}

const family = { kind: 'function', family: 'value-based' } as const

export const iql = objective({
  ...family,
  name: 'iql',
  summary: 'Offline Q-learning that never asks for actions outside of the data: expectile values, weighted regression.',
  formula:
    "V: |tau - 1[u<0]| u^2, u = min Qbar - V;  Q: (r + gamma d V' - Q)^2;  policy: -min(exp(beta (Q-V)), 100) lp",
  reference: 'arXiv 2110.06169',
  standing: 'second-hand',
  use: 'Fixed logs of episodes, some better than others. A larger tau stitches more and is less stable.',
  rows: ['B135'],
  options: z.strictObject({
    tau: z.number().gt(0).lt(1).default(0.7),
    beta: z.number().min(0).default(3),
    limit: z.number().positive().default(100),
  }),
  make: (options) => ({
    value: (values: Row, q: Row): ValueLoss => expectileLoss(values, q, options.tau),
    critic: squareLoss,
    policy: (logprobs: Row, advantages: Row): ValueLoss => advantageWeightedLoss(logprobs, advantages, options),
  }),
})

export const cql = objective({
  ...family,
  name: 'cql',
  summary: 'A term beside a Q-learning loss that presses down the values of actions the data does not take.',
  formula: 'L = L_td + alpha [T logsumexp_a Q(s,a)/T - Q(s, a_data)];  gradient softmax(Q/T) - onehot',
  reference: 'CQL(H), arXiv 2006.04779',
  standing: 'second-hand',
  use: 'Q-learning from logs. A large alpha imitates the data.',
  rows: ['A065', 'B020'],
  options: z.strictObject({ alpha: z.number().min(0).default(1), temperature: z.number().positive().default(1) }),
  make:
    ({ alpha, temperature }) =>
    (q: Row, action: number, legal?: Legal): ValueLoss => {
      const { value, gradient } = conservativeLoss(q, action, { temperature, legal })
      return { value: alpha * value, gradient: gradient.map((slope) => alpha * slope) }
    },
})

export const qTransformer = objective({
  ...family,
  name: 'q-transformer',
  summary: 'Q-learning over the parts of an action, one after the other: each is backed up by the best of the next.',
  formula:
    "y_d = max_b Q_(d+1)(b), y_D = r + gamma max_b Q_1'(b), each at least the return to go;  L = (Q_a - y)^2/2 + alpha/2 mean_(b!=a) (Q_b - R_min)^2",
  reference: 'arXiv 2309.10150, by a port',
  standing: 'second-hand',
  use: 'Actions with several parts, or texts as sequences of tokens, from logs. Rewards and values in [0, 1].',
  rows: ['B089'],
  options: z.strictObject({
    alpha: z.number().min(0).default(1),
    /** R_min. */
    minimum: z.number().default(0),
  }),
  make: (options) => ({
    targets: dimensionTargets,
    loss: (q: Row, bin: number, target: number): ValueLoss => dimensionLoss(q, bin, target, options),
  }),
})

export const ilql = objective({
  ...family,
  name: 'ilql',
  summary: 'Offline Q-learning over tokens; the language model is then steered by Q - V when it decodes.',
  formula:
    "mean_t { sum_i (r + gamma V' - Q_i)^2 + expectile_tau(min Qbar - V) + w sum_i CE(Q_i / T, token) };  logits + beta (Q - V)",
  reference: 'arXiv 2206.11871 and its code',
  standing: 'source',
  use: 'Logs of dialogues or games with rewards. Needs heads over the whole vocabulary.',
  rows: ['A065', 'B020'],
  options: z.strictObject({
    gamma: z.number().min(0).max(1).default(0.99),
    tau: z.number().gt(0).lt(1).default(0.7),
    /** w. */
    conservative: z.number().min(0).default(1e-4),
    temperature: z.number().positive().default(1),
    /** Of decoding. */
    beta: z.number().min(0).default(16),
  }),
  make: ({ beta, ...options }) => ({
    loss: (sequence: IlqlSequence) => ilqlLoss(sequence, options),
    decode: (logits: Row, q: Row, value: number): Float64Array => steerLogits(logits, q, value, beta),
  }),
})
