import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'
import { greedyAction, greedyValue, requireFinite, type Legal, type Row, type ValueLoss } from './rows.js'

/**
 * The target of Q-learning, r + discount max_a Qbar(s', a). `discount` is gamma, and 0 at a true end (an episode that only
 * ran out of time keeps gamma). 0 stands for the maximum where no action is legal. A constant: nothing flows through it.
 *
 * Source: DQN, arXiv 1312.5602.
 *
 * @param next values of the target network at the next state: [actions]
 * @example qTarget(1, 0.9, [0, 2]) // 2.8
 */
export function qTarget(reward: number, discount: number, next: Row, legal?: Legal): number {
  return reward + (discount === 0 ? 0 : discount * greedyValue(next, legal))
}

/**
 * The target of double Q-learning: r + discount Qbar(s', argmax_a Q(s', a)). The online network chooses, the target network
 * judges, so that no error is picked for being large.
 *
 * Source: arXiv 1509.06461.
 *
 * @param online,target values at the next state: [actions]
 * @example doubleQTarget(0, 1, [5, 1], [2, 9]) // 2
 */
export function doubleQTarget(reward: number, discount: number, online: Row, target: Row, legal?: Legal): number {
  const action = greedyAction(online, legal)
  return reward + (discount === 0 || action < 0 ? 0 : discount * target[action])
}

export interface TdLossOptions {
  /** 'huber' (1 beyond `delta` is linear) or (Q - y)^2 / 2. ('huber') */
  kind?: 'huber' | 'half-square'
  /** Of 'huber' (1). */
  delta?: number
  /** Importance weights of items: [items]; 1 unless given. */
  weights?: Row
}

/**
 * Mean over items of the loss of predictions against constant targets, and its gradient. With e = Q - y:
 *
 *     half-square  e^2 / 2                                              dQ = e
 *     huber        e^2 / 2 within +-delta, else delta (|e| - delta / 2)  dQ = clip(e, -delta, delta)
 *
 * @returns the errors y - Q too, from which priorities are made: [items]
 * @throws MyriadError 'numeric' where the loss is not finite
 * @example tdLoss([0, 3], [1, 0]).gradient // [-0.5, 0.5]
 */
export function tdLoss(
  predictions: Row,
  targets: Row,
  options: TdLossOptions = {},
): ValueLoss & { errors: Float64Array } {
  const { kind = 'huber', delta = 1, weights } = options
  const n = predictions.length
  if (targets.length !== n) throw new MyriadError('usage', `${n} predictions have ${targets.length} targets`)
  const errors = Float64Array.from(predictions, (prediction, i) => targets[i] - prediction)
  let value = 0
  const gradient = errors.map((error, i) => {
    const weight = (weights?.[i] ?? 1) / n
    const linear = kind === 'huber' && Math.abs(error) > delta
    value += weight * (linear ? delta * (Math.abs(error) - delta / 2) : (error * error) / 2)
    return -weight * (linear ? delta * Math.sign(error) : error)
  })
  requireFinite('the loss of values', value)
  return { value, gradient, errors }
}

/** What was done and seen in one step of an episode. */
export interface EpisodeStep<Observation, Action> {
  observation: Observation
  action: Action
  reward: number
}

/** A step, or several at once, as replayed: `discount` multiplies the value of `next`. */
export interface Transition<Observation, Action> extends EpisodeStep<Observation, Action> {
  next: Observation
  /** gamma^n, 0 where the episode truly ended. */
  discount: number
}

/**
 * Transitions over n steps: reward sum_{i<n} gamma^i r, then the state n steps on with discount gamma^n. Near the end the sum
 * is shorter; after a true end there is no value, after the end of time there is.
 *
 * @param last the observation after the final step
 * @param terminated did the episode truly end there (not for lack of time)?
 * @param n a positive integer
 * @example nStepTransitions(steps, last, true, 3, 0.99)
 */
export function nStepTransitions<Observation, Action>(
  steps: readonly EpisodeStep<Observation, Action>[],
  last: Observation,
  terminated: boolean,
  n: number,
  gamma: number,
): Transition<Observation, Action>[] {
  if (!(Number.isInteger(n) && n >= 1)) throw new MyriadError('usage', `n is ${n}; give a positive integer of steps`)
  return steps.map(({ observation, action }, t) => {
    const until = Math.min(t + n, steps.length)
    let reward = 0
    for (let i = until - 1; i >= t; i--) reward = steps[i].reward + gamma * reward
    const ended = until === steps.length
    return {
      observation,
      action,
      reward,
      next: ended ? last : steps[until].observation,
      discount: ended && terminated ? 0 : gamma ** (until - t),
    }
  })
}

/** Named arrays of numbers: parameters of a network. */
export type Parameters = Readonly<Record<string, Float32Array | Float64Array>>

