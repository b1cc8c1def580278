import type { TrainConfig } from './config.js'

/**
 * Learning rate of a step: a linear rise over `warmupSteps`, then constant, linear or cosine down to the final share at
 * the last step.
 *
 * @param step from 1 to config.steps
 * @example learningRateAt({ ...config, learningRate: 1, schedule: 'linear', warmupSteps: 0, steps: 11 }, 6) // 0.5
 */
export function learningRateAt(
  config: Pick<TrainConfig, 'learningRate' | 'schedule' | 'warmupSteps' | 'finalLearningRate' | 'steps'>,
  step: number,
): number {
  const { learningRate: peak, schedule, warmupSteps, finalLearningRate, steps } = config
  if (step <= warmupSteps) return (peak * step) / (warmupSteps + 1)
  if (schedule === 'constant') return peak
  const progress = Math.min(1, (step - warmupSteps - 1) / Math.max(1, steps - warmupSteps - 1))
  const remaining = schedule === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2
  return peak * (finalLearningRate + (1 - finalLearningRate) * remaining)
}
