/** What tests of preferences start from. */
import type { LossTokens, SequenceInfo } from '../../policy/types.js'
import { testTrajectory } from '../testing.js'
import type { Group } from '../types.js'

/** A batch of sequences of given logprobs; the old ones are those of the reference unless given: [sequence][tokens]. */
export function batchOf(
  sequences: readonly {
    logprobs: readonly number[]
    reference?: readonly number[]
    old?: readonly number[]
    info?: Partial<SequenceInfo>
  }[],
): LossTokens {
  const row = (pick: (sequence: (typeof sequences)[number]) => readonly number[]): Float64Array =>
    Float64Array.from(sequences.flatMap((sequence) => [...pick(sequence)]))
  const logprobs = row((sequence) => sequence.logprobs)
  return {
    logprobs,
    referenceLogprobs: row(({ reference, logprobs: own }) => reference ?? own),
    oldLogprobs: row(({ old, reference, logprobs: own }) => old ?? reference ?? own),
    advantages: new Float64Array(logprobs.length),
    weights: new Float64Array(logprobs.length).fill(1),
    segments: Int32Array.from(sequences.flatMap((sequence, i) => sequence.logprobs.map(() => i))),
    sequences: sequences.map(({ info }) => ({
      group: 0,
      role: 'sample',
      reward: 0,
      task: 'echo',
      language: 'en',
      ...info,
    })),
  }
}

/** A chosen and a rejected sequence of even logprobs that sum to `sums`, with references and lengths. */
export function pairOf(
  sums: [number, number],
  references: [number, number],
  lengths: [number, number],
  rewards: [number, number] = [1, 0],
): LossTokens {
  const even = (sum: number, n: number): number[] => Array<number>(n).fill(sum / n)
  return batchOf(
    sums.map((sum, i) => ({
      logprobs: even(sum, lengths[i]),
      reference: even(references[i], lengths[i]),
      info: { role: i === 0 ? 'chosen' : 'rejected', pair: 0, reward: rewards[i] },
    })),
  )
}

/** A group of rewards whose replies differ in their tokens and have the given lengths (3). */
export function groupOf(rewards: readonly number[], lengths: readonly number[] = []): Group {
  const trajectories = rewards.map((reward, i) => {
    const trajectory = testTrajectory(reward, { length: lengths[i] ?? 3 })
    return { ...trajectory, tokens: trajectory.tokens.map((token, t) => (t < 2 ? token : 10 * (i + 1) + t)) }
  })
  return { problem: trajectories[0].problem, trajectories }
}
