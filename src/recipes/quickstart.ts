import type { TrainConfigInput } from '../training/index.js'

/**
 * What `npm start` trains: the base model on tasks of two kinds. What it has read but answers unsurely is sharpened (facts and
 * lookup); what it has no policy for is found by trying (sort, reverse, larger, guess, maze, nim).
 */
export const quickstart: Omit<TrainConfigInput, 'model'> = {
  name: 'quickstart',
  // Weights share out sampled tokens: what is learned in few tries needs few, what is long or rare needs more.
  tasks: [
    { id: 'sort', difficulty: [0, 0.4], weight: 1.6 },
    { id: 'reverse', difficulty: [0, 0.5], weight: 1.2 },
    { id: 'larger', weight: 0.5 },
    { id: 'guess', difficulty: [0.5, 1] },
    { id: 'maze', difficulty: [0, 0.5], weight: 3 },
    { id: 'nim', difficulty: [0, 0.5] },
    { id: 'facts', difficulty: [0, 0.5], weight: 2 },
    { id: 'lookup', weight: 1.5 },
  ],
  rewards: { task: 1, language: 0.8, format: 0.2 },
  algorithm: { normalization: 'mean', minibatches: 2 },
  steps: 200,
  groupsPerStep: 40,
  samplesPerProblem: 8,
  learningRate: 4e-4,
  schedule: 'linear',
  finalLearningRate: 0.1,
  warmupSteps: 5,
  evaluation: { problemsPerCell: 12, samples: 8 },
  checkpointEvery: 5,
}
