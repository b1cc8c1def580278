/** Learning rates as functions of the step (0 is the first). */

export type Schedule = (step: number) => number

/** Always the same. */
export function constantSchedule(value: number): Schedule {
  return () => value
}

/** In a straight line from `from` at step 0 to `to` at step `steps`, then constant. */
export function linear(from: number, to: number, steps: number): Schedule {
  return (step) => from + (to - from) * Math.min(1, step / Math.max(1, steps))
}

/** Half a cosine from `peak` at step 0 to `final` (0 unless given) at step `steps`, then constant (https://arxiv.org/abs/1608.03983). */
export function cosine(peak: number, steps: number, final = 0): Schedule {
  return (step) => final + ((peak - final) * (1 + Math.cos(Math.PI * Math.min(1, step / Math.max(1, steps))))) / 2
}

/**
 * Rises in a straight line over the first `steps` steps, then follows `next` (whose step 0 is the first after warming up).
 *
 * @example const learningRate = warmup(20, cosine(3e-4, 1000)) // learningRate(0) is 1.5e-5
 */
export function warmup(steps: number, next: Schedule): Schedule {
  return (step) => (step < steps ? (next(0) * (step + 1)) / steps : next(step - steps))
}
