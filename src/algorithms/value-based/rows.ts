import { MyriadError } from '../../core/index.js'

/** One number per action; plain or typed. */
export type Row = ArrayLike<number>
/** 1 where an action may be taken; all may unless given. */
export type Legal = ArrayLike<number | boolean> | undefined

/** A loss of values or logits, and its derivative with respect to each of them. */
export interface ValueLoss {
  value: number
  gradient: Float64Array
}

export function isLegal(legal: Legal, action: number): boolean {
  return legal === undefined || Boolean(legal[action])
}

/** Legal actions of a row, ascending. */
export function legalActions(row: Row, legal?: Legal): number[] {
  return Array.from({ length: row.length }, (_, action) => action).filter((action) => isLegal(legal, action))
}

/**
 * The legal action with the largest value: the lowest index of equals, -1 where none is legal.
 *
 * @throws MyriadError 'numeric' on a legal value that is NaN
 * @example greedyAction([1, 3, 3]) // 1
 */
export function greedyAction(row: Row, legal?: Legal): number {
  let best = -1
  for (let action = 0; action < row.length; action++) {
    if (!isLegal(legal, action)) continue
    if (Number.isNaN(row[action])) throw new MyriadError('numeric', `the value of action ${action} is NaN`)
    if (best < 0 || row[action] > row[best]) best = action
  }
  return best
}

/** The largest legal value; 0 where none is legal. */
export function greedyValue(row: Row, legal?: Legal): number {
  const action = greedyAction(row, legal)
  return action < 0 ? 0 : row[action]
}

/** log sum exp over legal entries; -Infinity where none is legal. */
export function logSumExp(row: Row, legal?: Legal): number {
  const actions = legalActions(row, legal)
  const most = Math.max(-Infinity, ...actions.map((action) => row[action]))
  if (most === -Infinity) return -Infinity
  return most + Math.log(actions.reduce((sum, action) => sum + Math.exp(row[action] - most), 0))
}

/** Log-probabilities of logits; -Infinity where illegal. */
export function logSoftmax(logits: Row, legal?: Legal): Float64Array {
  const total = logSumExp(logits, legal)
  return Float64Array.from(logits, (logit, action) => (isLegal(legal, action) ? logit - total : -Infinity))
}

/** Probabilities of logits; 0 where illegal. */
export function softmax(logits: Row, legal?: Legal): Float64Array {
  return logSoftmax(logits, legal).map((logprob) => Math.exp(logprob))
}

export function requireFinite(what: string, value: number): number {
  if (!Number.isFinite(value)) throw new MyriadError('numeric', `${what} is ${value}`)
  return value
}