/**
 * Moves target parameters towards the online ones, in place: target <- (1 - rate) target + rate online. 1 copies.
 *
 * @throws MyriadError 'usage' on a rate outside [0, 1], or parameters that differ in names or sizes
 */
export function followTarget(target: Parameters, online: Parameters, rate: number): void {
  if (!(rate >= 0 && rate <= 1)) throw new MyriadError('usage', `the rate of a target network is ${rate}; 0 to 1`)
  for (const [name, to] of Object.entries(target)) {
    const from = online[name]
    if (from?.length !== to.length) throw new MyriadError('usage', `the networks differ in "${name}"`)
    for (let i = 0; i < to.length; i++) to[i] = (1 - rate) * to[i] + rate * from[i]
  }
}

/**
 * Dueling heads: Q_a = V + A_a - mean over legal A.
 *
 * Source: arXiv 1511.06581. Illegal actions have Q = -Infinity and no part in the mean.
 *
 * @example duelingValues(1, [2, 4]) // [0, 2]
 */
export function duelingValues(value: number, advantages: Row, legal?: Legal): Float64Array {
  const actions = Array.from(advantages, (_, action) => action).filter((a) => legal === undefined || legal[a])
  const mean = actions.reduce((sum, action) => sum + advantages[action], 0) / Math.max(1, actions.length)
  const q = new Float64Array(advantages.length).fill(-Infinity)
  for (const action of actions) q[action] = value + advantages[action] - mean
  return q
}

/** Derivatives of dueling heads from those of Q: dV = sum_a dQ_a, dA_b = dQ_b - mean over legal dQ_a. */
export function duelingGradient(dq: Row, legal?: Legal): { value: number; advantages: Float64Array } {
  const actions = Array.from(dq, (_, action) => action).filter((a) => legal === undefined || legal[a])
  const value = actions.reduce((sum, action) => sum + dq[action], 0)
  const advantages = new Float64Array(dq.length)
  for (const action of actions) advantages[action] = dq[action] - value / actions.length
  return { value, advantages }
}

const valueBased = { kind: 'function', family: 'value-based' } as const

export const dqn = objective({
  ...valueBased,
  name: 'dqn',
  summary: 'Q-learning with a target network: the loss of a value against reward plus the best value to come.',
  formula: "L = mean Huber(Q(s,a) - y),  y = r + gamma d max_a Qbar(s',a)  [double: Qbar(s', argmax_a Q(s',a))]",
  reference: 'arXiv 1312.5602; double, arXiv 1509.06461',
  standing: 'source',
  use: 'Few discrete actions and many steps: games, pages, curricula. Double is the safer choice.',
  rows: ['A065', 'A070', 'A110', 'B161', 'A113'],
  options: z.strictObject({
    double: z.boolean().default(true),
    kind: z.enum(['huber', 'half-square']).default('huber'),
    delta: z.number().positive().default(1),
  }),
  make: ({ double, ...options }) => ({
    target: (reward: number, discount: number, online: Row, target: Row, legal?: Legal): number =>
      double ? doubleQTarget(reward, discount, online, target, legal) : qTarget(reward, discount, target, legal),
    loss: (predictions: Row, targets: Row, weights?: Row) => tdLoss(predictions, targets, { ...options, weights }),
  }),
})

export const dueling = objective({
  ...valueBased,
  name: 'dueling',
  summary: 'A value of the state and an advantage of each action instead of a value of each.',
  formula: 'Q_a = V + A_a - mean A;  dV = sum dQ, dA_b = dQ_b - mean dQ',
  reference: 'arXiv 1511.06581',
  standing: 'second-hand',
  use: 'Many actions that hardly matter in most states.',
  rows: [],
  options: z.strictObject({}),
  make: () => ({ values: duelingValues, gradient: duelingGradient }),
})

export const nStep = objective({
  ...valueBased,
  name: 'n-step',
  summary: 'Transitions over several steps: rewards reach back faster, at the price of being off-policy.',
  formula: 'y = sum_{i<n} gamma^i r_i + gamma^n d V(s_n)',
  reference: 'Sutton and Barto 2018, chapter 7; Rainbow, arXiv 1710.02298',
  standing: 'source',
  use: 'Sparse rewards. 3 to 5 steps are usual.',
  rows: [],
  options: z.strictObject({
    n: z.number().int().positive().default(3),
    gamma: z.number().min(0).max(1).default(0.99),
  }),
  make:
    ({ n, gamma }) =>
    <Observation, Action>(
      steps: readonly EpisodeStep<Observation, Action>[],
      last: Observation,
      terminated: boolean,
    ): Transition<Observation, Action>[] =>
      nStepTransitions(steps, last, terminated, n, gamma),
})
