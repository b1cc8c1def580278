import { hasVariance } from '../algorithms/advantages.js'
import { sampledTokens } from '../algorithms/overlong.js'
import type { Group, Lesson, Trajectory } from '../algorithms/types.js'
import { mean, meanOfKnown } from '../evaluation/statistics.js'
import { repetition, repetitionCost } from '../rewards/behaviour/repetition.js'
import { rewardCorrelations, rewardStatistics } from '../rewards/hygiene/statistics.js'
import type { Tokenizer } from '../text/types.js'
import type { UpdateSummary } from './learn.js'
import { countDropped, type Rollout } from './rollout.js'
import type { EpisodeRecord, StepMetrics, TaskStep } from './types.js'

/** What a step did, as a line of metrics.jsonl. */
export function stepMetrics(parts: {
  step: number
  play: Rollout
  /** Those of the lesson. */
  groups: readonly Group[]
  lesson: Lesson
  update: UpdateSummary
  skipped: string | null
  version: number
  learningRate: number
  time: StepMetrics['time']
}): StepMetrics {
  const { step, play, lesson, update, skipped, version, learningRate, time } = parts
  const trajectories = play.groups.flatMap((group) => group.trajectories)
  const replaced = play.groups.filter((group) => !parts.groups.includes(group))
  const ids = [...new Set(play.groups.map((group) => group.problem.task))].sort()
  const tasks = ids.map((id) => [id, taskStep(play.groups.filter((group) => group.problem.task === id))] as const)
  const named = (prefix: string, values: Readonly<Record<string, number>> = {}): Record<string, number> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}/${name}`, value]))
  return {
    step,
    version,
    learningRate,
    loss: update.loss,
    gradientNorm: update.gradientNorm,
    reward: mean(trajectories.map(({ reward }) => reward)),
    success: successOf(trajectories),
    languageConsistency: languageOf(trajectories),
    rewardParts: partsOf(trajectories),
    rewardStatistics: rewardStatistics(
      trajectories.map(({ rewardParts }) => rewardParts),
      failuresOf(play.dropped),
    ),
    rewardCorrelations: rewardCorrelations(trajectories.map(({ rewardParts }) => rewardParts)),
    repetition: repetitionOf(trajectories),
    tasks: Object.fromEntries(tasks),
    episodes: trajectories.length,
    groups: play.groups.length,
    // Those that were replaced by others are not in the lesson.
    zeroVarianceGroups: lesson.zeroVarianceGroups + replaced.filter((group) => !hasVariance(group)).length,
    sampledTokens: play.sampledTokens,
    trainedTokens: update.trainedTokens,
    entropy: entropyOf(trajectories),
    ...named('loss', update.metrics),
    ...named('algorithm', lesson.metrics),
    dropped: countDropped(play.dropped),
    skipped,
    time,
  }
}

function taskStep(groups: readonly Group[]): TaskStep {
  const trajectories = groups.flatMap((group) => group.trajectories)
  return {
    groups: groups.length,
    success: successOf(trajectories),
    reward: mean(trajectories.map(({ reward }) => reward)),
    languageConsistency: languageOf(trajectories),
    zeroVariance: mean(groups.map((group) => (hasVariance(group) ? 0 : 1))),
    malformed: mean(trajectories.map(({ outcome }) => (outcome.wellFormed ? 0 : 1))),
    tokensPerEpisode: mean(trajectories.map(sampledTokens)),
  }
}

function successOf(trajectories: readonly Trajectory[]): number {
  return mean(trajectories.map(({ outcome }) => (outcome.success ? 1 : 0)))
}

function languageOf(trajectories: readonly Trajectory[]): number | null {
  return meanOfKnown(trajectories.map(({ languageConsistent }) => languageConsistent))
}

function partsOf(trajectories: readonly Trajectory[]): Record<string, number> {
  const names = [...new Set(trajectories.flatMap(({ rewardParts }) => Object.keys(rewardParts)))].sort()
  const values = (name: string): number[] => trajectories.flatMap(({ rewardParts }) => rewardParts[name] ?? [])
  return Object.fromEntries(names.map((name) => [name, mean(values(name))]))
}

/** How many episodes each reward failed at; the errors of rewards name them. */
function failuresOf(dropped: Rollout['dropped']): Record<string, number> {
  const failures: Record<string, number> = {}
  for (const { reason, message } of dropped) {
    const name = reason.startsWith('reward') ? /reward "([^"]+)" on problem/u.exec(message)?.[1] : undefined
    if (name !== undefined) failures[name] = (failures[name] ?? 0) + 1
  }
  return failures
}

/** Episodes whose repetition is measured, spread over the step. */
const MEASURED = 16

function repetitionOf(trajectories: readonly Trajectory[]): number | null {
  const every = Math.max(1, Math.ceil(trajectories.length / MEASURED))
  const costs = trajectories.flatMap(({ messages, problem }, i) => {
    const reply = i % every === 0 ? messages.findLast(({ role }) => role === 'assistant') : undefined
    return reply ? [repetitionCost(repetition(reply.content, problem.language))] : []
  })
  return meanOfKnown(costs)
}

function entropyOf(trajectories: readonly Trajectory[]): number | null {
  let [sum, count] = [0, 0]
  for (const { mask, logprobs } of trajectories) {
    for (let t = 0; t < mask.length; t++) {
      if (!mask[t]) continue
      sum -= logprobs[t]
      count++
    }
  }
  return count === 0 ? null : sum / count
}

/**
 * A few episodes of a step, for people to look at: the best and the worst of some groups, those with something to learn
 * first. A step starts at another group than the one before, so that all tasks come up.
 */
export function episodeRecords(
  step: number,
  groups: readonly Group[],
  lesson: Lesson,
  tokenizer: Tokenizer,
  groupCount: number,
): EpisodeRecord[] {
  const order = groups.map((_, i) => (i + step * groupCount) % groups.length)
  const telling = order.filter((i) => groups[i].trajectories.length > 0)
  const chosen = telling.toSorted((a, b) => Number(hasVariance(groups[b])) - Number(hasVariance(groups[a])))
  return chosen.slice(0, groupCount).flatMap((i) => {
    const ranked = groups[i].trajectories.map((_, j) => j)
    ranked.sort((a, b) => groups[i].trajectories[b].reward - groups[i].trajectories[a].reward)
    const picked = hasVariance(groups[i]) ? [ranked[0], ranked[ranked.length - 1]] : [ranked[0]]
    return picked.map((j) => {
      const trajectory = groups[i].trajectories[j]
      // Not every algorithm has an advantage for every trajectory.
      const advantages = lesson.advantages[i]?.[j] ?? new Float32Array(trajectory.tokens.length)
      return episodeRecord(step, trajectory, advantages, tokenizer)
    })
  })
}

function episodeRecord(
  step: number,
  trajectory: Trajectory,
  advantages: Float32Array,
  tokenizer: Tokenizer,
): EpisodeRecord {
  const { problem, outcome, reward, rewardParts, languageConsistent, tokens, mask } = trajectory
  return {
    step,
    task: problem.task,
    language: problem.language,
    reward,
    success: outcome.success,
    languageConsistent,
    rewardParts,
    tokens: tokenTexts(tokens, tokenizer),
    mask: [...mask],
    advantages: Array.from(advantages, (advantage) => Number(advantage.toFixed(4))),
  }
}

/** Text of each token. A character made of several tokens stands at the last of them. */
function tokenTexts(tokens: readonly number[], tokenizer: Tokenizer): string[] {
  let pending: number[] = []
  return tokens.map((token) => {
    pending.push(token)
    const text = tokenizer.decode(pending)
    // A character of UTF-8 takes at most four bytes; beyond that the bytes are no text at all.
    if (text.endsWith('\uFFFD') && pending.length < 4) return ''
    pending = []
    return text
  })
}
