import type { StopReason } from '../policy/types.js'
import type { Group, Trajectory } from './types.js'

/** A trajectory for tests: a prompt of two tokens, then `length` sampled ones. */
export function testTrajectory(
  reward: number,
  options: { length?: number; task?: string; stopReason?: StopReason; success?: boolean; logprob?: number } = {},
): Trajectory {
  const { length = 3, task = 'echo', stopReason = 'stop', success = reward > 0, logprob = -1 } = options
  const total = length + 2
  return {
    problem: { task, language: 'en', difficulty: 0.5, split: 'train', key: 'k', data: null },
    tokens: Array.from({ length: total }, (_, t) => t),
    mask: Uint8Array.from({ length: total }, (_, t) => (t < 2 ? 0 : 1)),
    logprobs: Float32Array.from({ length: total }, (_, t) => (t < 2 ? 0 : logprob)),
    messages: [],
    outcome: { reward, success, wellFormed: true },
    reward,
    rewardParts: { task: reward },
    languageConsistent: null,
    stopReason,
    version: 0,
    turns: 1,
  }
}

export function testGroup(rewards: readonly number[], options: Parameters<typeof testTrajectory>[1] = {}): Group {
  const trajectories = rewards.map((reward) => testTrajectory(reward, options))
  const problem = testTrajectory(0, options).problem
  return { problem, trajectories }
}
