import type { Recipe } from './types.js'

const languages = ['en', 'es', 'sw', 'ru']

/**
 * SmolLM2-135M-Instruct, which has read mostly English, learns sums and facts asked in four languages through a low-rank
 * adapter (Hu et al. 2021) on every linear layer.
 */
export const smollm2Lora: Recipe = {
  name: 'smollm2-lora',
  model: 'HuggingFaceTB/SmolLM2-135M-Instruct',
  tasks: [
    { id: 'sums', languages, difficulty: [0, 0.2] },
    { id: 'quiz', languages, difficulty: [0, 0.5] },
  ],
  rewards: { task: 1, format: 0.2 },
  algorithm: { normalization: 'mean-std', minibatches: 1 },
  adapter: { kind: 'lora', rank: 16, alpha: 32, targets: 'all-linear' },
  steps: 80,
  groupsPerStep: 12,
  samplesPerProblem: 8,
  // Cooler than 1: at that, a model this small wanders off before it answers.
  temperature: 0.7,
  learningRate: 2e-4,
  schedule: 'linear',
  finalLearningRate: 0.1,
  warmupSteps: 5,
  // One copy of the model on two threads: two copies would read the weights from memory twice a token.
  workers: 1,
  threads: 2,
  memory: { slots: 96, rowLength: 256, tokenBudget: 1024 },
  evaluation: { problemsPerCell: 12, samples: 4 },
  limits: { maxReplyTokens: 20 },
  checkpointEvery: 5,
}
