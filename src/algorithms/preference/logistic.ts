/** A function of one number at a point, and its derivative there. */
export interface Slope {
  value: number
  slope: number
}

/** 1 / (1 + exp(-x)), without overflow. */
export function sigmoid(x: number): number {
  if (x >= 0) return 1 / (1 + Math.exp(-x))
  const small = Math.exp(x)
  return small / (1 + small)
}

/** log(1 + exp(x)), without overflow; -softplus(-x) is log sigmoid(x). */
export function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
}

/** Derivative of the sigmoid: sigmoid(x) sigmoid(-x). */
export function sigmoidSlope(x: number): number {
  return sigmoid(x) * sigmoid(-x)
}

/** log sum exp, -Infinity of nothing. */
export function logSumExp(values: readonly number[]): number {
  const top = Math.max(-Infinity, ...values)
  if (top === -Infinity) return top
  return top + Math.log(values.reduce((sum, value) => sum + Math.exp(value - top), 0))
}
