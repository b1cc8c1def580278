import { createRandom, deriveSeed } from '../core/index.js'
import type { Outcome, Problem, Task } from '../tasks/types.js'
import { DEFAULT_LIMITS } from '../training/episode.js'
import { withTimeout } from '../training/timeout.js'
import { evaluationProblems } from './problems.js'
import { clusteredInterval, mean } from './statistics.js'
import type { EvaluationTask, RandomRow } from './types.js'

/**
 * Lets a player who knows the rules but has no policy play the withheld problems that `evaluate` uses with the same seed.
 * Needs no model; a few thousand plays take about a second. Plays in which the task throws, does not answer or goes on past
 * its turn limit are left out, as `evaluate` leaves them out.
 *
 * @param options.plays per problem
 */
export async function randomPlayer(
  tasks: readonly EvaluationTask[],
  options: { problemsPerCell: number; plays: number; seed: number; turnTimeoutMs?: number },
): Promise<RandomRow[]> {
  const rows: RandomRow[] = []
  for (const { task, language, problems } of evaluationProblems(tasks, options)) {
    const outcomes: Outcome[][] = []
    for (const [i, problem] of problems.entries()) {
      const own: Outcome[] = []
      for (let play = 0; play < options.plays; play++) {
        const seed = deriveSeed(options.seed, 'random', task.id, language, i, play)
        const outcome = await playRandomly(task, problem, seed, options.turnTimeoutMs ?? DEFAULT_LIMITS.turnTimeoutMs)
        if (outcome) own.push(outcome)
      }
      if (own.length > 0) outcomes.push(own)
    }
    const rates = outcomes.map((own) => mean(own.map(({ success }) => Number(success))))
    const { low, high } = clusteredInterval([rates], options.plays)
    rows.push({
      task: task.id,
      language,
      n: outcomes.flat().length,
      problems: outcomes.length,
      success: mean(rates),
      ciLow: low,
      ciHigh: high,
      reward: mean(outcomes.flat().map(({ reward }) => reward)),
    })
  }
  return rows
}

async function playRandomly(task: Task, problem: Problem, seed: number, timeoutMs: number): Promise<Outcome | null> {
  const random = createRandom(seed)
  try {
    const episode = task.play(problem)
    for (let turn = 0; turn < task.maxTurns; turn++) {
      const answer = await withTimeout((signal) => episode.respond(episode.randomReply(random), { signal }), timeoutMs)
      if (answer.done) return answer.outcome ?? null
    }
  } catch {
    // The same failure is met, counted and reported when the policy plays this task.
  }
  return null
}
