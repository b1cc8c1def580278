import { messageOf } from '../core/index.js'
import type { Policy } from '../policy/types.js'
import type { ChatFormat } from '../text/types.js'
import { DEFAULT_LIMITS, type EpisodeLimits } from '../training/episode.js'
import { countDropped, rollout, type DroppedEpisode, type RolloutItem } from '../training/rollout.js'
import type { Scorer } from '../training/scoring.js'
import { lostTasks } from './lost.js'
import { evaluationProblems, type Cell } from './problems.js'
import { aggregate, rowOf, type CellResult } from './rows.js'
import type { Decoding, Evaluation, EvaluationTask } from './types.js'

export interface EvaluateOptions {
  policy: Policy
  chat: ChatFormat
  tasks: readonly EvaluationTask[]
  score: Scorer
  /** Withheld problems per task and language (8). */
  problemsPerCell?: number
  /** Tries per problem at temperature 1 (8). */
  samples?: number
  /** Chooses problems and samples (0). */
  seed?: number
  limits?: EpisodeLimits
  /** Called as episodes end. */
  onProgress?: (done: number, total: number) => void
  signal?: AbortSignal
}

/**
 * Plays withheld problems greedily (once) and at temperature 1 (`samples` times), all in one rollout. The same seed gives
 * the same problems, so that results before and after training are compared on equal work.
 *
 * @example
 * const { rows, overall } = await evaluate({ policy, chat, tasks: [{ task, languages: ['sw'], difficulty: [0, 1] }], score })
 */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { policy, chat, tasks, score, problemsPerCell = 8, samples = 8, seed = 0 } = options
  const failed: DroppedEpisode[] = []
  const cells = evaluationProblems(tasks, {
    problemsPerCell,
    seed,
    onError: (task, error) => failed.push({ reason: 'task-error', task: task.id, message: messageOf(error) }),
  })
  const decodings: readonly { decoding: Decoding; samples: number; temperature: number }[] = [
    { decoding: 'greedy', samples: 1, temperature: 0 },
    { decoding: 'sampled', samples, temperature: 1 },
  ]
  const plan = cells.flatMap((cell) => decodings.map((decoding) => ({ cell, ...decoding })))
  const { groups, dropped, sampledTokens } = await rollout({
    policy,
    chat,
    items: plan.flatMap(itemsOf),
    score,
    limits: options.limits ?? DEFAULT_LIMITS,
    seedPath: [seed, 'evaluation'],
    onEpisode: options.onProgress,
    signal: options.signal,
  })
  let taken = 0
  const results = plan.map(({ cell, decoding, samples: tries }): CellResult => {
    const own = groups.slice(taken, (taken += cell.problems.length))
    const triesOf = own.map(({ trajectories }) =>
      trajectories.map(({ outcome, reward, languageConsistent }) => ({
        success: outcome.success,
        wellFormed: outcome.wellFormed,
        reward,
        languageConsistent,
      })),
    )
    return {
      task: cell.task.id,
      language: cell.language,
      decoding,
      tries: triesOf.filter((one) => one.length > 0),
      samples: tries,
    }
  })
  const rows = results.map(rowOf)
  const allDropped = [...failed, ...dropped]
  return {
    rows,
    ...aggregate(results),
    dropped: countDropped(allDropped),
    lost: lostTasks(
      tasks.map(({ task }) => task.id),
      rows,
      allDropped,
    ),
    sampledTokens,
  }
}

function itemsOf(part: { cell: Cell; samples: number; temperature: number }): RolloutItem[] {
  const { cell, samples, temperature } = part
  return cell.problems.map((problem) => ({ task: cell.task, problem, samples, temperature }))
}
