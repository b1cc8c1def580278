import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lesson, Trajectory } from '../algorithms/types.js'
import type { Problem } from '../tasks/types.js'
import { stepMetrics } from './metrics.js'
import { NO_UPDATE } from './learn.js'

const problem: Problem = { task: 'quiz', language: 'en', difficulty: 0, split: 'train', key: 'k', data: null }

function trajectory(reply: string, rewardParts: Record<string, number>): Trajectory {
  return {
    problem,
    tokens: [1, 2],
    mask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, -1),
    messages: [
      { role: 'user', content: '?' },
      { role: 'assistant', content: reply },
    ],
    outcome: { reward: 1, success: true, wellFormed: true },
    reward: 1,
    rewardParts,
    languageConsistent: null,
    stopReason: 'stop',
    version: 0,
    turns: 1,
  }
}

test('a step tells how parts of the reward are spread, where they failed, how they go together, and how much replies repeat', () => {
  const trajectories = [
    trajectory('la '.repeat(100), { task: 0, judge: 0.5 }),
    trajectory('la '.repeat(100), { task: 1, judge: 0.7 }),
    trajectory('A short answer.', { task: 2, judge: 0.9 }),
    trajectory('', { task: 1 }),
  ]
  const groups = [{ problem, trajectories }]
  const message = 'task "quiz" (en): reward "judge" on problem quiz/en/k failed: judge m: 401'
  const metrics = stepMetrics({
    step: 1,
    play: { groups, dropped: [{ reason: 'reward-error', task: 'quiz', message }], sampledTokens: 4 },
    groups,
    lesson: { sequences: [], origins: [], zeroVarianceGroups: 0, advantages: [] } satisfies Lesson,
    update: NO_UPDATE,
    skipped: null,
    version: 1,
    learningRate: 0,
    time: { rolloutSeconds: 0, updateSeconds: 0, wallSeconds: 0 },
  })
  assert.equal(metrics.rewardStatistics?.judge.failed, 0.2)
  assert.equal(metrics.rewardStatistics?.judge.null, 0.25)
  assert.equal(metrics.rewardStatistics?.task.max, 2)
  assert.ok(Math.abs(metrics.rewardCorrelations!['judge~task'] - 1) < 1e-9)
  assert.equal(metrics.repetition, 0.5)
})
