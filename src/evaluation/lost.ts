import type { DroppedEpisode } from '../training/rollout.js'
import type { EvaluationRow, LostTask } from './types.js'

/** The tasks of which not one episode was left, in the order given. */
export function lostTasks(
  tasks: readonly string[],
  rows: readonly Pick<EvaluationRow, 'task' | 'n'>[],
  dropped: readonly DroppedEpisode[],
): LostTask[] {
  const played = new Set(rows.filter(({ n }) => n > 0).map(({ task }) => task))
  return tasks.flatMap((task) => {
    const own = dropped.filter((episode) => episode.task === task)
    if (played.has(task) || own.length === 0) return []
    return [{ task, dropped: own.length, reason: own[0].reason, message: own[0].message }]
  })
}

/** Of a lost task, for people. */
export function describeLost({ task, dropped, reason, message }: LostTask): string {
  const count = dropped === 1 ? 'its only episode was dropped' : `all ${dropped} episodes were dropped`
  return `${task}: ${count} (${reason}), the first because: ${message}`
}

/**
 * Why an evaluation says nothing at all; undefined when it says something.
 *
 * @param which completes "of the evaluation", e.g. ` before training`
 */
export function nothingMeasured(
  { overall, lost = [] }: { overall: readonly Pick<EvaluationRow, 'n'>[]; lost?: readonly LostTask[] },
  which = '',
): string | undefined {
  if (lost.length === 0 || overall.some(({ n }) => n > 0)) return undefined
  const dropped = lost.reduce((sum, one) => sum + one.dropped, 0)
  const [{ reason, message }] = lost
  return `nothing was measured: all ${dropped} episodes of the evaluation${which} were dropped, the first (${reason}) because: ${message}`
}
