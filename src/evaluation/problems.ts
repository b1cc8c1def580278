import { deriveSeed } from '../core/index.js'
import type { Problem, Task } from '../tasks/types.js'
import type { EvaluationTask } from './types.js'

/** Attempts at a problem that is not there yet, before a task is taken to have no more of them. */
const ATTEMPTS = 20

/** Withheld problems of one task in one language. */
export interface Cell {
  task: Task
  language: string
  problems: Problem[]
}

export interface ProblemOptions {
  /** Most problems per cell. */
  problemsPerCell: number
  seed: number
  /** Told what a task throws; the problem is left out. */
  onError?: (task: Task, error: unknown) => void
}

/**
 * Different problems of the eval split for every task and language, spread evenly over the task's range of difficulty. The
 * same arguments give the same problems. Problems of different keys come first; where a task has no more keys, problems
 * that differ in their data (another opponent, another secret) fill up the cell; where it has none of these, the cell stays
 * smaller.
 */
export function evaluationProblems(tasks: readonly EvaluationTask[], options: ProblemOptions): Cell[] {
  return tasks.flatMap((asked) =>
    asked.languages.map((language) => ({
      task: asked.task,
      language,
      problems: cellProblems(asked, language, options),
    })),
  )
}

function cellProblems(asked: EvaluationTask, language: string, options: ProblemOptions): Problem[] {
  const { problemsPerCell, seed, onError } = options
  const { task } = asked
  const [low, high] = asked.difficulty
  const keys = new Set<string>()
  const contents = new Set<string>()
  const problems: Problem[] = []
  for (let slot = 0; slot < problemsPerCell; slot++) {
    const difficulty = low + ((high - low) * (slot + 0.5)) / problemsPerCell
    let spare: Problem | null = null
    let chosen: Problem | null = null
    for (let attempt = 0; attempt < ATTEMPTS && !chosen; attempt++) {
      const problemSeed = deriveSeed(seed, 'evaluation', task.id, language, slot, attempt)
      try {
        const problem = task.generate(problemSeed, { language, difficulty, split: 'eval' })
        if (!keys.has(problem.key)) chosen = problem
        else if (!contents.has(contentOf(problem))) spare ??= problem
      } catch (error) {
        onError?.(task, error)
        break
      }
    }
    const problem = chosen ?? spare
    if (!problem) continue
    keys.add(problem.key)
    contents.add(contentOf(problem))
    problems.push(problem)
  }
  return problems
}

function contentOf({ key, data }: Problem): string {
  return JSON.stringify([key, data])
}
