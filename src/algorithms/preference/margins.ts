import { MyriadError } from '../../core/index.js'
import { clampedExp } from '../clipped.js'
import { sigmoid, sigmoidSlope, softplus, type Slope } from './logistic.js'

/**
 * DPO's loss of a margin x = beta h, with labels that are wrong with probability e (cDPO; 0 is DPO):
 * -(1 - e) log sig(x) - e log sig(-x), slope e - sig(-x). arXiv 2305.18290; E. Mitchell's note on cDPO, 2023.
 *
 * @example logisticMargin(0, 0) // { value: 0.693, slope: -0.5 }
 */
export function logisticMargin(x: number, smoothing: number): Slope {
  return { value: (1 - smoothing) * softplus(-x) + smoothing * softplus(x), slope: smoothing - sigmoid(-x) }
}

/**
 * Unbiased when labels are flipped with probability e: [-(1 - e) log sig(x) + e log sig(-x)] / (1 - 2 e). Unbounded below.
 * arXiv 2403.00409.
 *
 * @throws MyriadError 'usage' when e is 1/2 or more
 */
export function robustMargin(x: number, flipRate: number): Slope {
  if (flipRate >= 0.5)
    throw new MyriadError('usage', `labels flipped at ${flipRate} tell nothing; it must be below 0.5`)
  const scale = 1 / (1 - 2 * flipRate)
  return {
    value: scale * ((1 - flipRate) * softplus(-x) - flipRate * softplus(x)),
    slope: -scale * ((1 - flipRate) * sigmoid(-x) + flipRate * sigmoid(x)),
  }
}

/** max(0, 1 - x), slope 0 at the kink. arXiv 2305.10425 on DPO's margin. */
export function hingeMargin(x: number): Slope {
  return x < 1 ? { value: 1 - x, slope: -1 } : { value: 0, slope: 0 }
}

/** (x - 1 / 2)^2 / beta^2 of x = beta h is (h - 1 / (2 beta))^2: IPO. arXiv 2310.12036. */
export function squaredMargin(x: number, beta: number): Slope {
  const gap = (x - 0.5) / beta
  return { value: gap * gap, slope: (2 * gap) / beta }
}

/**
 * EXO of a pair, the reverse divergence KL((sig(x), sig(-x)) || (1 - e, e)), slope s2(x) (x - log((1 - e) / e)).
 * arXiv 2402.00856, equation 16.
 */
export function exoMargin(x: number, smoothing: number): Slope {
  const [won, lost] = [-softplus(-x), -softplus(x)]
  return {
    value: sigmoid(x) * (won - Math.log1p(-smoothing)) + sigmoid(-x) * (lost - Math.log(smoothing)),
    slope: sigmoidSlope(x) * (x - Math.log((1 - smoothing) / smoothing)),
  }
}

/**
 * DiscoPOP's blend of a logistic and an exponential loss: (1 - m) softplus(-x) + m exp(-x), m = sig(x / temperature). The
 * exponent is clamped to +-20. arXiv 2406.08414, equation 5.
 */
export function discoveredMargin(x: number, temperature: number): Slope {
  const mix = sigmoid(x / temperature)
  const mixSlope = sigmoidSlope(x / temperature) / temperature
  const fall = clampedExp(-x)
  const logistic = softplus(-x)
  return {
    value: (1 - mix) * logistic + mix * fall.value,
    slope: -(1 - mix) * sigmoid(-x) - mix * fall.slope + mixSlope * (fall.value - logistic),
  }
}

/**
 * Score of a log-ratio r in f-DPO, f'(exp r) up to a constant, and its derivative: reverse KL r; forward KL -exp(-r);
 * Jensen-Shannon log sig(r); alpha exp((alpha - 1) r) / (alpha - 1), at alpha 1 r. Exponents are clamped to +-20 with
 * derivative 0 outside. arXiv 2309.16240.
 */
export function divergenceScore(r: number, divergence: Divergence, alpha = 0.5): Slope {
  switch (divergence) {
    case 'reverse-kl':
      return { value: r, slope: 1 }
    case 'forward-kl': {
      const inverse = clampedExp(-r)
      return { value: -inverse.value, slope: inverse.slope }
    }
    case 'jensen-shannon':
      return { value: -softplus(-r), slope: sigmoid(-r) }
    case 'alpha': {
      if (Math.abs(alpha - 1) < 1e-6) return { value: r, slope: 1 }
      const power = clampedExp((alpha - 1) * r)
      return { value: power.value / (alpha - 1), slope: power.slope }
    }
  }
}

export const DIVERGENCES = ['reverse-kl', 'forward-kl', 'jensen-shannon', 'alpha'] as const
export type Divergence = (typeof DIVERGENCES)[number]
